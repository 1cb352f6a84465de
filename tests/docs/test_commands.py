"""Every command on a page is one that the program understands, and the marked ones do what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer.main
from blocks import Block, Command, blocks, calls, commands
from calling import sordino

from sordino.cli.app import app
from sordino.config import build, parse_overrides
from sordino.data import SOURCES
from sordino.experiments import load_experiment

QUICK = ("federated.rounds=2", "federated.local.epochs=1", "evaluation.every=0", "simulation.threads=1")
MARKED = [block for block in blocks("bash") if block.runs]


def parsed(arguments: tuple[str, ...]) -> click.Context | None:
    """The command line's own reading of a call; None where a text only names a verb."""
    command: click.Command | None = typer.main.get_command(app)
    rest = list(arguments)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        command = command.get_command(click.Context(command), name)
        assert command is not None, f"there is no command {name!r}"
    if not rest:
        return None
    try:
        return command.make_context("sordino", rest)
    except click.exceptions.Exit:  # --help
        return None


@pytest.mark.parametrize("command", commands(), ids=str)
def test_a_command_is_understood(command: Command, workplace: Path) -> None:
    context = parsed(command.arguments)
    values = context.params if context else {}
    if "settings" in values:
        build(SOURCES.get(values["kind"]), parse_overrides(values["settings"] or []))
    if "overrides" in values:
        write_files(command.page, workplace)
        named = values.get("file") or values.get("target")
        file = Path(named) if named and Path(named).is_file() else None
        varied = [
            f"{key}={value.split(',')[0]}" for key, _, value in (v.partition("=") for v in values.get("vary") or [])
        ]
        load_experiment(file, [*(values["overrides"] or []), *varied])


def test_a_wrong_command_would_be_found() -> None:
    assert next(calls("$ FOO=1 sordino run my.toml \\\n  --out x  # comment")) == ("run", "my.toml", "--out", "x")
    assert len(commands()) > 50
    with pytest.raises(click.exceptions.NoSuchOption):
        parsed(("run", "my.toml", "--epsilon", "8"))
    with pytest.raises(AssertionError, match="no command 'train'"):
        parsed(("train", "my.toml"))


def write_files(page: Path, folder: Path) -> None:
    """The files that a page shows, unless the workplace has them already."""
    for block in blocks("toml", "python"):
        if block.page == page and block.title and not (folder / block.title).exists():
            (folder / block.title).write_text(block.text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({block.page for block in MARKED}), ids=lambda page: page.stem)
def test_marked_commands_run(page: Path, workplace: Path) -> None:
    write_files(page, workplace)
    for block in MARKED:
        if block.page == page:
            (in_a_shell if "export" in block.text else in_this_process)(block, workplace)
    assert {
        "quickstart": (workplace / "runs/mine/report.html").is_file() and (workplace / "mine.html").is_file(),
        "resume": (workplace / "runs/interrupted/result.json").is_file(),
        "ledger": len((workplace / "runs/interrupted/ledger.jsonl").read_text().splitlines()) == 1 + 3,  # terms, rounds
        "own-corpus": (workplace / "clinic/run/result.json").is_file(),
        "read-a-report": any((workplace / "figures").glob("*.svg")),
        "compare": (workplace / "runs/comparison/comparison.json").is_file(),
        "track": any((workplace / "tracked").rglob("events.*")),
    }.get(page.stem, True)


def in_this_process(block: Block, folder: Path) -> None:
    assert folder == Path.cwd()
    for arguments in calls(block.text):
        quick = arguments[0] == "compare" or (arguments[0] == "run" and "--resume" not in arguments)
        sordino(*arguments, *(part for key in QUICK if quick for part in ("--set", key)))


def in_a_shell(block: Block, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", block.text],
        cwd=folder,
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "halfway" in done.stdout
