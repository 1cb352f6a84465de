"""The two halves that ``flwr run`` loads by name: a run on the server, and a site at each node."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from sordino.errors import ConfigError, SordinoError
from sordino.experiments.assembly import clients_of
from sordino.experiments.loading import load_experiment, parse_federated
from sordino.experiments.observer import Progress
from sordino.experiments.remote import OwnRecordings, Remote
from sordino.experiments.sharing import Shared
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.federated import Backend, SpeechLearner
from sordino.flower import (
    DrawnAtNodes,
    FlowerGrid,
    FlowerSettings,
    Grid,
    Nodes,
    Site,
    make_client_app,
    make_server_app,
)
from sordino.flower.launch import SAID
from sordino.layout import ParameterLayout
from sordino.models import load_model
from sordino.privacy import CohortSampler, NoiseSource, Poisson
from sordino.records import RunFolder
from sordino.seeds import Seeds

__all__ = ["client", "open_site", "serve", "server"]


def serve(grid: Grid, settings: FlowerSettings) -> None:
    """Runs the experiment on the nodes of a grid, into the run folder that the settings name.

    Raises:
        SordinoError: what a user can put right, also in the log.
    """
    from sordino.experiments.federated import run_federated  # a node starts a process for every task, without these
    from sordino.reporting import write_report

    observer = _Log()
    try:
        options, out = parse_federated(settings.experiment), Path(settings.out)
        if settings.resume and load_experiment(RunFolder.open(out).config) != options:
            raise ConfigError(f"the experiment differs from that of the run in {out}; resume it with its own.")
        remote = Remote(connect=_Connection(grid, options, settings, observer), own_recordings=settings.own_recordings)
        run_federated(options, out, resume=settings.resume, observer=observer, remote=remote)
        write_report([out], out / "report.html")
    except SordinoError as error:
        observer.note(f"error: {error}")
        raise


@dataclass(frozen=True)
class _Log:
    """Tells a run's progress on the output that Flower keeps as the run's log."""

    def note(self, text: str) -> None:
        sys.stdout.write(f"{SAID}{text}\n")
        sys.stdout.flush()

    def progress(self, progress: Progress) -> None:
        self.note(f"{progress.unit} {progress.round}/{progress.rounds}  {progress.words}")


@dataclass(frozen=True)
class _Connection:
    """Finds the nodes, and decides who draws the cohorts."""

    grid: Grid
    options: FederatedExperiment
    settings: FlowerSettings
    log: _Log

    def __call__(self, names: Sequence[str], layout: ParameterLayout) -> tuple[Backend, CohortSampler]:
        options, settings = self.options, self.settings
        nodes = Nodes(
            self.grid,
            digest=layout.digest,
            dealt=not settings.own_recordings,
            enough=settings.nodes,
            wait_s=settings.wait_s,
            timeout_s=settings.timeout_s,
            note=self.log.note,
        )
        greetings = [greeting for _, greeting in nodes.here()]
        self._compare(sum(greeting.clients for greeting in greetings))
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
            note=self.log.note,
        )
        return backend, cohort

    def _compare(self, clients: int) -> None:
        population = self.options.privacy.population
        if population is not None and clients > population:
            self.log.note(
                f"the nodes hold {clients} clients, privacy.population declares {population}: the divisor follows the "
                "declared figure, so steps are larger than planned; declare all of them in another run."
            )

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


def open_site(settings: FlowerSettings, node_config: Mapping[str, Any]) -> Site:
    """What a node holds: its own manifest's speakers, or in a simulation its part of the experiment's clients.

    Args:
        settings: the run's.
        node_config: ``manifest`` names a node's recordings; simulations give ``partition-id`` and ``num-partitions``.

    Raises:
        ConfigError: the node has neither, or no client.
    """
    manifest = node_config.get("manifest")
    if settings.own_recordings:
        if not isinstance(manifest, str):
            raise ConfigError(
                "this node has no recordings: expected their manifest in its config; start its SuperNode with "
                "--node-config 'manifest=\"/path/to/train.jsonl\"'."
            )
        return _held(settings.experiment, manifest)
    part, parts = node_config.get("partition-id"), node_config.get("num-partitions")
    if not isinstance(part, int) or not isinstance(parts, int):
        raise ConfigError("this node is no part of a simulation, as the run expects; set own_recordings = true.")
    whole = _held(settings.experiment, None)
    if parts > len(whole.clients):
        raise ConfigError(
            f"{parts} nodes for {len(whole.clients)} clients: expected at most as many; lower the number of nodes."
        )
    return Site(
        learner=whole.learner,
        method=whole.method,
        clients=whole.clients[part::parts],
        noise=whole.noise,
        partition=part,
        partitions=parts,
    )


@lru_cache(maxsize=1)
def _held(experiment: str, manifest: str | None) -> Site:
    """Model and recordings, loaded once a process; every task of the run finds them here."""
    options = parse_federated(experiment)
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    shared, seeds = Shared(), Seeds(options.seed)
    model = load_model(options.model, seed=seeds.at("adapters").integer())
    corpus = options.data.corpus if manifest is None else OwnRecordings(Path(manifest))
    clients = clients_of(options, shared.splits(corpus, model.window_s).train)
    features = shared.features(corpus, model, limit_mb=options.data.memory_mb)
    utterances = {held.id: held.utterances for held in clients}
    return Site(
        learner=SpeechLearner(model, features, utterances, options.federated.local),
        method=options.federated.method,
        clients=tuple(utterances),
        noise=NoiseSource(seeds.at("privacy") if options.simulation.seeded else None),
    )


server = make_server_app(serve)
client = make_client_app(open_site)
