"""The client's half of a call: where the server is, what shows that it is the right one, and patience."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc

from sordino.errors import ConfigError, SordinoError
from sordino.split.wire.holders import read_token
from sordino.split.wire.loopback import is_loopback
from sordino.split.wire.messages import Form, Message, decode, encode
from sordino.split.wire.refusal import RETRY_AFTER
from sordino.split.wire.service import SERVICE
from sordino.split.wire.traffic import Meter

__all__ = ["LARGEST", "Connection", "Endpoint", "ServerRefused", "ServerUnreachable"]

LARGEST: Final = 256 << 20
"""Bytes of the largest message that a client takes, whatever the server calls its limit."""

_ADDRESS: Final = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
_PASSING: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""What a call ends with when its server goes away; this side never cancels one."""

_UNSIGNED: Final = "CERTIFICATE_VERIFY_FAILED"
"""Stands in the details where the authority did not sign the server's certificate; waiting does not mend that."""

_PAUSE_S: Final = (0.1, 5.0)
"""The first pause between two tries, and the longest."""

_PING_MS: Final = 20_000


class ServerUnreachable(SordinoError):
    """No answer in the time that there was."""


class ServerRefused(SordinoError):
    """The server answered that it will not; asking again would not help.

    Attributes:
        code: gRPC's name of the status.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server, as a client knows it.

    Attributes:
        address: ``host:port``.
        authority: PEM file of the authority that signed the server's certificate; None for those that gRPC brings along.
        token: file of the token; None for the one in the environment.
        insecure: without TLS; for a loopback address only.
    """

    address: str
    authority: Path | None = None
    token: Path | None = None
    insecure: bool = False

    def channel(self) -> grpc.Channel:
        """A channel to it, which connects when it is first used, and again whenever it must.

        Raises:
            ConfigError: an address that is none, an authority that cannot be read, or no TLS elsewhere than on loopback.
        """
        found = _ADDRESS.fullmatch(self.address)
        if found is None or not 0 < int(found["port"]) < 65_536:
            raise ConfigError(f"--server {self.address!r}: expected HOST:PORT; give what sordino split serve printed.")
        local = is_loopback(found["host"])
        options = [
            ("grpc.max_receive_message_length", LARGEST),
            ("grpc.max_send_message_length", LARGEST),
            ("grpc.enable_retries", 0),  # `Connection` repeats calls, and counts them
            ("grpc.keepalive_time_ms", _PING_MS),
            ("grpc.keepalive_timeout_ms", _PING_MS),
            ("grpc.initial_reconnect_backoff_ms", int(1000 * _PAUSE_S[0])),
            ("grpc.min_reconnect_backoff_ms", _PING_MS),  # how long one attempt to connect may take
            ("grpc.max_reconnect_backoff_ms", int(1000 * _PAUSE_S[1])),
            ("grpc.enable_http_proxy", int(not local)),
        ]
        if not self.insecure:
            return grpc.secure_channel(self.address, grpc.ssl_channel_credentials(self._roots()), options)
        if not local:
            raise ConfigError(
                f"--insecure with --server {self.address}: expected a loopback address, or a network could read the "
                "token and the embeddings; leave --insecure out, and name the server's --ca."
            )
        return grpc.insecure_channel(self.address, options)

    def _roots(self) -> bytes | None:
        if self.authority is None:
            return None
        try:
            return self.authority.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"--ca {self.authority} cannot be read ({error.strerror}); name the server's ca.crt."
            ) from None


class Connection:
    """Sends a message, waits for the answer, and sends it again where none came.

    What is sent again is the same message, byte for byte: the server learns nothing new from it, and no noise is drawn.

    Args:
        endpoint: the server.
        patience_s: how long an answer may take, all tries and pauses together.

    Attributes:
        meter: counts what goes over the wire.
    """

    def __init__(self, endpoint: Endpoint, *, patience_s: float) -> None:
        self._endpoint, self._patience_s = endpoint, patience_s
        self._metadata = (("authorization", f"Bearer {read_token(endpoint.token)}"),)
        self._channel = endpoint.channel()
        self.meter = Meter()

    def close(self) -> None:
        """Ends it; calls under way fail."""
        self._channel.close()

    def call(self, method: str, message: Message, *, answer: Form, patience_s: float | None = None) -> Message:
        """The server's answer.

        Args:
            method: name of the method.
            message: what to send.
            answer: what must come back.
            patience_s: another patience than the connection's.

        Raises:
            ServerUnreachable: nobody answered in time.
            ServerRefused: the server will not.
            DataError: the answer is not what it should be.
        """
        send: grpc.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(f"/{SERVICE}/{method}")
        data, payload = encode(message), message.payload
        patience_s = patience_s or self._patience_s
        last = time.monotonic() + patience_s
        for again, pause_s in enumerate(_pauses()):
            started = time.monotonic()
            self.meter.sent(payload=payload, message=len(data), again=again > 0)
            try:
                reply = send(data, timeout=max(last - started, 0.001), metadata=self._metadata)
            except grpc.RpcError as error:
                wait_s = self._wait_s(error, pause_s)
                if time.monotonic() + wait_s >= last:
                    raise self._unreachable(error, patience_s) from None
                time.sleep(wait_s)
                continue
            answered = decode(reply, answer)
            self.meter.came(payload=answered.payload, message=len(reply), seconds=time.monotonic() - started)
            return answered
        raise AssertionError("pauses never end")

    def _wait_s(self, error: Any, pause_s: float) -> float:
        """How long to wait before the next try; raises ServerRefused where none would help."""
        code = error.code()
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return float("inf")
        asked = dict(error.trailing_metadata() or ()).get(RETRY_AFTER)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and isinstance(asked, str) and asked.isdecimal():
            return max(pause_s, int(asked) / 1000)
        if code in _PASSING and _UNSIGNED not in str(error.details()):
            return pause_s
        if code in _PASSING:
            raise ConfigError(
                f"{self._endpoint.address} shows a certificate that {self._endpoint.authority or 'no public authority'} did "
                "not sign; name the server's ca.crt with --ca, and if it is that one, do not trust this server."
            ) from None
        raise ServerRefused(
            f"{self._endpoint.address} refused: {error.details()} ({code.name}).", code=code.name
        ) from None

    def _unreachable(self, error: Any, patience_s: float) -> ServerUnreachable:
        return ServerUnreachable(
            f"{self._endpoint.address} gave no answer in {patience_s:g} seconds ({error.details()}); see whether the server "
            "runs, under this address, and with a certificate of this --ca."
        )


def _pauses() -> Iterator[float]:
    """Longer and longer, and not the same for all the clients that a server has left behind."""
    pause_s, longest_s = _PAUSE_S
    while True:
        yield pause_s * random.SystemRandom().uniform(0.5, 1.0)
        pause_s = min(2 * pause_s, longest_s)
