"""Messages: what a server and a node say to each other, as Flower's records and back.

An update or an adapter is one flat float32 array, whatever the dtype of the model: numpy has no bfloat16, and one array a
message is much cheaper than one a tensor. Whatever comes in is checked before it is used; a message that is not what it
should be raises `PrivacyError` and nothing else.

| message | holds |
|---|---|
| greeting | how many clients the node has, of which layout; in a simulation which part of the data it stands for |
| assignment | phase, model, bounds and noise, random streams; the rate if the node draws its clients itself |
| answer | the parcel, empty where nothing is sent; loss, steps and norms if they were asked for, and never otherwise |
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, TypeVar

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.lib import format as npy

from sordino.errors import PrivacyError
from sordino.federated import Task
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
    "encode_values",
    "quoted",
]  # fmt: skip

T = TypeVar("T")

_VALUES: Final = "values"
_SAID: Final = "said"
_QUOTED: Final = 300
_LARGEST: Final = 1e50
"""No float32 vector is longer, and the square of no such number overflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a node says of itself.

    Attributes:
        digest: fingerprint of its model's layout.
        clients: how many clients it holds.
        partition: in a simulation, which part of the experiment's data it stands for; -1 elsewhere.
        partitions: in a simulation, into how many parts that is dealt; 0 elsewhere.
    """

    digest: str
    clients: int
    partition: int = -1
    partitions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A task on its way.

    Attributes:
        task: what is to be done.
        rate: probability q with which the node draws each of its clients; None if the server has drawn.
        measured: whether loss, steps and norms are asked for.
        stds: standard deviation of the noise that the client adds, by block; None where the server adds the noise.
        shared: whether that is only a share, which the server completes.
    """

    task: Task
    rate: float | None
    measured: bool
    stds: tuple[float, ...] | None = None
    shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A parcel on its way, and the training loss and the number of steps if they were asked for."""

    parcel: Parcel
    loss: float | None = None
    steps: int = 0


def encode_values(values: torch.Tensor) -> ArrayRecord:
    """One flat vector, cast to float32 before it becomes an array; one record serves all messages of a round."""
    return ArrayRecord({_VALUES: Array(values.detach().to("cpu", torch.float32).contiguous().numpy())})


def encode_greeting(greeting: Greeting) -> RecordDict:
    """A node's greeting."""
    return _records(
        {
            "digest": greeting.digest,
            "clients": greeting.clients,
            "partition": greeting.partition,
            "partitions": greeting.partitions,
        }
    )


def decode_greeting(records: RecordDict) -> Greeting:
    """What `encode_greeting` made, or `PrivacyError`."""
    return _checked(lambda: _greeting(_said(records)))


def encode_assignment(task: Task, start: ArrayRecord, *, rate: float | None, measured: bool) -> RecordDict:
    """A task; ``start`` is ``encode_values(task.start)``, made once a round."""
    said: dict[str, Any] = {
        "client": task.client,
        "phase": task.phase,
        "moment": list(task.moment),
        "size": task.start.numel(),
        "sends": task.sends,
        "seeds": json.dumps([task.seeds.root, *task.seeds.path]),
        "bounding": encode_bounding(task.bounding),
        "rate": -1.0 if rate is None else rate,
        "measured": measured,
    }
    if task.noising is not None:
        said |= {"stds": list(task.noising.stds), "shared": isinstance(task.noising, Sharing)}
    return _records(said, start)


def decode_assignment(records: RecordDict) -> Assignment:
    """What `encode_assignment` made, or `PrivacyError`."""
    return _checked(lambda: _assignment(_said(records), records))


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
    return _checked(lambda: _bounding(text))


def encode_answer(answer: Answer) -> RecordDict:
    """A reply."""
    parcel, measured = answer.parcel, answer.parcel.measured
    said: dict[str, Any] = {"digest": parcel.digest, "indicators": list(parcel.indicators)}
    if measured is not None:
        said |= {"norms": list(measured.norms), "watched": list(measured.watched_norms), "finite": measured.finite}
    if answer.loss is not None:
        said |= {"loss": answer.loss, "steps": answer.steps}
    return _records(said, encode_values(parcel.values))


def decode_answer(records: RecordDict, *, size: int, measured: bool, sealed: bool = False) -> Answer:
    """What `encode_answer` made, or `PrivacyError`.

    Args:
        records: what came.
        size: length of what was to be sent.
        measured: whether loss, steps and norms were asked for; if not, they are not looked at.
        sealed: whether nothing was to be sent, or something that the client noised, which shows no norms.
    """
    return _checked(lambda: _answer(_said(records), records, size=size, measured=measured, sealed=sealed))


def quoted(said: object) -> str:
    """What a node says, in one line of bounded length, so that in the run's log it cannot pass for lines of ours."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in str(said)).split())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}..."


def _records(said: Mapping[str, Any], values: ArrayRecord | None = None) -> RecordDict:
    records = RecordDict({_SAID: ConfigRecord(dict(said))})
    if values is not None:
        records[_VALUES] = values
    return records


def _said(records: RecordDict) -> Mapping[str, Any]:
    return _record(records, _SAID, ConfigRecord)


def _record(records: RecordDict, name: str, kind: type[T]) -> T:
    """One of the records; Flower's views of them by type would tie the message up in a cycle, and keep it in memory."""
    record = records[name]
    if not isinstance(record, kind):
        raise TypeError(f"the record {name!r} is no {kind.__name__}")
    return record


def _checked(decode: Callable[[], T]) -> T:
    """Whatever a stranger's message makes the decoder stumble over is one kind of error."""
    try:
        return decode()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, EOFError) as error:
        raise PrivacyError(
            f"a message that is not one of ours arrived ({type(error).__name__}: {quoted(error)}); give server and nodes "
            "the same version of sordino."
        ) from None


def _greeting(said: Mapping[str, Any]) -> Greeting:
    greeting = Greeting(
        digest=_digest(said),
        clients=_typed(said["clients"], int),
        partition=_typed(said["partition"], int),
        partitions=_typed(said["partitions"], int),
    )
    if greeting.clients < 1 or not -1 <= greeting.partition < max(greeting.partitions, 1):
        raise ValueError(f"a node with {greeting.clients} clients, part {greeting.partition} of {greeting.partitions}")
    return greeting


def _assignment(said: Mapping[str, Any], records: RecordDict) -> Assignment:
    root, *path = json.loads(_typed(said["seeds"], str))
    rate = _number(said["rate"])
    bounding = _bounding(said["bounding"])
    number, phase = said["moment"]
    task = Task(
        client=_typed(said["client"], str),
        start=_vector(records, _typed(said["size"], int)),
        bounding=bounding,
        seeds=Seeds(_typed(root, int), tuple(_typed(name, str) for name in path)),
        phase=_typed(said["phase"], str),
        moment=(_typed(number, int), _typed(phase, int)),
        sends=_typed(said["sends"], bool),
    )
    stds = _numbers(said["stds"]) if "stds" in said else None
    if stds is not None and (len(stds) != len(bounding.clipper.bounds.norms) or min(stds) < 0):
        raise ValueError(f"noise on {len(stds)} of {len(bounding.clipper.bounds.norms)} blocks")
    measured = _typed(said["measured"], bool)
    shared = stds is not None and _typed(said["shared"], bool)
    return Assignment(task=task, rate=None if rate < 0 else rate, measured=measured, stds=stds, shared=shared)


def _answer(said: Mapping[str, Any], records: RecordDict, *, size: int, measured: bool, sealed: bool) -> Answer:
    seen = _measured(said) if measured and not sealed else None
    parcel = Parcel(_vector(records, size), _digest(said), _numbers(said["indicators"]), seen)
    if not measured:
        return Answer(parcel=parcel)
    loss = 0.0 if seen is not None and not seen.finite else _number(said["loss"])
    return Answer(parcel=parcel, loss=loss, steps=_typed(said["steps"], int))


def _measured(said: Mapping[str, Any]) -> Measured:
    return Measured(_numbers(said["norms"]), _numbers(said["watched"]), _typed(said["finite"], bool))


def _vector(records: RecordDict, size: int) -> torch.Tensor:
    """The one array of a message; its head must be the very bytes that numpy writes, so no stranger's head is parsed."""
    array = _record(records, _VALUES, ArrayRecord)[_VALUES]
    head = BytesIO()
    npy.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (size,)})
    start = head.tell()
    if array.stype != "numpy.ndarray" or array.data[:start] != head.getvalue() or len(array.data) != start + 4 * size:
        raise ValueError(
            f"an array said to be {array.dtype} {array.shape} in {len(array.data)} bytes, not {size} float32"
        )
    return torch.from_numpy(np.frombuffer(array.data, "<f4", offset=start).copy())


def _bounding(text: Any) -> Bounding:
    plain = json.loads(_typed(text, str))
    size, rule = _typed(plain["size"], int), plain["rule"]
    if rule not in ("clip", "normalise"):
        raise ValueError(f"the rule {rule!r}")
    blocks, watched = _groups(plain["blocks"], size), _groups(plain["watched"], size)
    norms = tuple(_number(norm, largest=math.inf) for norm in plain["norms"])
    if len(norms) != len(blocks) or min(norms) < 0 or sum(block.size for block in blocks) != size:
        raise ValueError(f"{len(norms)} bounds of {len(blocks)} blocks in {size} values")
    clipper = Clipper(ClipBounds(blocks, norms), size, _typed(plain["digest"], str), rule, watched)
    whole = plain["whole_aim"]
    return Bounding(clipper, _numbers(plain["block_aims"]), None if whole is None else _number(whole))


def _groups(plain: Sequence[Any], size: int) -> tuple[Group, ...]:
    groups = tuple(
        Group(str(i), (), tuple((_typed(a, int), _typed(b, int)) for a, b in s)) for i, s in enumerate(plain)
    )
    if any(not 0 <= start <= stop <= size for group in groups for start, stop in group.slices):
        raise ValueError(f"a slice outside the {size} values")
    return groups


def _digest(said: Mapping[str, Any]) -> str:
    """Empty where nothing is sent."""
    digest = _typed(said["digest"], str)
    if len(digest) > 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError(f"the fingerprint {digest!r}")
    return digest


def _typed(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _number(value: Any, *, largest: float = _LARGEST) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= largest:
        raise ValueError(f"{value!r} is no number that can be")
    return float(value)


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(_number(value) for value in values)
