"""Split learning where the client writes: how well, what it cost, and what attackers made of the texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sordino.records import RunFolder
from sordino.reporting.formatting import signed
from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary
from sordino.reporting.summaries.split import CONTROL, INVERSIONS, attacked, costs, sentences, versus
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["SplitWritingSummary"]


@SUMMARIES.register("split-writing")
class SplitWritingSummary(Summariser):
    """Methods against what the client could write alone, and what the written tokens did to the guarantee."""

    @staticmethod
    def read(folder: RunFolder) -> Summary:
        """The summary of a finished run."""
        result = json.loads(folder.result.read_text(encoding="utf-8"))
        tables = (
            [_methods(result), attacked(result, note=INVERSIONS), costs(result, of="texts")]
            if result["methods"]
            else []
        )
        return Summary(
            title="Split learning, writing", sentences=[*sentences(result), *_written(result)], tables=tables
        )


def _methods(result: Mapping[str, Any]) -> Table:
    return Table(
        name="split-methods",
        columns=[Column("method", numeric=False), *(Column(title) for title in ("BLEU", f"BLEU to {CONTROL}"))],
        rows=[
            [
                Cell(name),
                Cell(f"{row['bleu']:.1f}", detail=_between(row["bleu_ci95"])),
                versus(row[f"against_{CONTROL}"], "bleu", shown=lambda difference: signed(difference, 1)),
            ]
            for name, row in result["methods"].items()
        ],
        note=(
            "On what is to be written of private test texts; in brackets 95 % bootstrap over them. Strong: the difference "
            "to what the client writes without the server leaves out zero."
        ),
    )


def _between(bounds: list[float]) -> str:
    return f"{bounds[0]:.1f} to {bounds[1]:.1f}"


def _written(result: Mapping[str, Any]) -> Iterator[str]:
    if result["written"]:
        yield (
            f"{result['written']} tokens that were written went to the server. Any text that the network had learned from "
            "can have changed each, so the guarantee counts each as a draw on every text."
        )
