"""From a model's name to a running server: everything that can be wrong is looked at before the model is loaded."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sordino._check import at_least, at_most, one_of
from sordino.errors import ConfigError
from sordino.models.devices import available_device
from sordino.split.hidden_states import ModelCard
from sordino.split.local_server import LocalStates
from sordino.split.wire.holders import TOKEN_VARIABLE, Holders, read_token
from sordino.split.wire.limits import Limits
from sordino.split.wire.loopback import is_loopback
from sordino.split.wire.service import StatesService
from sordino.split.wire.serving import Certificate, serve

__all__ = ["Hosting", "host_model"]

_ENVIRONMENT: str = "environment"
"""Name of the holder whose token stands in the environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """What ``sordino split serve`` is told.

    Attributes:
        model: folder or hub id.
        keys: folder of ``server.crt``, ``server.key`` and ``holders.toml``; only the last with ``insecure``, if at all.
        host: name or address to listen at.
        port: 0 for a free one.
        insecure: without TLS, on a loopback address.
        dtype: number format to compute in, ``float32`` or ``bfloat16``.
        device: where to compute.
        client_layers: layers of a Whisper that clients keep.
        limits: for each client.
    """

    model: str
    keys: Path | None = None
    host: str = "127.0.0.1"
    port: int = 0
    insecure: bool = False
    dtype: str = "float32"
    device: str = "cpu"
    client_layers: int = 0
    limits: Limits = field(default_factory=Limits)

    def certificate(self) -> Certificate | None:
        """None for a server without TLS.

        Raises:
            ConfigError: neither keys nor ``insecure``, or ``insecure`` where others can listen.
        """
        if self.insecure:
            if not is_loopback(self.host):
                raise ConfigError(
                    f"--insecure with --host {self.host}: expected a loopback address; serve with --keys, or on 127.0.0.1."
                )
            return None
        if self.keys is None:
            raise ConfigError(
                "a server without --keys would have no TLS; make some with: sordino split keys keys, and add --keys keys."
            )
        return Certificate.read(self.keys)

    def holders(self) -> Holders:
        """Those of the keys, and the one whose token is in the environment.

        Raises:
            ConfigError: there is nobody.
        """
        digests: dict[str, str] = {}
        if self.keys is not None and (not self.insecure or (self.keys / "holders.toml").exists()):
            digests |= Holders.read(self.keys / "holders.toml").digests
        if os.environ.get(TOKEN_VARIABLE):
            digests |= Holders.of({_ENVIRONMENT: read_token(None)}).digests
        if not digests:
            raise ConfigError(f"nobody holds a token; name --keys with a holders.toml, or set {TOKEN_VARIABLE}.")
        return Holders(digests)


def host_model(
    hosting: Hosting,
    *,
    ready: Callable[[str, ModelCard], None],
    note: Callable[[str], None],
    with_stdin: bool = False,
) -> Counter[str]:
    """Serves until told to end.

    Args:
        hosting: what and where.
        ready: called with the address and the model's card once calls are taken.
        note: takes lines for the log.
        with_stdin: end when standard input ends, too.

    Returns:
        How many calls ended in which status.

    Raises:
        ConfigError: what `LocalStates.load` and `serve` raise, or nobody who may ask.
    """
    certificate, holders, device = hosting.certificate(), hosting.holders(), available_device(hosting.device)
    dtype: Literal["float32", "bfloat16"] = "bfloat16" if hosting.dtype == "bfloat16" else "float32"
    one_of("--dtype", hosting.dtype, ("float32", "bfloat16"))
    _require_free(hosting.host, hosting.port)
    model = LocalStates.load(hosting.model, dtype=dtype, device=str(device), client_layers=hosting.client_layers)
    service = StatesService(model, holders=holders, limits=hosting.limits, note=note)

    async def run() -> None:
        await serve(
            service,
            host=hosting.host,
            port=hosting.port,
            certificate=certificate,
            limits=hosting.limits,
            ready=lambda address: ready(address, model.describe()),
            told=_told_to_end(with_stdin=with_stdin),
        )

    asyncio.run(run())
    return service.counts


def _told_to_end(*, with_stdin: bool) -> asyncio.Event:
    """Set on Ctrl-C, on SIGTERM, and when standard input ends if asked for."""
    loop, told = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    if with_stdin:

        def wait() -> None:
            sys.stdin.buffer.read()
            loop.call_soon_threadsafe(told.set)

        threading.Thread(target=wait, daemon=True).start()
    return told


def _require_free(host: str, port: int) -> None:
    """Loading can take minutes: a port that is taken is told before."""
    at_most("--port", at_least("--port", port, 0), 65_535)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        with closing(socket.socket(family, kind, protocol)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was used just now is free
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"{host} port {port} cannot be served ({error}): expected a free port on an address of this machine; choose "
            "another --port or --host."
        ) from None
