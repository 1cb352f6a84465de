"""Messages of a round: what a server and a node say to each other, as Flower's records and back.

Whatever comes in is checked before it is used; a message that is not what it should be raises `PrivacyError` and nothing
else. Where a method ends, trials follow, see `sordino.flower.trials`.

| message | holds |
|---|---|
| greeting | how many clients the node has, of which layout; in a simulation which part of the data it stands for |
| assignment | topic and phase, model, bounds and noise, random streams; the rate if the node draws its clients itself |
| answer | the parcel, empty where nothing is sent; loss, work and norms if they were asked for, and never otherwise |
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flwr.app import ArrayRecord, RecordDict

from sordino.federated import Task
from sordino.federated.work import Work
from sordino.flower.records import (
    as_records,
    checked,
    digest_in,
    encode_values,
    number,
    numbers,
    quoted,
    said_in,
    typed,
    vector_in,
)
from sordino.layout import Group
from sordino.privacy import Bounding, ClipBounds, Clipper, Measured, Parcel
from sordino.privacy.sharing import Sharing
from sordino.seeds import Seeds

__all__ = [
    "Answer",
    "Assignment",
    "Greeting",
    "decode_answer",
    "decode_assignment",
    "decode_bounding",
    "decode_greeting",
    "encode_answer",
    "encode_assignment",
    "encode_bounding",
    "encode_greeting",
    "encode_seeds",
    "encode_work",
    "seeds_in",
    "work_in",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a node says of itself.

    Attributes:
        digest: fingerprint of its model's layout.
        clients: how many clients it holds.
        partition: in a simulation, which part of the experiment's data it stands for; -1 elsewhere.
        partitions: in a simulation, into how many parts that is dealt; 0 elsewhere.
        recordings: how many its clients train on, where the experiment asks; 0 elsewhere.
        group: of its one client, such as a severity, where the experiment gives error rates by group; empty elsewhere.
    """

    digest: str
    clients: int
    partition: int = -1
    partitions: int = 0
    recordings: int = 0
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A task on its way.

    Attributes:
        task: what is to be done.
        rate: probability q with which the node draws each of its clients; None if the server has drawn.
        measured: whether loss, steps and norms are asked for.
        stds: standard deviation of the noise that the client adds, by block; None where the server adds the noise.
        shared: whether that is only a share, which the server completes.
        topic: the part of the experiment that this belongs to; empty where it has only one.
    """

    task: Task
    rate: float | None
    measured: bool
    stds: tuple[float, ...] | None = None
    shared: bool = False
    topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A parcel on its way, and training loss, steps and all the work of the client if they were asked for."""

    parcel: Parcel
    loss: float | None = None
    steps: int = 0
    work: Work = field(default_factory=Work)


def encode_greeting(greeting: Greeting) -> RecordDict:
    """A node's greeting."""
    return as_records(
        {
            "digest": greeting.digest,
            "clients": greeting.clients,
            "partition": greeting.partition,
            "partitions": greeting.partitions,
            "recordings": greeting.recordings,
            "group": greeting.group,
        }
    )


def decode_greeting(records: RecordDict) -> Greeting:
    """What `encode_greeting` made, or `PrivacyError`."""
    return checked(lambda: _greeting(said_in(records)))


def encode_assignment(
    task: Task, start: ArrayRecord, *, rate: float | None, measured: bool, topic: str = ""
) -> RecordDict:
    """A task; ``start`` is ``encode_values(task.start)``, made once a round."""
    said: dict[str, Any] = {
        "topic": topic,
        "client": task.client,
        "phase": task.phase,
        "moment": list(task.moment),
        "size": task.start.numel(),
        "sends": task.sends,
        "seeds": encode_seeds(task.seeds),
        "bounding": encode_bounding(task.bounding),
        "rate": -1.0 if rate is None else rate,
        "measured": measured,
    }
    if task.noising is not None:
        said |= {"stds": list(task.noising.stds), "shared": isinstance(task.noising, Sharing)}
    return as_records(said, start)


def decode_assignment(records: RecordDict) -> Assignment:
    """What `encode_assignment` made, or `PrivacyError`."""
    return checked(lambda: _assignment(said_in(records), records))


def encode_bounding(bounding: Bounding) -> str:
    """Slices and numbers: a client need not know how blocks are called, nor which allocation made them."""
    clipper = bounding.clipper
    plain = {
        "size": clipper.size,
        "digest": clipper.digest,
        "rule": clipper.rule,
        "blocks": [block.slices for block in clipper.bounds.blocks],
        "norms": clipper.bounds.norms,
        "watched": [group.slices for group in clipper.watched],
        "block_aims": bounding.block_aims,
        "whole_aim": bounding.whole_aim,
    }
    return json.dumps(plain)


def decode_bounding(text: Any) -> Bounding:
    """What `encode_bounding` made, or `PrivacyError`."""
    return checked(lambda: _bounding(text))


def encode_seeds(seeds: Seeds) -> str:
    """Root and names of a random stream."""
    return json.dumps([seeds.root, *seeds.path])


def seeds_in(said: Mapping[str, Any]) -> Seeds:
    """What `encode_seeds` made; whatever is wrong raises what `checked` expects."""
    root, *path = json.loads(typed(said["seeds"], str))
    return Seeds(typed(root, int), tuple(typed(name, str) for name in path))


def encode_work(work: Work) -> dict[str, Any]:
    """Counts and seconds of a client's work, by name."""
    return {"work": [work.steps, work.passes, work.heard], "cpu_s": work.cpu_s}


def work_in(said: Mapping[str, Any]) -> Work:
    """What `encode_work` made; whatever is wrong raises what `checked` expects."""
    steps, passes, heard = (typed(count, int) for count in said["work"])
    work = Work(steps, passes, heard, number(said["cpu_s"]))
    if min(steps, passes, heard, work.cpu_s) < 0:
        raise ValueError(f"{work} is no work that can be")
    return work


def encode_answer(answer: Answer) -> RecordDict:
    """A reply."""
    parcel, measured = answer.parcel, answer.parcel.measured
    said: dict[str, Any] = {"digest": parcel.digest, "indicators": list(parcel.indicators)}
    if measured is not None:
        said |= {"norms": list(measured.norms), "watched": list(measured.watched_norms), "finite": measured.finite}
    if answer.loss is not None:
        said |= {"loss": answer.loss, "steps": answer.steps, **encode_work(answer.work)}
    return as_records(said, encode_values(parcel.values))


def decode_answer(records: RecordDict, *, size: int, measured: bool, sealed: bool = False) -> Answer:
    """What `encode_answer` made, or `PrivacyError`.

    Args:
        records: what came.
        size: length of what was to be sent.
        measured: whether loss, steps and norms were asked for; if not, they are not looked at.
        sealed: whether nothing was to be sent, or something that the client noised, which shows no norms.
    """
    return checked(lambda: _answer(said_in(records), records, size=size, measured=measured, sealed=sealed))


def _greeting(said: Mapping[str, Any]) -> Greeting:
    greeting = Greeting(
        digest=digest_in(said),
        clients=typed(said["clients"], int),
        partition=typed(said["partition"], int),
        partitions=typed(said["partitions"], int),
        recordings=typed(said["recordings"], int),
        group=quoted(typed(said["group"], str)),
    )
    if greeting.clients < 1 or greeting.recordings < 0 or not -1 <= greeting.partition < max(greeting.partitions, 1):
        raise ValueError(f"a node with {greeting.clients} clients, part {greeting.partition} of {greeting.partitions}")
    return greeting


def _assignment(said: Mapping[str, Any], records: RecordDict) -> Assignment:
    rate = number(said["rate"])
    bounding = _bounding(said["bounding"])
    turn, place = said["moment"]
    task = Task(
        client=typed(said["client"], str),
        start=vector_in(records, typed(said["size"], int)),
        bounding=bounding,
        seeds=seeds_in(said),
        phase=typed(said["phase"], str),
        moment=(typed(turn, int), typed(place, int)),
        sends=typed(said["sends"], bool),
    )
    stds = numbers(said["stds"]) if "stds" in said else None
    if stds is not None and (len(stds) != len(bounding.clipper.bounds.norms) or min(stds) < 0):
        raise ValueError(f"noise on {len(stds)} of {len(bounding.clipper.bounds.norms)} blocks")
    measured = typed(said["measured"], bool)
    shared = stds is not None and typed(said["shared"], bool)
    return Assignment(
        task=task,
        rate=None if rate < 0 else rate,
        measured=measured,
        stds=stds,
        shared=shared,
        topic=typed(said["topic"], str),
    )


def _answer(said: Mapping[str, Any], records: RecordDict, *, size: int, measured: bool, sealed: bool) -> Answer:
    seen = _measured(said) if measured and not sealed else None
    parcel = Parcel(vector_in(records, size), digest_in(said), numbers(said["indicators"]), seen)
    if not measured:
        return Answer(parcel=parcel)
    loss = 0.0 if seen is not None and not seen.finite else number(said["loss"])
    return Answer(parcel=parcel, loss=loss, steps=typed(said["steps"], int), work=work_in(said))


def _measured(said: Mapping[str, Any]) -> Measured:
    return Measured(numbers(said["norms"]), numbers(said["watched"]), typed(said["finite"], bool))


def _bounding(text: Any) -> Bounding:
    plain = json.loads(typed(text, str))
    size, rule = typed(plain["size"], int), plain["rule"]
    if rule not in ("clip", "normalise"):
        raise ValueError(f"the rule {rule!r}")
    blocks, watched = _groups(plain["blocks"], size), _groups(plain["watched"], size)
    norms = tuple(number(norm, largest=math.inf) for norm in plain["norms"])
    if len(norms) != len(blocks) or min(norms) < 0 or sum(block.size for block in blocks) != size:
        raise ValueError(f"{len(norms)} bounds of {len(blocks)} blocks in {size} values")
    clipper = Clipper(ClipBounds(blocks, norms), size, typed(plain["digest"], str), rule, watched)
    whole = plain["whole_aim"]
    return Bounding(clipper, numbers(plain["block_aims"]), None if whole is None else number(whole))


def _groups(plain: Sequence[Any], size: int) -> tuple[Group, ...]:
    groups = tuple(Group(str(i), (), tuple((typed(a, int), typed(b, int)) for a, b in s)) for i, s in enumerate(plain))
    if any(not 0 <= start <= stop <= size for group in groups for start, stop in group.slices):
        raise ValueError(f"a slice outside the {size} values")
    return groups
