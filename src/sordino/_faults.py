"""Named points at which a test may kill the process, to prove what a crash leaves behind.

Inert unless the environment variable SORDINO_FAULT is ``NAME`` or ``NAME:N``: then the N-th arrival (1 by default) at
that point ends the process as ``kill -9`` would.
"""

from __future__ import annotations

import os
import signal

__all__ = ["fault_point"]

_arrivals: dict[str, int] = {}


def fault_point(name: str) -> None:
    """Marks a moment between two steps whose order matters."""
    wanted, _, count = os.environ.get("SORDINO_FAULT", "").partition(":")
    if wanted != name:
        return
    _arrivals[name] = _arrivals.get(name, 0) + 1
    if _arrivals[name] == int(count or 1):
        os.kill(os.getpid(), signal.SIGKILL)
