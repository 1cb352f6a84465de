"""What Flower runs of an experiment: the server's half, and a site's half at every node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from sordino.experiments.observer import Observer
from sordino.flower import FlowerSettings, Grid, Site

__all__ = ["Halves"]


class Halves(ABC):
    """Both halves of one experiment. A task that runs on Flower has one, see `Experiment.on_flower`."""

    @abstractmethod
    def require(self, settings: FlowerSettings) -> None:
        """Raises ConfigError if the experiment cannot be run as the settings ask, before anything is started."""

    @abstractmethod
    def count_clients(self) -> int:
        """How many clients the experiment's own data makes, for a simulation with a node for each."""

    @abstractmethod
    def serve(self, grid: Grid, settings: FlowerSettings, observer: Observer) -> None:
        """Runs the experiment on the nodes of a grid, into the run folder that the settings name.

        Raises:
            SordinoError: what a user can put right.
        """

    @abstractmethod
    def open_site(self, settings: FlowerSettings, node_config: Mapping[str, Any], topic: str) -> Site:
        """What a node holds, see `sordino.flower.OpensSites`.

        Raises:
            ConfigError: it holds nothing, or nothing that the run expects.
        """
