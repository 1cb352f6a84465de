"""The two halves that ``flwr run`` loads by name: a run on the server, and a site at each node."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError, SordinoError
from sordino.experiments.loading import load_experiment, parse_experiment
from sordino.experiments.observer import Progress
from sordino.experiments.on_flower.halves import Halves
from sordino.flower import FlowerSettings, Grid, Site, make_client_app, make_server_app
from sordino.flower.launch import SAID
from sordino.records import RunFolder

__all__ = ["client", "open_site", "serve", "server"]


def serve(grid: Grid, settings: FlowerSettings) -> None:
    """Runs the experiment on the nodes of a grid, into the run folder that the settings name.

    Raises:
        SordinoError: what a user can put right, also in the log.
    """
    from sordino.reporting import write_report  # a node starts a process for every task, without this

    observer = _Log()
    try:
        options, out = parse_experiment(settings.experiment), Path(settings.out)
        halves = options.on_flower()
        halves.require(settings)
        if settings.resume and load_experiment(RunFolder.open(out).config) != options:
            raise ConfigError(f"the experiment differs from that of the run in {out}; resume it with its own.")
        halves.serve(grid, settings, observer)
        write_report([out], out / "report.html")
    except SordinoError as error:
        observer.note(f"error: {error}")
        raise


def open_site(settings: FlowerSettings, node_config: Mapping[str, Any], topic: str = "") -> Site:
    """What a node holds, by the experiment's own half, see `sordino.flower.OpensSites`.

    Raises:
        ConfigError: it holds nothing, or nothing that the run expects.
    """
    return _halves(settings.experiment).open_site(settings, node_config, topic)


@lru_cache(maxsize=1)
def _halves(experiment: str) -> Halves:
    """One for all messages of a process, so that it finds what it has loaded."""
    return parse_experiment(experiment).on_flower()


@dataclass(frozen=True)
class _Log:
    """Tells a run's progress on the output that Flower keeps as the run's log."""

    def note(self, text: str) -> None:
        sys.stdout.write(f"{SAID}{text}\n")
        sys.stdout.flush()

    def progress(self, progress: Progress) -> None:
        self.note(f"{progress.unit} {progress.round}/{progress.rounds}  {progress.words}")


server = make_server_app(serve)
client = make_client_app(open_site)
