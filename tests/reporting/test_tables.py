"""One table, three languages: what stands in a cell is text in each of them."""

from __future__ import annotations

import re
from pathlib import Path

from sordino.reporting.tables import Cell, Column, Table

TABLE = Table(
    name="table",
    columns=[Column("name", numeric=False), Column("WER %")],
    rows=[
        [Cell("a_b & <i>50 %</i> \\ | $x^2$"), Cell("28.3", "20.8 to 36.0", strong=True)],
        [Cell("c"), Cell("\N{EN DASH}")],
    ],
    note="100 % of 5 #1 runs.",
)


def test_latex_escapes_and_aligns() -> None:
    lines = TABLE.latex().splitlines()
    assert r"\begin{tabular}{lr}" in lines
    assert r"name & WER \% \\" in lines
    first = r"a\_b \& \textless{}i\textgreater{}50 \%\textless{}/i\textgreater{} \textbackslash{} \textbar{} "
    first += r"\$x\textasciitilde{}2\$".replace("textasciitilde", "textasciicircum")
    assert rf"{first} & \textbf{{28.3}} {{\footnotesize (20.8 to 36.0)}} \\" in lines
    assert r"c & -- \\" in lines
    assert r"100 \% of 5 \#1 runs." in lines[-1]
    commands = set(re.findall(r"\\([a-z]+)", TABLE.latex()))
    assert {"toprule", "midrule", "bottomrule"} <= commands
    assert TABLE.latex().count(r"\usepackage{") == 1  # booktabs and nothing else


def test_markdown_escapes_and_aligns() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[:2] == ["| name | WER % |", "| --- | ---: |"]
    assert lines[2] == r"| a\_b \& \<i\>50 %\</i\> \\ \| \$x^2\$ | **28.3** (20.8 to 36.0) |"
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in lines[:4])
    assert lines[-1] == r"100 % of 5 \#1 runs."


def test_files(tmp_path: Path) -> None:
    assert [path.name for path in TABLE.write(tmp_path)] == ["table.tex", "table.md"]
    assert (tmp_path / "table.tex").read_text() == TABLE.latex()
