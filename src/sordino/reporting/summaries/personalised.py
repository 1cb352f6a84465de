"""Personal recognisers: error rates of every method by group, what they took, and who gained."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sordino.records import RunFolder
from sordino.reporting.figures.gains_by_speaker import SpeakerGain, gains_by_speaker
from sordino.reporting.formatting import DASH, interval, number, p_value, percent, points, points_interval, rounded_up
from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["PersonalisedSummary"]

_REFERENCES: Final = {
    "start": "start, untouched",
    "central": "central: all recordings pooled",
    "sd-adapters": "sd-adapters: pooled, then each speaker's adapters",
}
_MEGABYTE: Final = 1e6


@SUMMARIES.register("personalised")
class PersonalisedSummary(Summariser):
    """What each method's personal models got wrong on their own speakers' held-out utterances."""

    @staticmethod
    def read(folder: RunFolder) -> Summary:
        """The summary of a finished comparison of personalised methods."""
        result = json.loads(folder.result.read_text(encoding="utf-8"))
        plate = _plate(result)
        return Summary(
            title="Personal recognisers",
            sentences=list(_sentences(result)),
            tables=[_rates(result), *_new(result), *_tests(result), _costs(result)],
            plates=[plate] if plate else [],
        )


def _label(name: str, row: Mapping[str, Any]) -> str:
    return _REFERENCES.get(name, name) if row["method"] is None else name


def _rates(result: Mapping[str, Any]) -> Table:
    rows = result["methods"]
    groups = list(next(iter(rows.values()))["by_group"])
    private = any(row["epsilon"] is not None for row in rows.values())
    chosen = result["best_on_development"]
    titles = ["WER", "95 %", *groups, "worst speaker", "development", *(["epsilon, alone"] if private else [])]
    return Table(
        name="personalised-error-rates",
        columns=[Column("method", numeric=False), *(Column(title) for title in titles)],
        rows=[
            [
                Cell(_label(name, row), strong=name == chosen),
                Cell(percent(row["wer"]), strong=name == chosen),
                Cell(interval(row["ci95"])),
                *(Cell(percent(row["by_group"][group]["wer"])) for group in groups),
                Cell(percent(row["worst_speaker"]["wer"]), detail=row["worst_speaker"]["speaker"]),
                Cell(percent(row["development_wer"])),
                *([Cell(DASH if row["epsilon"] is None else rounded_up(row["epsilon"]))] if private else []),
            ]
            for name, row in rows.items()
        ],
        note=(
            f"Word error rate on {result['test_is']}; 95 % bootstrap over speakers. Strong: the method with the fewest "
            "errors on the development utterances, which is how one is chosen; the test has no say in it."
        ),
    )


def _new(result: Mapping[str, Any]) -> Iterator[Table]:
    rows = {name: row["new_speakers"] for name, row in result["methods"].items() if row.get("new_speakers")}
    if not rows:
        return
    groups, count = list(next(iter(rows.values()))["by_group"]), result["new_utterances"]
    having = (
        f"{count} utterance{'s' if count > 1 else ''} of their own at most" if count else "no utterance of their own"
    )
    yield Table(
        name="personalised-new-speakers",
        columns=[
            Column("method", numeric=False),
            *(Column(title) for title in ("new speakers, WER", "95 %", *groups, "worst speaker", "passes")),
        ],
        rows=[
            [
                Cell(_label(name, result["methods"][name])),
                Cell(percent(row["wer"])),
                Cell(interval(row["ci95"])),
                *(Cell(percent(row["by_group"][group]["wer"])) for group in groups),
                Cell(percent(row["worst_speaker"]["wer"]), detail=row["worst_speaker"]["speaker"]),
                Cell(number(row["passes"])),
            ]
            for name, row in rows.items()
        ],
        note=(
            f"{len(result['new_speakers'])} speakers who never trained; each method makes their models by its own rule from "
            f"{having}. Passes: over those utterances, which is training that every new speaker does for itself."
        ),
    )


def _tests(result: Mapping[str, Any]) -> Iterator[Table]:
    tests = result["tests"]
    if not tests["methods"]:
        return
    yield Table(
        name="personalised-differences",
        columns=[
            Column("method", numeric=False),
            *(Column(title) for title in ("points", "95 %", "speakers better / worse", "p, speakers", "p, sentences")),
        ],
        rows=[
            [
                Cell(_label(name, result["methods"][name])),
                Cell(points(test["difference"])),
                Cell(points_interval(test["ci95"])),
                Cell(f"{test['speakers_better']['fewer']} / {test['speakers_better']['more']}"),
                Cell(p_value(test["sign_flip"]["p_holm"])),
                Cell(DASH if test["mapsswe"]["p_holm"] is None else p_value(test["mapsswe"]["p_holm"])),
            ]
            for name, test in tests["methods"].items()
        ],
        note=(
            f"Against {tests['baseline']}, on the same utterances; below 0 is better. Speakers: exact sign-flip test over "
            "speakers, which says whether other speakers would show the same. Sentences: matched pairs of segments, "
            "two-tailed, which says whether other sentences of these speakers would. Both corrected by Holm."
        ),
    )


def _costs(result: Mapping[str, Any]) -> Table:
    titles = ("rounds", "passes", "steps", "heard", "MB up", "MB down", "CPU s")
    return Table(
        name="personalised-costs",
        columns=[Column("method", numeric=False), *(Column(title) for title in titles)],
        rows=[
            [
                Cell(_label(name, row)),
                Cell(str(row["rounds"]) if row["rounds"] else DASH),
                Cell(number(row["passes"])),
                Cell(number(row["steps"])),
                Cell(number(row["heard"])),
                Cell(number(row["bytes_up"] / _MEGABYTE)),
                Cell(number(row["bytes_down"] / _MEGABYTE)),
                Cell(number(row["cpu_s"])),
            ]
            for name, row in result["methods"].items()
        ],
        note=(
            "Of all clients together. Passes: over a client's own utterances, forward and backward, on average. Heard: "
            "utterances that went forward only. Bytes without the start, which everybody is given once."
        ),
    )


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    tests, chosen = result["tests"], result["best_on_development"]
    yield (
        f"{len(result['speakers'])} speakers; every method may spend {result['passes']} passes over each one's utterances, "
        "so that one which trains twice a round has half the rounds."
    )
    if tests["methods"] and not tests["sign_flip_can_reject"]:
        yield (
            f"With {len(result['speakers'])} speakers and {len(tests['methods'])} comparisons no p over speakers can be "
            f"below {p_value(tests['sign_flip_least_p'])}, so none can reject at 5 %."
        )
    if chosen:
        yield f"Chosen by the development utterances: {chosen}."


def _plate(result: Mapping[str, Any]) -> Any:
    methods, baseline = result["methods"], result["tests"]["baseline"]
    entrants = [name for name, row in methods.items() if row["method"] is not None and name != baseline]
    chosen = result["best_on_development"]
    shown = chosen if chosen in entrants else min(entrants, key=lambda name: methods[name]["wer"], default=None)
    if shown is None:
        return None
    gains = [
        SpeakerGain(
            name=name,
            group=group,
            baseline=methods[baseline]["by_speaker"][name],
            shown=methods[shown]["by_speaker"][name],
            others=tuple(methods[other]["by_speaker"][name] for other in entrants if other != shown),
        )
        for name, group in result["speakers"].items()
        if methods[baseline]["by_speaker"][name] is not None
    ]
    return gains_by_speaker(gains, baseline=baseline, shown=shown)
