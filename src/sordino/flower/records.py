"""Flower's records as our messages use them: things said by name, and one array; whatever comes in is checked.

An update or an adapter is one flat float32 array, whatever the dtype of the model: numpy has no bfloat16, and one array a
message is much cheaper than one a tensor. What a stranger's message makes a decoder stumble over raises `PrivacyError` and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, Final, TypeVar

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.lib import format as npy

from sordino.errors import PrivacyError

__all__ = [
    "as_records",
    "checked",
    "digest_in",
    "encode_values",
    "number",
    "numbers",
    "quoted",
    "said_in",
    "typed",
    "vector_in",
]  # fmt: skip

T = TypeVar("T")

_VALUES: Final = "values"
_SAID: Final = "said"
_QUOTED: Final = 300
_LARGEST: Final = 1e50
"""No float32 vector is longer, and the square of no such number overflows."""


def encode_values(values: torch.Tensor) -> ArrayRecord:
    """One flat vector, cast to float32 before it becomes an array; one record serves all messages of a round."""
    return ArrayRecord({_VALUES: Array(values.detach().to("cpu", torch.float32).contiguous().numpy())})


def quoted(said: object) -> str:
    """What a node says, in one line of bounded length, so that in the run's log it cannot pass for lines of ours."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in str(said)).split())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}..."


def as_records(said: Mapping[str, Any], values: ArrayRecord | None = None) -> RecordDict:
    """A message of scalars, texts and lists by name, and of one array if it has one."""
    records = RecordDict({_SAID: ConfigRecord(dict(said))})
    if values is not None:
        records[_VALUES] = values
    return records


def said_in(records: RecordDict) -> Mapping[str, Any]:
    """What a message says by name."""
    return _record(records, _SAID, ConfigRecord)


def _record(records: RecordDict, name: str, kind: type[T]) -> T:
    """One of the records; Flower's views of them by type would tie the message up in a cycle, and keep it in memory."""
    record = records[name]
    if not isinstance(record, kind):
        raise TypeError(f"the record {name!r} is no {kind.__name__}")
    return record


def checked(decode: Callable[[], T]) -> T:
    """What ``decode`` gives; whatever a stranger's message makes it stumble over is one kind of error.

    Raises:
        PrivacyError: it stumbles.
    """
    try:
        return decode()
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, EOFError) as error:
        raise PrivacyError(
            f"a message that is not one of ours arrived ({type(error).__name__}: {quoted(error)}); give server and nodes "
            "the same version of sordino."
        ) from None


def vector_in(records: RecordDict, size: int) -> torch.Tensor:
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


def digest_in(said: Mapping[str, Any]) -> str:
    """The fingerprint of a layout; empty where nothing is sent."""
    digest = typed(said["digest"], str)
    if len(digest) > 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError(f"the fingerprint {digest!r}")
    return digest


def typed(value: Any, kind: type[T]) -> T:
    """The value if it is of this very type; raises TypeError."""
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def number(value: Any, *, largest: float = _LARGEST) -> float:
    """The value if it is a number, and none that overflows; raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= largest:
        raise ValueError(f"{value!r} is no number that can be")
    return float(value)


def numbers(values: Any) -> tuple[float, ...]:
    """Some of them."""
    return tuple(number(value) for value in values)
