"""``sordino data``: look at recordings before training on them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import Json, print_json, stdout

__all__ = ["app"]

app = typer.Typer(help="Check recordings and manifests.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    pass


@app.command("check")
def check(
    manifest: Annotated[Path, typer.Argument(help="Manifest: one JSON object a line.")],
    *,
    window_s: Annotated[
        float | None, typer.Option("--window", help="Report clips longer than this many seconds.")
    ] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Read every line and every recording of a manifest and report what is wrong.

    Example: sordino data check train.jsonl --window 30
    """
    from dataclasses import asdict

    from sordino.data import check_manifest

    report = check_manifest(manifest, window_s=window_s)
    if as_json:
        print_json({**asdict(report), "path": str(report.path)})
    else:
        console = stdout()
        console.print(
            f"{report.utterances} utterances, {report.hours:.2f} h, {len(report.speakers)} speakers, languages: "
            f"{', '.join(name or '(none)' for name in report.languages) or '(none)'}, longest {report.longest_s:.2f} s",
            soft_wrap=True,
        )
        for problem in report.problems:
            console.print(f"line {problem.line}: {problem.message}", soft_wrap=True, markup=False)
    if report.problems:
        raise typer.Exit(2)
