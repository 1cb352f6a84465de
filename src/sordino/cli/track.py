"""``sordino track``: a run's records for another program to show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import Json, print_json, stdout

__all__ = ["track"]


def track(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    *,
    to: Annotated[str, typer.Option("--to", help="The tracker.")] = "tensorboard",
    folder: Annotated[Path, typer.Option("--dir", help="Folder that the tracker reads.")] = Path("tracked"),
    plugins: Annotated[list[str] | None, typer.Option("--plugin", help="Module that registers a tracker.")] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Write runs for a tracker such as TensorBoard, from nothing but their records.

    Example: sordino track runs/first --to tensorboard --dir tracked
    """
    from sordino._registry import load_plugins
    from sordino.reporting import read_runs
    from sordino.reporting.trackers import TRACKERS, tracked

    load_plugins(plugins or [])
    tracker = TRACKERS.get(to)()
    written = [tracker.write(tracked(run), folder) for run in read_runs(runs)]
    if as_json:
        print_json({"tracker": to, "written": [str(path) for path in written]})
        return
    for path in written:
        stdout().print(f"written: {path}", soft_wrap=True, markup=False)
