"""``sordino report``: a page about one run, several side by side, or a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import Json, print_json, stdout

__all__ = ["report"]


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Folders of runs, others beside the first; or that of a comparison or an audit."
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="HTML file to write; RUN/report.html for one folder, report.html for several."
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            help="Folder for each figure as SVG and PDF too, and a comparison's table as LaTeX and Markdown.",
            metavar="DIR",
        ),
    ] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Write one self-contained HTML page: error rates, guarantee, examples, figures.

    Examples:
    sordino report runs/first
    sordino report runs/flat runs/auto -o both.html
    sordino report runs/comparison --figures figures
    """
    from sordino.reporting import write_report

    path = out or (runs[0] / "report.html" if len(runs) == 1 else Path("report.html"))
    written = write_report(runs, path, figures=figures)
    if as_json:
        print_json(
            {"report": str(path), "runs": [str(run) for run in runs], "figures": [str(file) for file in written]}
        )
        return
    stdout().print(f"written: {path}", soft_wrap=True, markup=False)
    if figures is not None:
        stdout().print(f"{len(written)} files of figures and tables are in {figures}", soft_wrap=True, markup=False)
