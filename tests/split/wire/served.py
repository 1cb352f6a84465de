"""A server in a thread of this process, for whatever needs no process of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import torch

from sordino.split.growing import GrowingServer
from sordino.split.wire import Endpoint, Limits
from sordino.split.wire.holders import Holders
from sordino.split.wire.service import SERVICE, StatesService
from sordino.split.wire.serving import Certificate, serve

TOKEN = "t" * 40
OTHER_TOKEN = "o" * 40
HOLDERS = Holders.of({"one": TOKEN, "other": OTHER_TOKEN})


@dataclass
class Served:
    """A server that runs.

    Attributes:
        port: where.
        notes: its log.
        service: what answers.
    """

    port: int
    service: StatesService
    notes: list[str] = field(default_factory=list)

    def endpoint(self, folder: Path, *, token: str = TOKEN) -> Endpoint:
        path = folder / f"{token[:1]}.token"
        path.write_text(token, encoding="ascii")
        return Endpoint(address=f"127.0.0.1:{self.port}", token=path, insecure=True)

    def raw(self, method: str, data: bytes, *, token: str = TOKEN, timeout: float = 20.0) -> bytes:
        """One call with any bytes."""
        with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            call = channel.unary_unary(f"/{SERVICE}/{method}")
            reply: bytes = call(data, metadata=(("authorization", f"Bearer {token}"),), timeout=timeout)
        return reply


@contextmanager
def serving(
    model: GrowingServer, *, limits: Limits | None = None, port: int = 0, certificate: Certificate | None = None
) -> Iterator[Served]:
    """Serves a model for the length of the context."""
    notes: list[str] = []
    limits = limits or Limits()
    service = StatesService(model, holders=HOLDERS, limits=limits, note=notes.append)
    started, addresses, ends = threading.Event(), [], []

    def ready(address: str) -> None:
        addresses.append(address)
        started.set()

    async def run() -> None:
        told = asyncio.Event()
        ends.append((asyncio.get_running_loop(), told))
        await serve(
            service, host="127.0.0.1", port=port, certificate=certificate, limits=limits, ready=ready, told=told
        )

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert started.wait(20)
        yield Served(int(addresses[0].rpartition(":")[2]), service, notes)
    finally:
        loop, told = ends[0]
        loop.call_soon_threadsafe(told.set)
        thread.join(20)
        assert not thread.is_alive()


def batch(width: int, lengths: tuple[int, ...] = (7, 2, 5), *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Random embeddings and their mask."""
    noised = torch.randn(len(lengths), max(lengths), width, generator=torch.Generator().manual_seed(seed))
    return noised, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
