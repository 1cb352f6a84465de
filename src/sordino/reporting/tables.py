"""A table once, for a page, a paper and a README alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.records import replace_file

__all__ = ["Cell", "Column", "Table"]

_LATEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\N{MINUS SIGN}": "$-$", "\N{EN DASH}": "--",
    "\N{NO-BREAK SPACE}": "~", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; columns of numbers are set to the right."""

    title: str
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, what belongs to it in smaller print, and whether it stands out."""

    text: str
    detail: str = ""
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """Text in rows and columns.

    Attributes:
        name: of its files.
        note: how to read it, below the table.
    """

    name: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str

    def latex(self) -> str:
        """A ``tabular`` for LaTeX with booktabs, the note after it."""
        alignment = "".join("r" if column.numeric else "l" for column in self.columns)
        lines = [
            r"% \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\toprule",
            " & ".join(_latex(column.title) for column in self.columns) + r" \\",
            r"\midrule",
            *(" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
            "",
            rf"\par\smallskip{{\footnotesize {_latex(self.note)}\par}}",
        ]
        return "\n".join(lines) + "\n"

    def markdown(self) -> str:
        """A table in the Markdown that GitHub and mkdocs read, the note below it."""
        lines = [
            _row(_markdown(column.title) for column in self.columns),
            _row("---:" if column.numeric else "---" for column in self.columns),
            *(_row(_markdown_cell(cell) for cell in row) for row in self.rows),
        ]
        return "\n".join(lines) + f"\n\n{_markdown(self.note)}\n"

    def write(self, folder: Path) -> list[Path]:
        """Writes ``NAME.tex`` and ``NAME.md``."""
        written = []
        for kind, content in (("tex", self.latex()), ("md", self.markdown())):
            path = folder / f"{self.name}.{kind}"
            replace_file(path, content.encode())
            written.append(path)
        return written


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text.replace("\n", " "))


def _latex_cell(cell: Cell) -> str:
    text = rf"\textbf{{{_latex(cell.text)}}}" if cell.strong else _latex(cell.text)
    return rf"{text} {{\footnotesize ({_latex(cell.detail)})}}" if cell.detail else text


def _markdown(text: str) -> str:
    """The text as it stands: nothing in it is markup, HTML included."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", text.replace("\n", " "))


def _markdown_cell(cell: Cell) -> str:
    text = f"**{_markdown(cell.text)}**" if cell.strong else _markdown(cell.text)
    return f"{text} ({_markdown(cell.detail)})" if cell.detail else text


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
