"""A message is exactly what is declared, or it is refused."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import DataError
from sordino.split.wire.batches import Batch
from sordino.split.wire.messages import BATCH, NOTHING, STATES, Message, decode, encode

GOOD = {"card": "0" * 16, "layers": [1, 3], "reduction": None}
ROWS = torch.arange(12, dtype=torch.float32).view(3, 4)
LENGTHS = torch.tensor([1, 2], dtype=torch.int32)


def message(said: object = GOOD, **tensors: torch.Tensor) -> bytes:
    held = {"noised": ROWS, "lengths": LENGTHS, **tensors}
    return safetensors.torch.save(held, {"sordino": json.dumps(said)})


def test_what_is_sent_is_what_comes() -> None:
    sent = Message(GOOD, {"noised": ROWS, "lengths": LENGTHS})
    came = decode(encode(sent), BATCH)
    assert came.said == GOOD
    assert torch.equal(came.tensors["noised"], ROWS)
    assert came.payload == sent.payload == 12 * 4 + 2 * 4
    assert decode(encode(Message()), NOTHING) == Message()


BAD = {
    "nothing": b"",
    "noise": bytes(range(256)) * 4,
    "torn": message()[:-1],
    "longer": message() + b"\0",
    "a header as long as the world": (1 << 62).to_bytes(8, "little") + b"{}",
    "nested": safetensors.torch.save({"noised": ROWS, "lengths": LENGTHS}, {"sordino": "[" * 100_000}),
    "no metadata": safetensors.torch.save({"noised": ROWS, "lengths": LENGTHS}),
    "one tensor too many": message(ids=torch.tensor([1, 2, 3])),
    "one too few": safetensors.torch.save({"noised": ROWS}, {"sordino": json.dumps(GOOD)}),
    "double precision": message(noised=ROWS.double()),
    "whole numbers": message(noised=ROWS.int()),
    "another rank": message(noised=ROWS[None]),
    "wide lengths": message(lengths=LENGTHS.long()),
    "nan": message(noised=ROWS / 0),
    "infinity": message(noised=ROWS + float("inf")),
    "a key too many": message(GOOD | {"text": "my name is"}),
    "a key too few": message({"card": "0" * 16, "layers": [1]}),
    "a list": message([1]),
    "layers are no list": message(GOOD | {"layers": 3}),
    "reduction is a truth value": message(GOOD | {"reduction": True}),
    "reduction is a text": message(GOOD | {"reduction": "8"}),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        decode(data, BATCH)


@given(data=st.binary(max_size=200), at=st.integers(0, 400), form=st.sampled_from([NOTHING, BATCH, STATES]))
def test_no_bytes_raise_anything_else(data: bytes, at: int, form: object) -> None:
    for spoilt in (data, message()[:at] + data + message()[at + len(data) :]):
        with suppress(DataError):
            decode(spoilt, form)


@pytest.mark.parametrize(
    ("lengths", "layers", "width"),
    [([2, 2], [1], 4), ([3, 0], [1], 4), ([], [1], 4), ([1, 2], ["1"], 4), ([1, 2], [1], 5)],
)
def test_a_batch_that_does_not_add_up_is_refused(lengths: list[int], layers: list[int], width: int) -> None:
    held = {"noised": ROWS, "lengths": torch.tensor(lengths, dtype=torch.int32)}
    with pytest.raises(DataError):
        Batch.from_message(Message(GOOD | {"layers": layers}, held), width=width)
