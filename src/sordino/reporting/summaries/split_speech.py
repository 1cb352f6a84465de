"""Split learning with speech: what each method gives and shows, and what attackers made of the frames."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sordino.records import RunFolder
from sordino.reporting.formatting import interval, percent, points
from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary
from sordino.reporting.summaries.split import CONTROL, attacked, costs, label_methods, sentences, verdict, versus
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["SplitSpeechSummary"]

_SHOWN: Final = (
    "Strong: the difference to what the client does without the server leaves out zero. Empirical privacy is 1 - success of "
    "the best attack on one draw, of whatever kind; some have a chance that is far from zero."
)

_ATTACKS: Final = (
    "An attribute: recordings of which it was named right, from their mean frame. Spectrum: share of the variance of "
    "log-mels that was rebuilt. Own head: the target, by an attacker who learned from public recordings. Clean: if no noise "
    "were added. Repeated: of so many draws of each recording; this client sends one."
)


@SUMMARIES.register("split-speech")
class SplitSpeechSummary(Summariser):
    """Methods against what the client could do alone, attacks, and the guarantee for a frame and for a whole recording."""

    @staticmethod
    def read(folder: RunFolder) -> Summary:
        """The summary of a finished run."""
        result = json.loads(folder.result.read_text(encoding="utf-8"))
        words = result["target"] == "text"
        judged = verdict(
            result, measure="wer" if words else "auc", name="word error rate" if words else "AUC", of="recordings",
            sign=-1 if words else 1,
        )  # fmt: skip
        tables = []
        if result["methods"]:
            tables = [_words(result) if words else _labels(result), costs(result, of="recordings")]
        if result["attacks"]:
            tables.insert(1, attacked(result, note=_ATTACKS))
        return Summary(title="Split learning, speech", sentences=[*sentences(result), *judged], tables=tables)


def _labels(result: Mapping[str, Any]) -> Table:
    note = (
        f"Told: {result['target']}, on private recordings of {result['test']}; in brackets 95 % bootstrap over them. "
    )
    return label_methods(result, note=note + _SHOWN)


def _words(result: Mapping[str, Any]) -> Table:
    titles = ("WER", "CER", f"WER to {CONTROL}, points", "empirical privacy")
    return Table(
        name="split-methods",
        columns=[Column("method", numeric=False), *(Column(title) for title in titles)],
        rows=[
            [
                Cell(name),
                Cell(percent(row["wer"]), detail=interval(row["wer_ci95"])),
                Cell(percent(row["cer"])),
                versus(row[f"against_{CONTROL}"], "wer", shown=points),
                Cell(percent(row["empirical_privacy"])),
            ]
            for name, row in result["methods"].items()
        ],
        note=f"Words of private recordings of {result['test']}; in brackets 95 % bootstrap over speakers. {_SHOWN}",
    )
