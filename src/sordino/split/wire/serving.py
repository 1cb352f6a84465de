"""A running server: its port, its certificate, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import grpc

from sordino.errors import ConfigError
from sordino.split.wire.limits import Limits
from sordino.split.wire.loopback import is_loopback
from sordino.split.wire.service import StatesService

__all__ = ["Certificate", "serve"]

_IDLE_MS: Final = 600_000
_HANDSHAKE_MS: Final = 20_000
_PING_MS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a server shows, and the key that proves it to be its own; both PEM."""

    chain: bytes
    key: bytes

    @classmethod
    def read(cls, folder: Path) -> Self:
        """``server.crt`` and ``server.key``.

        Raises:
            ConfigError: they cannot be read.
        """
        try:
            return cls(chain=(folder / "server.crt").read_bytes(), key=(folder / "server.key").read_bytes())
        except OSError as error:
            raise ConfigError(
                f"{error.filename} cannot be read ({error.strerror}); make keys with: sordino split keys {folder}"
            ) from None


async def serve(
    service: StatesService,
    *,
    host: str,
    port: int,
    certificate: Certificate | None,
    limits: Limits,
    ready: Callable[[str], None],
    told: asyncio.Event,
) -> None:
    """Serves until ``told`` to end; calls that are under way then have ``grace_s`` seconds.

    Args:
        service: answers the calls.
        host: name or address to listen at.
        port: 0 for a free one.
        certificate: None for a server without TLS, which only a loopback address may have.
        limits: the service's.
        ready: called with ``host:port`` once calls are taken.
        told: set it to end the server.

    Raises:
        ConfigError: a port that is taken, a host that is not this machine's, a certificate that is none, or no TLS elsewhere
            than on loopback.
    """
    if certificate is None and not is_loopback(host):
        raise ConfigError(f"no TLS on {host}: expected a loopback address; serve with --keys, or on 127.0.0.1.")
    server = grpc.aio.server(options=_options(limits))
    server.add_generic_rpc_handlers((service.handler(),))
    bound = _bind(server, host, port, certificate)
    await server.start()
    ready(_address(host, bound))
    try:
        await told.wait()
    finally:
        await server.stop(limits.grace_s)
        service.close()


def _options(limits: Limits) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", limits.max_bytes),
        ("grpc.max_send_message_length", limits.max_bytes),
        ("grpc.so_reuseport", 0),  # or a second server would quietly share the port
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
        ("grpc.http2.min_ping_interval_without_data_ms", _PING_MS),  # clients ping to see whether the server is alive
    ]


def _bind(server: grpc.aio.Server, host: str, port: int, certificate: Certificate | None) -> int:
    try:
        if certificate is None:
            return server.add_insecure_port(_address(host, port))
        credentials = grpc.ssl_server_credentials([(certificate.key, certificate.chain)])
        return server.add_secure_port(_address(host, port), credentials)
    except (RuntimeError, ValueError):
        raise ConfigError(
            f"{_address(host, port)} cannot be served: expected a free port on an address of this machine, and a "
            "certificate with its key; choose another --port or --host, or make new --keys."
        ) from None


def _address(host: str, port: int) -> str:
    return f"[{host.strip('[]')}]:{port}" if ":" in host else f"{host}:{port}"
