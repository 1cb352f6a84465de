"""Starts an experiment on Flower, follows it, and reads its result."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sordino._check import at_least, positive
from sordino.config import to_toml
from sordino.errors import SordinoError
from sordino.experiments.on_flower.halves import Halves
from sordino.experiments.tasks import Experiment
from sordino.flower import FlowerSettings
from sordino.flower.app_folder import write_app
from sordino.flower.launch import SAID, Connection, FlowerFailed, simulated
from sordino.records import RunFolder

__all__ = ["Deployment", "Simulation", "run_on_flower"]

_TAIL: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """SuperNodes simulated on this machine, to which the experiment's own data is dealt.

    Attributes:
        nodes: how many; None for one a client.
        cpus: that one client takes.
        gpus: share of a GPU that one client takes.
        timeout_s: seconds that a round waits for answers.
    """

    nodes: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0
    timeout_s: float = 3600.0

    def __post_init__(self) -> None:
        if self.nodes is not None:
            at_least("--nodes", self.nodes, 1)
        positive("--cpus", self.cpus)
        at_least("--gpus", self.gpus, 0)

    def settings(self, experiment: str, out: Path, *, resume: bool) -> FlowerSettings:
        """What the app is told."""
        return FlowerSettings(experiment=experiment, out=str(out.absolute()), resume=resume, timeout_s=self.timeout_s)

    def connection(self, halves: Halves) -> AbstractContextManager[Connection]:
        """A SuperLink that lasts as long as the run."""
        return simulated(nodes=self.nodes or halves.count_clients(), cpus=self.cpus, gpus=self.gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """SuperNodes at sites that bring their own recordings.

    Attributes:
        superlink: name of the connection in Flower's config.
        nodes: how many to wait for before the first round.
        draw_at_nodes: each node draws its own speakers.
        wait_s: seconds to wait for the nodes.
        timeout_s: seconds that a round waits for answers.
    """

    superlink: str
    nodes: int = 1
    draw_at_nodes: bool = False
    wait_s: float = 300.0
    timeout_s: float = 600.0

    def settings(self, experiment: str, out: Path, *, resume: bool) -> FlowerSettings:
        """What the app is told."""
        return FlowerSettings(
            experiment=experiment,
            out=str(out.absolute()),
            resume=resume,
            own_recordings=True,
            draw_at_nodes=self.draw_at_nodes,
            nodes=self.nodes,
            wait_s=self.wait_s,
            timeout_s=self.timeout_s,
        )

    def connection(self, halves: Halves) -> AbstractContextManager[Connection]:  # noqa: ARG002
        """That SuperLink, which is somebody else's to start and stop."""
        return nullcontext(Connection(name=self.superlink, environment=dict(os.environ)))


def run_on_flower(
    options: Experiment,
    out: Path,
    *,
    where: Simulation | Deployment,
    resume: bool = False,
    note: Callable[[str], None],
) -> dict[str, Any] | None:
    """Runs an experiment as a Flower app.

    Args:
        options: the experiment.
        out: the run folder, on the machine of the SuperLink.
        where: simulated here, or deployed.
        resume: continue the interrupted run in ``out``.
        note: is told what the run says of itself, line by line.

    Returns:
        What ``sordino run --json`` prints; None if the run folder is on another machine.

    Raises:
        ConfigError: ``out`` is taken, or the experiment does not run there.
        FlowerFailed: Flower did not start the run, or it failed; says why.
    """
    started = time.monotonic()
    halves, settings = options.on_flower(), where.settings(to_toml(options), out, resume=resume)
    halves.require(settings)
    if not resume:
        RunFolder(out).require_free()
    with TemporaryDirectory() as folder, where.connection(halves) as connection:
        app = Path(folder) / "app"
        write_app(app, settings, name=f"sordino-{options.name}")
        _follow(connection, connection.start(app), note)
    path = RunFolder(out).result
    if not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    told = {key: value for key, value in kept.items() if key not in ("versions", "report")}
    return {**told, "seconds": round(time.monotonic() - started, 1)}


def _follow(connection: Connection, run: str, note: Callable[[str], None]) -> None:
    """Shows the run's own lines; keeps the last of Flower's for the error that they may explain."""
    others: deque[str] = deque(maxlen=_TAIL)
    error = ""
    try:
        for line in connection.lines(run):
            text = line.partition(SAID)[2]
            if text.startswith("error: "):
                error = error or text.removeprefix("error: ")
            elif text:
                note(text)
            else:
                others.append(line)
        finished = connection.succeeded(run)
    except (KeyboardInterrupt, SordinoError):
        with suppress(FlowerFailed):  # it may have ended by itself
            connection.stop(run)
        raise
    if not finished:
        raise FlowerFailed(
            error
            or f"run {run} ended without saying why; if it had begun, continue with the same command, --resume and --out; "
            f"the end of its log: {' | '.join(others)}"
        )
