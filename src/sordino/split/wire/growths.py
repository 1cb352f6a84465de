"""Sequences that grow at a server: whose they are, how many, and until when their keys and values are kept."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import grpc

from sordino.split.growing import Growth
from sordino.split.wire.limits import Limits
from sordino.split.wire.refusal import Refusal, busy

__all__ = ["Growths", "Kept"]


@dataclass(slots=True, kw_only=True)
class Kept:
    """One growth of one client.

    Attributes:
        holder: whose it is; to everybody else it is not there.
        growth: at the model.
        batch: how many sequences.
        layers: blocks wanted.
        reduction: r, or None.
        in_use: a call extends it.
        timer: forgets it.
    """

    holder: str
    growth: Growth
    batch: int
    layers: tuple[int, ...]
    reduction: int | None
    in_use: bool = True
    timer: asyncio.TimerHandle | None = None


class Growths:
    """All growths of a server.

    A client that opens one too many loses the one that it has not extended for longest: whoever crashed and comes back is
    not locked out by what it left, and a client whose growth is gone opens it again with what it had sent.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._kept: dict[str, Kept] = {}  # the one that was not used for longest comes first

    def __len__(self) -> int:
        return len(self._kept)

    @contextmanager
    def opened(self, kept: Kept) -> Iterator[str]:
        """Keeps a new one from the end of the context on, unless that raises; gives its name."""
        mine = [name for name, other in self._kept.items() if other.holder == kept.holder]
        idle = [name for name in mine if not self._kept[name].in_use]
        if len(mine) >= self._limits.growths_at_once:
            if not idle:
                raise busy(f"growths_at_once = {self._limits.growths_at_once}", 0.1)
            self._forget(idle[0])
        name = secrets.token_urlsafe(16)
        self._kept[name] = kept
        with self._used(name):
            yield name

    @contextmanager
    def extended(self, holder: str, name: str, *, at: int) -> Iterator[Kept]:
        """The one of this name, to be extended at its present length; forgotten if that raises."""
        kept = self._mine(holder, name)
        if kept.in_use or kept.growth.tokens != at:
            raise _gone()
        if kept.timer is not None:
            kept.timer.cancel()
        kept.in_use = True
        with self._used(name):
            yield kept

    def close(self, holder: str, name: str) -> None:
        """Forgets one that is there."""
        if not self._mine(holder, name).in_use:
            self._forget(name)

    def _mine(self, holder: str, name: str) -> Kept:
        kept = self._kept.get(name)
        if kept is None or kept.holder != holder:
            raise _gone()
        return kept

    @contextmanager
    def _used(self, name: str) -> Iterator[None]:
        kept = self._kept.pop(name)
        self._kept[name] = kept  # last in the row
        try:
            yield
        except BaseException:
            # A call that was broken off may still be computed: what is half extended is left to it, and is of no use.
            del self._kept[name]
            raise
        kept.in_use = False
        kept.timer = asyncio.get_running_loop().call_later(self._limits.growth_idle_s, self._forget, name)

    def _forget(self, name: str) -> None:
        kept = self._kept.pop(name, None)
        if kept is not None:
            if kept.timer is not None:
                kept.timer.cancel()
            kept.growth.close()


def _gone() -> Refusal:
    return Refusal(grpc.StatusCode.NOT_FOUND, "no such sequences grow here, or not at this length; open them again")
