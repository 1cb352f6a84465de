"""A comparison of personal recognisers on Flower: the server runs the methods, each node answers for one speaker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError
from sordino.experiments.observer import Observer
from sordino.experiments.on_flower.halves import Halves
from sordino.experiments.on_flower.holding import Holding
from sordino.experiments.on_flower.remote import require_declared
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.flower import FlowerSettings, Grid, Site
from sordino.seeds import Seeds

__all__ = ["PersonalisedHalves"]


@dataclass(frozen=True, eq=False)
class PersonalisedHalves(Halves):
    """See `Halves`.

    Args:
        options: the experiment.
    """

    options: PersonalisedExperiment

    def require(self, settings: FlowerSettings) -> None:
        """One speaker a node, and nothing that a node with recordings of its own could not know."""
        if settings.draw_at_nodes:
            raise ConfigError(
                'task = "personalised" with nodes that draw their speakers: expected one speaker a node, whom the server '
                "draws, since a node answers for one speaker's own model; leave --draw-at-nodes out, and start a SuperNode "
                "for each speaker."
            )
        if not settings.own_recordings:
            return
        require_declared(self.options.privacy)
        if self.options.data.least_fraction != 1:
            raise ConfigError(
                f"data.least_fraction = {self.options.data.least_fraction} with recordings at the nodes: expected 1, since "
                "shares are dealt among speakers who know of each other; set data.least_fraction = 1."
            )

    def count_clients(self) -> int:
        """Those of the experiment's speakers who train."""
        from sordino.experiments.personalised.speakers import speakers_of

        options = self.options
        splits = options.data.corpus.load(options.model.window_s)
        return len(speakers_of(splits, options.data, Seeds(options.seed), window_s=options.model.window_s).known)

    def serve(self, grid: Grid, settings: FlowerSettings, observer: Observer) -> None:
        """The comparison of `run_personalised`, with the nodes for its speakers."""
        from sordino.experiments.personalised.at_nodes import Meeting
        from sordino.experiments.personalised.running import run_personalised

        out, meeting = Path(settings.out), Meeting(grid, settings)
        run_personalised(self.options, out, resume=settings.resume, observer=observer, at=meeting)

    def open_site(self, settings: FlowerSettings, node_config: Mapping[str, Any], topic: str) -> Site:
        """See `sordino.experiments.personalised.site`."""
        from sordino.experiments.personalised.site import site_of

        return site_of(self, Holding.of(settings, node_config), topic)
