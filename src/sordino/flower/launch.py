"""Starts runs through Flower's own command line, and for simulations the SuperLink that they need."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from sordino.errors import SordinoError

__all__ = ["SAID", "Connection", "FlowerFailed", "simulated"]

SAID: Final = "sordino: "
"""Begins every line of a run's log that is meant for its user."""

_SCRIPTS: Final = Path(sys.executable).parent
_START_S: Final = 60
_END_S: Final = 20


class FlowerFailed(SordinoError):
    """Flower's command line or its SuperLink gave up; the message ends with what it said."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A SuperLink as Flower's command line knows it.

    Attributes:
        name: of the connection in Flower's ``config.toml``; None for the default one.
        environment: variables for Flower's processes.
        federation: for simulations, Flower's settings of them, as ``key=value``.
    """

    name: str | None
    environment: Mapping[str, str]
    federation: tuple[str, ...] = ()

    def start(self, app: Path) -> str:
        """Sends the app and starts it; gives the run's id."""
        options = ("--federation-config", " ".join(self.federation)) if self.federation else ()
        said = self._call("run", str(app), *self._name, *options, "--format", "json")
        return str(said["run-id"])

    def lines(self, run: str) -> Iterator[str]:
        """The run's log as it is written, to its end."""
        command = self._command("log", run, *self._name, "--stream")
        with subprocess.Popen(  # noqa: S603
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None  # noqa: S101 - asked for above
            try:
                yield from (line.rstrip("\n") for line in process.stdout)
            finally:
                process.terminate()

    def succeeded(self, run: str) -> bool:
        """Whether the run has ended as it should; waits a little for the SuperLink to know."""
        for _ in range(_END_S):
            status = str(self._call("list", *self._name, "--run-id", run, "--format", "json")["runs"][0]["status"])
            if status.startswith("finished"):
                return status == "finished:completed"
            time.sleep(1)
        return False

    def stop(self, run: str) -> None:
        """Ends the run where it is."""
        self._call("stop", run, *self._name, "--format", "json")

    @property
    def _name(self) -> tuple[str, ...]:
        return () if self.name is None else (self.name,)

    def _command(self, *arguments: str) -> list[str]:
        return [str(_SCRIPTS / "flwr"), *arguments]

    def _call(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(  # noqa: S603
            self._command(*arguments), env=self.environment, capture_output=True, text=True, check=False
        )
        try:
            said = json.loads(done.stdout[done.stdout.index("{") :])
        except ValueError:
            said = {}
        if done.returncode != 0 or not said.get("success", True):
            reason = said.get("error-message") or " ".join((done.stderr or done.stdout).split()[-60:])
            raise FlowerFailed(f"flwr {arguments[0]} failed: {reason}")
        return dict(said)


@contextmanager
def simulated(*, nodes: int, cpus: float, gpus: float) -> Iterator[Connection]:
    """A SuperLink of one's own that simulates its nodes on Ray, on this machine alone; gone afterwards.

    Args:
        nodes: simulated SuperNodes.
        cpus: CPUs that one client takes: as many train side by side as fit.
        gpus: share of a GPU that one client takes.

    Raises:
        FlowerFailed: it does not start.
    """
    with TemporaryDirectory(prefix="flwr-") as home:
        port = _free_port()
        (Path(home) / "config.toml").write_text(
            f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:{port}"\ninsecure = true\n',
            encoding="utf-8",
        )
        environment = {
            "FLWR_TELEMETRY_ENABLED": "0",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
            **os.environ,
            "FLWR_HOME": home,
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
            "PATH": f"{_SCRIPTS}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        federation = (
            f"num-supernodes={nodes}",
            f"client-resources-num-cpus={cpus:g}",
            f"client-resources-num-gpus={gpus:g}",
        )
        with _superlink(Path(home) / "superlink.log", port=port, environment=environment):
            yield Connection(name=None, environment=environment, federation=federation)


@contextmanager
def _superlink(log: Path, *, port: int, environment: Mapping[str, str]) -> Iterator[None]:
    command = [
        str(_SCRIPTS / "flower-superlink"),
        "--simulation",
        "--insecure",
        "--host",
        "127.0.0.1",
        "--port",
        f"{port}",
    ]
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603
            command, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait_until_healthy(process, port, log)
        yield
    finally:
        for started in _started_by(process.pid):
            with suppress(psutil.NoSuchProcess):
                started.kill()
        process.terminate()
        try:
            process.wait(_END_S)
        finally:
            process.kill()


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    raise FlowerFailed(f"the SuperLink did not start: {' '.join(log.read_text(encoding='utf-8').split()[-60:])}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _started_by(parent: int) -> list[psutil.Process]:
    """Everything that a SuperLink has started. A run's own process is in a session of its own, and would go on alone."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(parent).children(recursive=True)
    return []
