"""One progress bar a run, or plain lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from sordino.cli.console import percent
from sordino.experiments import Observer, Progress

__all__ = ["watching"]


@dataclass(frozen=True)
class _Lines:
    console: Console

    def note(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, markup=False)

    def progress(self, progress: Progress) -> None:
        self.note(f"round {progress.round}/{progress.rounds}  {_figures(progress)}")


@dataclass(frozen=True)
class _Bar:
    bar: Bar
    task: TaskID

    def note(self, text: str) -> None:
        self.bar.console.print(text, soft_wrap=True, markup=False)

    def progress(self, progress: Progress) -> None:
        self.bar.update(self.task, completed=progress.round, total=progress.rounds, figures=_figures(progress))


@contextmanager
def watching(console: Console, rounds: int | None = None) -> Iterator[Observer]:
    """An observer that shows rounds, word error rate and epsilon so far, of one run or of several, one after another."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        TextColumn("rounds"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console) as bar:
        yield _Bar(bar, bar.add_task("rounds", total=rounds, figures="loading"))


def _figures(progress: Progress) -> str:
    epsilon = "no guarantee" if progress.epsilon is None else f"epsilon {progress.epsilon:.2f}"
    return f"WER {percent(progress.wer)}  {epsilon}"
