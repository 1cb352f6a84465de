"""A federated speech-LLM on Flower.

A node starts a process for every task, and launching is to be quick: each loads only what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError
from sordino.experiments.observer import Observer
from sordino.experiments.on_flower.halves import Halves
from sordino.experiments.on_flower.holding import Holding
from sordino.experiments.on_flower.remote import Remote, note_more_than_declared
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.federated import Backend
from sordino.flower import DrawnAtNodes, FlowerGrid, FlowerSettings, Grid, Nodes, Site
from sordino.layout import ParameterLayout
from sordino.privacy import CohortSampler, Poisson

__all__ = ["FederatedHalves"]


@dataclass(frozen=True, eq=False)
class FederatedHalves(Halves):
    """See `Halves`.

    Args:
        options: the experiment.
    """

    options: FederatedExperiment

    def require(self, settings: FlowerSettings) -> None:
        """Nothing that the server would not find out before the first round."""

    def count_clients(self) -> int:
        """As the experiment's partition deals the training clips."""
        from sordino.experiments.on_flower.federated_site import count_clients

        return count_clients(self.options)

    def serve(self, grid: Grid, settings: FlowerSettings, observer: Observer) -> None:
        """The rounds of `run_federated`, with the nodes for its clients."""
        from sordino.experiments.federated import run_federated

        remote = Remote(
            connect=_Connection(grid, self.options, settings, observer.note), own_recordings=settings.own_recordings
        )
        run_federated(self.options, Path(settings.out), resume=settings.resume, observer=observer, remote=remote)

    def open_site(self, settings: FlowerSettings, node_config: Mapping[str, Any], topic: str) -> Site:  # noqa: ARG002
        """See `sordino.experiments.on_flower.federated_site`."""
        from sordino.experiments.on_flower.federated_site import site_of

        holding = Holding.of(settings, node_config)
        holding.refuse_without_charges()
        return site_of(self, holding)


@dataclass(frozen=True)
class _Connection:
    """Finds the nodes, and decides who draws the cohorts."""

    grid: Grid
    options: FederatedExperiment
    settings: FlowerSettings
    note: Callable[[str], None]

    def __call__(self, names: Sequence[str], layout: ParameterLayout) -> tuple[Backend, CohortSampler]:
        options, settings = self.options, self.settings
        nodes = Nodes.of(self.grid, settings, digest=layout.digest, note=self.note)
        greetings = [greeting for _, greeting in nodes.here()]
        clients = sum(greeting.clients for greeting in greetings)
        note_more_than_declared(options.privacy, clients=clients, note=self.note)
        cohort: CohortSampler = options.federated.cohort
        rate = None
        if settings.draw_at_nodes or greetings[0].partitions not in (0, len(names)):
            poisson = self._drawable()
            cohort, rate = DrawnAtNodes(poisson, len(greetings)), poisson.rate
        backend = FlowerGrid(
            nodes,
            names=names,
            rate=rate,
            measured=options.telemetry == "debug" or options.privacy.allocation.reads_raw_norms,
            dropout_rate=options.federated.dropout_rate,
            timeout_s=settings.timeout_s,
            note=self.note,
        )
        return backend, cohort

    def _drawable(self) -> Poisson:
        """The cohort that nodes can draw themselves, or ConfigError."""
        options = self.options
        if not isinstance(options.federated.cohort, Poisson):
            raise ConfigError(
                f"federated.cohort = {options.federated.cohort.name!r}, but nodes draw their own clients: expected "
                '"poisson", in which each is drawn by itself; set it, or use as many nodes as clients.'
            )
        if options.telemetry == "debug" or options.privacy.allocation.reads_raw_norms:
            raise ConfigError(
                'debug telemetry and ema_source = "raw" read each client\'s norms, but a node with several clients sends '
                'their sum alone; set telemetry = "private", or use as many nodes as clients.'
            )
        return options.federated.cohort
