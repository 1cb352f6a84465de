"""Split learning: what each method gives and shows, and what attackers made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from sordino.records import RunFolder
from sordino.reporting.formatting import DASH, interval, number, percent, points, signed
from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary
from sordino.reporting.tables import Cell, Column, Table

__all__ = [
    "CONTROL",
    "INVERSIONS",
    "SplitSummary",
    "attacked",
    "costs",
    "label_methods",
    "sentences",
    "verdict",
    "versus",
]

_MEGABYTE: Final = 1e6
CONTROL: Final = "zero-states"
_SEES: Final = {"noised": "noised embeddings", "clean": "clean embeddings", "nothing": "nothing"}


@SUMMARIES.register("split")
class SplitSummary(Summariser):
    """Methods against what the client could do alone, attacks, and the guarantee for a token and for a whole text."""

    @staticmethod
    def read(folder: RunFolder) -> Summary:
        """The summary of a finished run."""
        result = json.loads(folder.result.read_text(encoding="utf-8"))
        tables = (
            [label_methods(result, note=_NOTE), attacked(result, note=INVERSIONS), costs(result, of="texts")]
            if result["methods"]
            else []
        )
        return Summary(title="Split learning", sentences=[*sentences(result), *_verdict(result)], tables=tables)


_NOTE: Final = (
    "On private test texts; in brackets 95 % bootstrap over them. Strong: the difference to what the client does without "
    "the server leaves out zero. Empirical privacy: tokens that the best attack on one draw does not name."
)


def label_methods(result: Mapping[str, Any], *, note: str) -> Table:
    """How well methods told labels, and what they showed."""
    titles = ("AUC", "accuracy", f"AUC to {CONTROL}", "empirical privacy")
    return Table(
        name="split-methods",
        columns=[Column("method", numeric=False), *(Column(title) for title in titles)],
        rows=[
            [
                Cell(name),
                Cell(f"{row['auc']:.3f}", detail=_between(row["auc_ci95"])),
                Cell(percent(row["accuracy"]), detail=interval(row["accuracy_ci95"])),
                versus(row[f"against_{CONTROL}"], "auc", shown=lambda difference: signed(difference, 3)),
                Cell(percent(row["empirical_privacy"])),
            ]
            for name, row in result["methods"].items()
        ],
        note=note,
    )


def costs(result: Mapping[str, Any], *, of: str) -> Table:
    """Bytes and seconds of each method, for sequences of some kind."""
    return Table(
        name="split-costs",
        columns=[
            Column("method", numeric=False),
            Column("the server sees", numeric=False),
            *(Column(title) for title in ("MB up", "MB down", "s to train")),
        ],
        rows=[
            [
                Cell(name),
                Cell(_SEES[row["sees"]]),
                Cell(number(row["bytes"]["up"] / _MEGABYTE)),
                Cell(number(row["bytes"]["down"] / _MEGABYTE)),
                Cell(number(row["seconds"])),
            ]
            for name, row in result["methods"].items()
        ],
        note=(
            f"Bytes of tensors for training and test {of}, counted; a method that shares what another fetched is counted "
            "as if it were alone. Clean embeddings were given to a copy of the model in the client's own process."
        ),
    )


def _between(bounds: Sequence[float] | None) -> str:
    return DASH if bounds is None else f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def versus(table: Mapping[str, Any] | None, measure: str, *, shown: Callable[[float], str]) -> Cell:
    """The difference to what the client does alone, strong where its interval leaves out zero.

    Args:
        table: of a method.
        measure: key of the figure.
        shown: writes a difference.
    """
    if table is None:
        return Cell(DASH)
    bounds = table[f"{measure}_ci95"]
    return Cell(shown(table[measure]), strong=bounds is not None and not bounds[0] <= 0 <= bounds[1])


def attacked(result: Mapping[str, Any], *, note: str) -> Table:
    """What attackers made of what was sent; where they have one, the figure by the published definition, too."""
    rows = result["attacks"]
    published = any("empirical_privacy_as_published" in row for row in rows.values())
    titles = ("success", "95 %", "chance", "empirical privacy", *(["as published"] if published else []))
    return Table(
        name="split-attacks",
        columns=[Column("attack", numeric=False), *(Column(title) for title in titles)],
        rows=[
            [
                Cell(name, detail=row.get("of", "")),
                Cell(percent(row["success"])),
                Cell(interval(row["ci95"])),
                Cell(percent(row["chance"])),
                Cell(percent(1 - row["success"])),
                *([Cell(percent(row.get("empirical_privacy_as_published")))] if published else []),
            ]
            for name, row in rows.items()
        ],
        note=note,
    )


INVERSIONS: Final = (
    "Success on tokens that are no padding, and empirical privacy, which is 1 - success; as published it counts "
    "padding as tokens that were kept secret. Clean: the same attack if no noise were added. Repeated: what a "
    "server would name that got so many draws of each text; this client sends one. Generated: the nearest to what a "
    "generator trained on public texts made of it. Gradient: read off what a client returned for the server to "
    "learn from. Attribute: of whole texts."
)
"""How to read attacks on texts."""


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Blocks, guarantees and bytes."""
    card, wire = result["server"], result["wire"]
    layers = ", ".join(map(str, result["layers"]))
    yield f"Blocks {layers} of {card['num_blocks']} of {card['model']} came back; the server was {card['place']}."
    for guarantee in result["guarantees"].values():
        yield guarantee["words"]
    up, down = (number(result["bytes"][way] / _MEGABYTE) for way in ("up", "down"))
    yield f"All together {up} MB of tensors went up and {down} MB came down."
    if wire is not None:
        yield (
            f"{wire['calls']} calls over the wire, {wire['repeats']} of them repeated; an answer took "
            f"{number(wire['latency_s']['median'])} s (median)."
        )


def _verdict(result: Mapping[str, Any]) -> Iterator[str]:
    yield from verdict(result, measure="auc", name="AUC", of="texts")


def verdict(result: Mapping[str, Any], *, measure: str, name: str, of: str, sign: int = 1) -> Iterator[str]:
    """What the server's states added to what the client can do alone; nothing where that was not tried.

    Args:
        result: of a run.
        measure: key of a figure.
        name: what it is called.
        of: what was tested on.
        sign: -1 for an error, of which less is better.
    """
    echo = result["methods"].get("hidden-echo")
    if not echo or not echo[f"against_{CONTROL}"]:
        return
    against = echo[f"against_{CONTROL}"]
    bounds, gain = against[f"{measure}_ci95"], f"{points(against[measure])} points of {name}"
    if bounds is None or bounds[0] <= 0 <= bounds[1]:
        yield f"Against the same network without the server, its states made {gain}: no difference that these {of} show."
    elif sign * bounds[0] > 0:
        yield f"Against the same network without the server, its states gained {gain}."
    else:
        yield (
            f"Against the same network without the server, its states cost {gain}: on these {of} the client does better "
            "alone, and need not send them at all."
        )
