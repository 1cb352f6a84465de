"""A federation on loopback as two sites would have it: TLS, registered nodes, every party a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sordino.flower.keys import make_keys

SCRIPTS = Path(sys.executable).parent


@dataclass
class Federation:
    folder: Path
    port: int
    environment: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def flwr(self, *arguments: str) -> dict[str, object]:
        done = subprocess.run([SCRIPTS / "flwr", *arguments, "--format", "json"], env=self.environment,
                              capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout[done.stdout.index("{") :])  # type: ignore[no-any-return]

    def spawn(self, name: str, *command: str | Path) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT,
                                                    cwd=self.folder, start_new_session=True)  # fmt: skip
        return self.processes[name]

    def register(self, *names: str) -> None:
        with ThreadPoolExecutor() as pool:
            keys = [self.folder / "keys" / f"{name}.pub" for name in names]
            list(pool.map(lambda key: self.flwr("supernode", "register", str(key), "clinic"), keys))

    def start_superlink(self) -> None:
        keys = self.folder / "keys"
        self.spawn("superlink", SCRIPTS / "flower-superlink", "--host", "127.0.0.1", "--port", f"{self.port}",
                   "--ssl-ca-certfile", keys / "ca.crt", "--ssl-certfile", keys / "server.crt",
                   "--ssl-keyfile", keys / "server.key", "--enable-supernode-auth",
                   "--disable-runtime-dependency-installation", "--database", self.folder / "state.db")  # fmt: skip
        wait_for_port(self.port)

    def start_node(self, name: str, manifest: Path) -> subprocess.Popen[bytes]:
        keys = self.folder / "keys"
        return self.spawn(name, SCRIPTS / "flower-supernode", "--superlink", f"127.0.0.1:{self.port}",
                          "--root-certificates", keys / "ca.crt", "--auth-supernode-private-key", keys / f"{name}.key",
                          "--port", f"{free_port()}", "--node-config", f'manifest="{manifest}"')  # fmt: skip

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def stop(self, name: str) -> None:
        """As its operator would, whatever it is at."""
        process = self.processes.pop(name)
        process.terminate()
        process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def kill_server_app(self) -> None:
        """As a lack of memory would; SuperLink and SuperNodes stay."""
        commands = processes_with(self.environment["FLWR_HOME"])
        (found,) = (process for process, command in commands.items() if "flwr-serverapp" in command)
        os.kill(found, signal.SIGKILL)

    def close(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for name in list(self.processes):
            with suppress(subprocess.TimeoutExpired):
                self.stop(name)


@contextmanager
def federation(folder: Path, nodes: Sequence[str]) -> Iterator[Federation]:
    """A SuperLink with these nodes registered; none of them runs yet."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    make_keys(folder / "keys", hosts=["127.0.0.1"], nodes=[*nodes, "stranger"])
    (folder / "home").mkdir()
    (folder / "home" / "config.toml").write_text(
        f'[superlink.clinic]\naddress = "127.0.0.1:{port}"\nroot-certificates = "{folder / "keys" / "ca.crt"}"\n'
    )
    environment = {
        **os.environ,
        "FLWR_HOME": str(folder / "home"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
        "OMP_NUM_THREADS": "1",
        "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}",
    }
    made = Federation(folder, port, environment)
    try:
        made.start_superlink()
        made.register(*nodes)
        yield made
    finally:
        made.close()


def processes_with(text: str) -> dict[int, str]:
    """Command lines of living processes in whose environment this stands, other than this one."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != os.getpid() and text.encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return {process: command for process, command in found.items() if command}


def left_behind(mark: str) -> list[str]:
    """Processes that do not end by themselves."""
    deadline = time.monotonic() + 20
    while (found := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return list(found.values())


def wait_for_port(port: int, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens on {port}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
