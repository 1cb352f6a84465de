"""A federated speech-LLM: its word error rate before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sordino.records import RunFolder
from sordino.reporting.formatting import interval, percent
from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["FederatedSummary"]


@SUMMARIES.register("federated")
class FederatedSummary(Summariser):
    """Word error rate, and what another unit's epsilon would be."""

    @staticmethod
    def read(folder: RunFolder) -> Summary:
        """The summary; its page shows far more, see `sordino.reporting.page`."""
        result = json.loads(folder.result.read_text(encoding="utf-8"))
        wer, bounds = result["wer"], result["wer"]["ci95"]
        table = Table(
            name="word-error-rate",
            columns=[Column("before"), Column("after"), Column("95 % interval over speakers")],
            rows=[[Cell(percent(wer["before"])), Cell(percent(wer["after"])), Cell(interval(bounds))]],
            note=f"Word error rate on {wer['test_is']}.{_no_interval(wer)}",
        )
        return Summary(title="Word error rate", sentences=list(_sentences(result)), tables=[table])


def _no_interval(wer: dict[str, Any]) -> str:
    return " No interval: it needs at least two speakers." if wer["after"] is not None and not wer["ci95"] else ""


def _sentences(result: dict[str, Any]) -> Iterator[str]:
    for unit, epsilon in (result["epsilon"]["by_unit"] or {}).items():
        if unit == result["unit"]:
            continue
        known = [epsilon[name] for name in ("pld", "rdp") if epsilon[name] is not None]
        yield f"For a {unit} as the unit, epsilon is {min(known):.4g}." if known else f"For a {unit} there is none."
    if result["stopped"]:
        yield result["stopped"]
    yield f"{result['rounds']} {'round was' if result['rounds'] == 1 else 'rounds were'} done."
