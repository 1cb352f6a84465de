"""One progress bar a run, or plain lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from sordino.experiments import Observer, Progress

__all__ = ["watching"]


@dataclass(frozen=True)
class _Lines:
    console: Console

    def note(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, markup=False)

    def progress(self, progress: Progress) -> None:
        self.note(f"{progress.unit} {progress.round}/{progress.rounds}  {progress.words}")


@dataclass(frozen=True)
class _Bar:
    bar: Bar
    task: TaskID

    def note(self, text: str) -> None:
        self.bar.console.print(text, soft_wrap=True, markup=False)

    def progress(self, progress: Progress) -> None:
        self.bar.update(self.task, completed=progress.round, total=progress.rounds, figures=progress.words)


@contextmanager
def watching(console: Console, steps: int | None = None) -> Iterator[Observer]:
    """An observer that shows how far a run is and its newest figures, of one run or of several, one after another."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console) as bar:
        yield _Bar(bar, bar.add_task("", total=steps, figures="loading"))
