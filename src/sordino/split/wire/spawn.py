"""A server of one's own on this machine: for trying things, for tests, and for experiments without a vendor.

It is a real process with TLS and a fresh token. It ends with the context that started it, and if this process dies, however
that happens: the server watches a pipe whose other end only this process holds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sordino.errors import SordinoError
from sordino.split.wire.connection import Endpoint
from sordino.split.wire.holders import TOKEN_VARIABLE
from sordino.split.wire.keys import make_keys

__all__ = ["ServerFailed", "ServerProcess", "spawned"]

_START_S: Final = 300.0
"""Large models take their time to load."""

_END_S: Final = 20.0
_CLIENT: Final = "client"


class ServerFailed(SordinoError):
    """The server did not start; the message ends with what it said."""


@dataclass(slots=True)
class ServerProcess:
    """``sordino split serve`` in a process of its own, with keys and logs in a folder.

    Attributes:
        model: folder or hub id.
        folder: holds keys, ``ready.json`` and ``log``; see `spawned`.
        arguments: further ones of ``sordino split serve``.
        port: 0 until it is known; the same again after `kill` and `start`.
    """

    model: str
    folder: Path
    arguments: Sequence[str] = ()
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where a client finds it."""
        return Endpoint(
            address=f"127.0.0.1:{self.port}",
            authority=self.folder / "ca.crt",
            token=self.folder / f"{_CLIENT}.token",
        )

    @property
    def pid(self) -> int | None:
        """Of its process; None when there is none."""
        return None if self._process is None else self._process.pid

    @property
    def log(self) -> str:
        """What it has said so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> None:
        """Starts it, and waits until it takes calls.

        Raises:
            ServerFailed: it ends before, or takes minutes.
        """
        command = [sys.executable, "-c", "from sordino.cli import main; main()", "split", "serve", self.model]
        command += ["--keys", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--json", "--with-stdin", *self.arguments]
        ready = self.folder / "ready.json"
        with ready.open("wb") as out, (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                command, env=_environment(), stdin=subprocess.PIPE, stdout=out, stderr=log, start_new_session=True
            )
        try:
            self.port = int(str(self._said(ready)["address"]).rpartition(":")[2])
        except BaseException:
            self.kill()
            raise

    def end(self) -> None:
        """Asks it to end, waits a little, and makes sure."""
        if self._process is not None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
            self.kill()

    def kill(self) -> None:
        """Ends it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process = None

    def _said(self, ready: Path) -> dict[str, Any]:
        assert self._process is not None  # noqa: S101 - started just now
        last = time.monotonic() + _START_S
        while time.monotonic() < last and self._process.poll() is None:
            if text := ready.read_text(encoding="utf-8").strip():
                return dict(json.loads(text))
            time.sleep(0.05)
        raise ServerFailed(f"the server of {self.model} did not start: {' '.join(self.log.split()[-60:])}")


@contextmanager
def spawned(model: str, *arguments: str) -> Iterator[ServerProcess]:
    """A server on a free loopback port, with keys and a token in a temporary folder; gone afterwards, and the folder too.

    Args:
        model: folder or hub id.
        arguments: further ones of ``sordino split serve``, e.g. ``--set`` and ``max_batch=8``.

    Raises:
        ServerFailed: it does not start.
    """
    with TemporaryDirectory(prefix="sordino-split-") as parent:
        folder = Path(parent) / "keys"
        make_keys(folder, holders=[_CLIENT])
        server = ServerProcess(model, folder, arguments)
        server.start()
        try:
            yield server
        finally:
            server.end()


def _environment() -> dict[str, str]:
    """Without a token for some other server, which this one would take for a client's."""
    return {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
