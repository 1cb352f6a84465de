"""Memory that a round has freed, given back to the system."""

from __future__ import annotations

import ctypes
from functools import cache

__all__ = ["give_back"]


def give_back() -> None:
    """Lets the C library return what is free.

    glibc keeps freed blocks, and a round's largest buffers may find no place between those that outlive it, so that the
    process would grow with the first rounds. Nothing happens where the C library is another.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> ctypes._NamedFuncPointer | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
