"""What a split experiment leaves behind, with texts as with speech."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sordino.experiments.split.exchanging import Exchanged
from sordino.experiments.split.in_turn import in_bytes
from sordino.experiments.split.serving import Served
from sordino.privacy import Event, make_statement
from sordino.records import RunFolder
from sordino.split.sending import Sender

__all__ = ["common_result", "guarantees", "times_drawn", "times_written"]


def times_drawn(sender: Sender) -> int:
    """How often noise was drawn for the sequences that were drawn most often: the first charge is of all, others of some."""
    event = sender.noise.event(sender.unit, space=sender.space)
    return sum(charged == event for charged in sender.ledger.events)


def times_written(sender: Sender) -> int:
    """How many tokens that a network wrote were sent, all together."""
    costs = _costs_of_writing(sender)
    return sum(costs.get(event, 0) for event in sender.ledger.events)


def _costs_of_writing(sender: Sender) -> dict[Event, int]:
    """How many tokens were written, by what that is in the ledger."""
    most = sender.ledger.terms.population
    spaces = (replace(sender.space, written=number) for number in range(1, most + 1))
    return {sender.noise.event(sender.unit, space=space): space.written for space in spaces}


def guarantees(sender: Sender) -> dict[str, Any]:
    """What the noise promises a part and the whole, after all that was drawn; it says so where more was sent."""
    space, delta = sender.space, sender.ledger.terms.delta
    draws, written = times_drawn(sender), times_written(sender)
    counted = {sender.noise.event(sender.unit, space=space), *_costs_of_writing(sender)}
    others = sorted({getattr(event, "what", event.kind) for event in sender.ledger.events if event not in counted})
    more = f" That is of the embeddings alone; the statement counts {', '.join(others)} besides." if others else ""
    result: dict[str, Any] = {}
    for unit in (space.part, space.whole):
        found = sender.noise.guarantee(unit, space=space, draws=draws, delta=delta, written=written)
        result[unit] = replace(found, words=found.words + more).to_json()
    return result


def common_result(
    served: Served, sender: Sender, exchanged: Exchanged, *, place: str, layers: tuple[int, ...], folder: RunFolder
) -> dict[str, Any]:
    """What every split run's result holds besides its task, methods and attacks; writes ``privacy.json``.

    Args:
        served: the server.
        sender: has the ledger.
        exchanged: knows the bytes.
        place: where the server was.
        layers: the blocks that came back.
        folder: of the run.
    """
    ledger = sender.ledger
    statement = make_statement(ledger.terms, ledger.events)
    folder.write_json(folder.privacy, statement.to_json())
    return {
        "bytes": in_bytes(exchanged.total + sender.tally.total),
        "wire": served.traffic,
        "layers": list(layers),
        "server": served.server.describe().to_json() | {"place": place},
        "noise": sender.noise.name,
        "draws": times_drawn(sender),
        "guarantees": guarantees(sender),
        "unit": statement.terms.unit,
        "epsilon": statement.to_json()["epsilon"],
        "statement": statement.words,
    }
