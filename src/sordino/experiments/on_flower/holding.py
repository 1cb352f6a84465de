"""Which recordings a node holds: those of a manifest of its own, or in a simulation a part of the experiment's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError
from sordino.experiments.on_flower.remote import OwnRecordings
from sordino.flower import FlowerSettings

__all__ = ["Holding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What a node's config says.

    Attributes:
        own: its own recordings; None in a simulation.
        partition: in a simulation, the part of the experiment's clients that it stands for; -1 elsewhere.
        partitions: in a simulation, the number of parts; 0 elsewhere.
    """

    own: OwnRecordings | None = None
    partition: int = -1
    partitions: int = 0

    @classmethod
    def of(cls, settings: FlowerSettings, node_config: Mapping[str, Any]) -> Holding:
        """Reads a node's config.

        Args:
            settings: the run's.
            node_config: ``manifest`` names a node's recordings, and ``test`` further ones that nobody trains on; simulations
                give ``partition-id`` and ``num-partitions``.

        Raises:
            ConfigError: it is not of the kind that the run expects.
        """
        if settings.own_recordings:
            manifest, test = node_config.get("manifest"), node_config.get("test")
            if not isinstance(manifest, str):
                raise ConfigError(
                    "this node has no recordings: expected their manifest in its config; start its SuperNode with "
                    "--node-config 'manifest=\"/path/to/train.jsonl\"'."
                )
            return cls(own=OwnRecordings(Path(manifest), Path(test) if isinstance(test, str) else None))
        part, parts = node_config.get("partition-id"), node_config.get("num-partitions")
        if not isinstance(part, int) or not isinstance(parts, int):
            raise ConfigError("this node is no part of a simulation, as the run expects; set own_recordings = true.")
        return cls(partition=part, partitions=parts)

    def clients(self, of_corpus: Sequence[str]) -> tuple[str, ...]:
        """Those of the corpus's clients that the node stands for.

        Raises:
            ConfigError: there are more nodes than clients.
        """
        if self.own is not None:
            return tuple(of_corpus)
        if self.partitions > len(of_corpus):
            raise ConfigError(
                f"{self.partitions} nodes for {len(of_corpus)} clients: expected at most as many; lower the number of nodes."
            )
        return tuple(of_corpus[self.partition :: self.partitions])
