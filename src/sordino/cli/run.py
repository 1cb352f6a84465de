"""``sordino run``: an experiment from its file to a model and a statement."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.console import Json, Overrides, print_json, stderr

if TYPE_CHECKING:
    from rich.console import Console

    from sordino.experiments import Experiment

__all__ = ["experiment_and_folder", "run", "show_summary"]


def run(
    file: Annotated[Path | None, typer.Argument(help="Experiment file; without one, the default job.")] = None,
    *,
    out: Annotated[Path | None, typer.Option("--out", help="Run folder; made under runs/ if not given.")] = None,
    overrides: Annotated[list[str] | None, Overrides] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the interrupted run in --out.")] = False,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Run an experiment.

    Examples:
    sordino run my.toml --set privacy.epsilon=8 --out runs/first
    sordino run --resume --out runs/first
    """
    console = stderr()
    experiment, folder = experiment_and_folder(file, out, overrides or [], resume=resume)
    from sordino.cli.progress import watching

    try:
        with watching(console, experiment.num_steps) as observer:
            result = experiment.run(folder, resume=resume, observer=observer)
    except KeyboardInterrupt:
        begun = (folder / "config.toml").exists()
        how = f"continue with: sordino run --resume --out {quote(str(folder))}" if begun else "nothing was written."
        console.print(f"interrupted; {how}", soft_wrap=True, markup=False)
        raise typer.Exit(130) from None
    from sordino.reporting import write_report

    page = folder / "report.html"
    write_report([folder], page)
    if as_json:
        print_json(result)
    show_summary(console, folder, result)
    console.print(f"look at {page}", soft_wrap=True, markup=False)


def experiment_and_folder(
    file: Path | None, out: Path | None, overrides: list[str], *, resume: bool
) -> tuple[Experiment, Path]:
    """The experiment that the arguments mean, and its run folder; a resumed run has its own."""
    from datetime import datetime

    from sordino.errors import ConfigError
    from sordino.experiments import load_experiment
    from sordino.records import RunFolder

    if not resume:
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        return load_experiment(file, overrides), out or Path("runs") / f"{file.stem if file else 'default'}-{stamp}"
    if out is None:
        raise ConfigError("--resume needs the run's folder; name it with --out.")
    options = load_experiment(RunFolder.open(out).config)
    if (file is not None or overrides) and load_experiment(file, overrides) != options:
        raise ConfigError(
            f"the settings given differ from those of the run in {out}; resume without a file and --set, "
            "or begin another run with another --out."
        )
    return options, out


def show_summary(console: Console, folder: Path, result: dict[str, Any]) -> None:
    """A run's result for people: its tables, the guarantee, and what else has to be known."""
    from sordino.cli.console import show_table
    from sordino.records import RunFolder
    from sordino.reporting.summaries import summarise

    summary = summarise(RunFolder.open(folder))
    for table in summary.tables:
        show_table(console, table)
    for sentence in (result["statement"], *summary.sentences):
        console.print(sentence, soft_wrap=True, markup=False)
    console.print(f"{result['seconds']:.0f} s; everything is in {folder}", soft_wrap=True, markup=False)
