"""``sordino evaluate``: the word error rate of a run's model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import Json, percent, print_json, stdout, titled_table

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    *,
    manifest: Annotated[Path | None, typer.Option("--manifest", help="Other test clips than the run's own.")] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Measure the word error rate of a run's model.

    Example: sordino evaluate runs/first --manifest test.jsonl
    """
    from sordino.experiments.evaluating import evaluate_run

    result = evaluate_run(run, manifest=manifest)
    if as_json:
        print_json(result)
        return
    console = stdout()
    table = titled_table(f"Word error rate on {result['test_is']}")
    for column in ("speaker", "WER", "words"):
        table.add_column(column, justify="left" if column == "speaker" else "right")
    for speaker, figures in result["by_speaker"].items():
        table.add_row(speaker or "(unknown)", percent(figures["wer"]), str(figures["words"]))
    console.print(table)
    if result["ci95"]:
        low, high = map(percent, result["ci95"])
        interval = f"95 % interval over speakers {low} to {high}"
    else:
        interval = "no interval, which needs at least two speakers"
    console.print(f"all: {percent(result['wer'])}, {interval}")
