"""Messages survive their way to the bit; whatever else arrives is one kind of error, and nothing is unpickled."""

from __future__ import annotations

import gc
import math
import pickle
import weakref
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import torch
from fake import carried
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from toy import LAYOUT

from sordino.errors import PrivacyError
from sordino.federated import Task
from sordino.flower.codec import (
    Answer,
    Greeting,
    decode_answer,
    decode_assignment,
    decode_greeting,
    encode_answer,
    encode_assignment,
    encode_greeting,
)
from sordino.flower.records import encode_values
from sordino.privacy import ALLOCATIONS, NonPrivate, Parcel, Plan, Poisson, PrivacyPlan, Tracking, Update
from sordino.seeds import Seeds

SIZE = LAYOUT.size
VALUES = torch.randn(SIZE, generator=torch.Generator().manual_seed(1))


def plans() -> list[Plan]:
    made: list[Plan] = [
        PrivacyPlan(LAYOUT, Poisson(rate=0.5), 9, allocation=ALLOCATIONS.get(name)(), tracking=Tracking(quantile=0.3))
        for name in ALLOCATIONS.names()
    ]
    normalising = PrivacyPlan(LAYOUT, Poisson(rate=0.5), 9, rule="normalise", watched=LAYOUT.groups)
    return [*made, normalising, NonPrivate(LAYOUT, Poisson(rate=0.5), 9)]


def test_a_decoded_message_leaves_memory_without_the_garbage_collector() -> None:
    task = Task("c", VALUES, plans()[0].bounding, Seeds(1))
    assignment = carried(encode_assignment(task, encode_values(task.start), rate=None, measured=False))
    answer = carried(encode_answer(Answer(parcel=Parcel(VALUES, LAYOUT.digest))))
    alive = [weakref.ref(records["values"]) for records in (assignment, answer)]
    gc.disable()
    try:
        decode_assignment(assignment)
        decode_answer(answer, size=SIZE, measured=False)
        del assignment, answer
        assert [reference() for reference in alive] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: type(getattr(plan, "allocation", plan)).__name__)
@pytest.mark.parametrize("norm", [1e-3, 1.0, 50.0])
def test_a_client_clips_by_what_arrived_as_the_plan_does(plan: Plan, norm: float) -> None:
    task = Task("c", VALUES, plan.bounding, Seeds(2**130, ("training", "round", "3", "c")))
    records = carried(encode_assignment(task, encode_values(task.start), rate=0.25, measured=True))
    there = decode_assignment(records)
    assert (there.task.client, there.task.seeds, there.rate, there.measured) == ("c", task.seeds, 0.25, True)
    assert torch.equal(there.task.start, VALUES)

    update = Update(VALUES / VALUES.norm() * norm)
    bounding = there.task.bounding
    sent = Answer(parcel=bounding.pack(bounding.clip(update), measured=True), loss=0.5)
    answer = decode_answer(carried(encode_answer(sent)), size=SIZE, measured=True)
    arrived, here = plan.receive(answer.parcel), plan.clip(update)
    assert torch.equal(arrived.values, here.values)  # type: ignore[attr-defined]
    assert arrived.indicators.tolist() == here.indicators.tolist()  # type: ignore[attr-defined]
    assert (arrived.norms, arrived.watched_norms, answer.loss) == (here.norms, here.watched_norms, 0.5)
    assert arrived.clipper == here.clipper  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_any_dtype_leaves_as_float32(dtype: torch.dtype) -> None:
    parcel = Parcel(VALUES.to(dtype).requires_grad_(), LAYOUT.digest)
    answer = decode_answer(carried(encode_answer(Answer(parcel=parcel))), size=SIZE, measured=False)
    assert torch.equal(answer.parcel.values, VALUES.to(dtype).float())


def test_norms_that_were_not_asked_for_are_not_looked_at() -> None:
    plan = plans()[0]
    sent = Answer(parcel=plan.bounding.pack(plan.clip(Update(VALUES)), measured=True), loss=math.nan)
    answer = decode_answer(encode_answer(sent), size=SIZE, measured=False)
    assert (answer.loss, answer.parcel.measured) == (None, None)
    with pytest.raises(PrivacyError, match="nan"):
        decode_answer(encode_answer(sent), size=SIZE, measured=True)


def test_a_greeting_arrives() -> None:
    greeting = Greeting(digest="d", clients=5, partition=2, partitions=3)
    assert decode_greeting(carried(encode_greeting(greeting))) == greeting


@pytest.mark.parametrize(
    ("clients", "partition", "partitions"), [(0, 0, 1), ("", 0, 1), (1, 1, 1), (1, 0.0, 1), (1, 2, 0)]
)
def test_a_greeting_that_cannot_be_is_refused(clients: Any, partition: Any, partitions: Any) -> None:
    said = ConfigRecord({"digest": "d", "clients": clients, "partition": partition, "partitions": partitions})
    with pytest.raises(PrivacyError, match="not one of ours"):
        decode_greeting(RecordDict({"said": said}))


def npy(values: np.ndarray[Any, Any], **changes: Any) -> bytes:
    buffer = BytesIO()
    np.save(buffer, values, allow_pickle=bool(changes.get("pickled")))
    return buffer.getvalue()


GOOD = npy(VALUES.numpy())
BAD: dict[str, tuple[str, bytes]] = {
    "short": ("numpy.ndarray", npy(np.ones(3, np.float32))),
    "matrix": ("numpy.ndarray", npy(np.ones((SIZE, 1), np.float32))),
    "doubles": ("numpy.ndarray", npy(np.ones(SIZE))),
    "integers": ("numpy.ndarray", npy(np.ones(SIZE, np.int32))),
    "big-endian": ("numpy.ndarray", npy(np.ones(SIZE, ">f4"))),
    "objects": ("numpy.ndarray", npy(np.array([print] * SIZE, object), pickled=True)),
    "pickle": ("numpy.ndarray", pickle.dumps(print)),
    "cut": ("numpy.ndarray", GOOD[:-4]),
    "more": ("numpy.ndarray", GOOD + bytes(4)),
    "empty": ("numpy.ndarray", b""),
    "noise": ("numpy.ndarray", bytes(range(200))),
    "header": ("numpy.ndarray", GOOD[:12] + b"(" * 100 + GOOD[112:]),
    "archive": ("numpy.ndarray", b"PK\x03\x04" + bytes(100)),
    "other-form": ("torch", GOOD),
}


@pytest.mark.parametrize("bad", BAD)
def test_an_array_that_is_not_what_it_should_be_is_refused(bad: str) -> None:
    form, data = BAD[bad]
    records = encode_answer(Answer(parcel=Parcel(VALUES, LAYOUT.digest)))
    records["values"] = ArrayRecord({"values": Array("float32", (SIZE,), form, data)})
    with pytest.raises(PrivacyError, match="not one of ours"):
        decode_answer(records, size=SIZE, measured=False)


def test_a_header_that_claims_a_petabyte_allocates_nothing() -> None:
    data = GOOD.replace(f"({SIZE},)".encode(), b"(9" + b"0" * 10 + b",)")[: len(GOOD)]
    records = encode_answer(Answer(parcel=Parcel(VALUES, LAYOUT.digest)))
    records["values"] = ArrayRecord({"values": Array("float32", (SIZE,), "numpy.ndarray", data)})
    with pytest.raises(PrivacyError):
        decode_answer(records, size=SIZE, measured=False)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("digest", 3),
        ("indicators", "much"),
        ("indicators", [math.nan]),
        ("norms", [1e60]),
        ("norms", [math.inf]),
        ("finite", 1),
        ("loss", math.nan),
        ("loss", "low"),
        ("watched", None),
    ],
)
def test_a_scalar_that_cannot_be_is_refused(key: str, value: Any) -> None:
    plan = plans()[0]
    records = encode_answer(Answer(parcel=plan.bounding.pack(plan.clip(Update(VALUES)), measured=True), loss=1.0))
    said = {**records["said"], key: value}
    records["said"] = ConfigRecord({name: item for name, item in said.items() if item is not None})
    with pytest.raises(PrivacyError, match="not one of ours"):
        decode_answer(records, size=SIZE, measured=True)


def test_an_empty_message_is_refused() -> None:
    for decode in (decode_greeting, decode_assignment, lambda r: decode_answer(r, size=SIZE, measured=False)):
        with pytest.raises(PrivacyError, match="not one of ours"):
            decode(RecordDict())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"size": 64', '"size": 65'),
        ('"rule": "clip"', '"rule": "none"'),
        ("[[0, ", "[[-1, "),
        ('"norms": [', '"norms": [7,'),
    ],
)
def test_bounds_that_do_not_fit_are_refused_by_the_client(old: str, new: str) -> None:
    plan = plans()[-2].bounding if "rule" not in old else plans()[0].bounding
    records = encode_assignment(Task("c", VALUES, plan, Seeds(1)), encode_values(VALUES), rate=None, measured=False)
    text = str(records["said"]["bounding"])
    old = old.replace("64", str(SIZE))
    assert old in text
    records["said"]["bounding"] = text.replace(old, new)
    with pytest.raises(PrivacyError, match="not one of ours"):
        decode_assignment(records)
