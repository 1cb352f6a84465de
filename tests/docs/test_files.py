"""Every experiment file on a page is one that the program reads, and the marked Python runs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from blocks import Block, blocks
from test_commands import write_files

from sordino.experiments import load_experiment
from sordino.experiments.planning import plan_report
from sordino.privacy import ALLOCATIONS, statement_of_run

WHOLE = {"data", "privacy"}
REST = """
[data]
corpus = { method = "synthetic-voices" }

[privacy]
epsilon = 8
population = 300
"""
README = next(block for block in blocks("python") if block.page.name == "README.md")
MARKED = [block for block in blocks("python") if block.runs]


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_an_experiment_file_is_understood(block: Block, workplace: Path) -> None:
    write_files(block.page, workplace)
    (workplace / "rest.toml").write_text(REST, encoding="utf-8")
    keys = set(tomllib.loads(block.text))
    whole = "extends" in keys or keys >= WHOLE
    text = block.text if whole else f'extends = "rest.toml"\n{block.text}'
    (workplace / "shown.toml").write_text(text, encoding="utf-8")
    load_experiment(workplace / "shown.toml")


@pytest.mark.slow
@pytest.mark.parametrize("block", [*MARKED, README], ids=str)
def test_marked_python_runs(block: Block, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if block is README:
        Path("runs/first").rename("runs/before")
    exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})
    said = capsys.readouterr().out
    if block.page.stem == "privacy-officer":
        claimed = statement_of_run(workplace / "runs/first").epsilon["pld"]
        assert float(said.split()[1]) == pytest.approx(claimed, abs=5e-3)
    if block is README:
        assert json.loads(Path("runs/first/result.json").read_text())["statement"] in said


def test_the_allocation_of_the_page_divides_as_it_says(workplace: Path) -> None:
    page = next(block.page for block in blocks("python") if block.title == "halfway.py")
    write_files(page, workplace)
    halfway, uniform, dim = (
        plan_report(load_experiment(workplace / "mine.toml", overrides))["clip_norms"]
        for overrides in ([], ["privacy.allocation=uniform"], ["privacy.allocation=dim"])
    )
    assert "halfway" in ALLOCATIONS.names()
    assert sum(norm**2 for norm in halfway.values()) == pytest.approx(1.0)
    products = [uniform[name] * dim[name] / norm**2 for name, norm in halfway.items()]
    assert products == pytest.approx([products[0]] * len(products))
