"""Which recordings a node holds: those of a manifest of its own, or in a simulation a part of the experiment's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sordino.errors import ConfigError
from sordino.experiments.on_flower.remote import OwnRecordings
from sordino.flower import FlowerSettings
from sordino.privacy.own_ledger import Limit
from sordino.records import folder_name

__all__ = ["Holding"]

_LONGEST: Final = 50
"""Letters of a client's name that go into the name of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What a node's config says.

    Attributes:
        own: its own recordings; None in a simulation.
        partition: in a simulation, the part of the experiment's clients that it stands for; -1 elsewhere.
        partitions: in a simulation, the number of parts; 0 elsewhere.
        ledger: where every step on its own recordings is charged; None if it names no file, and in a simulation.
        limit: the most that its operator lets go of them; None: no limit.
        rehearsed: in a simulation, the folder of what would be the nodes' own ledgers.
    """

    own: OwnRecordings | None = None
    partition: int = -1
    partitions: int = 0
    ledger: Path | None = None
    limit: Limit | None = None
    rehearsed: Path = Path()

    @classmethod
    def of(cls, settings: FlowerSettings, node_config: Mapping[str, Any]) -> Holding:
        """Reads a node's config.

        Args:
            settings: the run's.
            node_config: ``manifest`` names a node's recordings, ``test`` further ones that nobody trains on, ``ledger`` the
                file in which every step is charged, ``epsilon`` and ``delta`` the most that it may come to; simulations give
                ``partition-id`` and ``num-partitions``.

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
            own = OwnRecordings(Path(manifest), Path(test) if isinstance(test, str) else None)
            return cls(own=own, ledger=_ledger(node_config), limit=_limit(node_config))
        part, parts = node_config.get("partition-id"), node_config.get("num-partitions")
        if not isinstance(part, int) or not isinstance(parts, int):
            raise ConfigError("this node is no part of a simulation, as the run expects; set own_recordings = true.")
        return cls(partition=part, partitions=parts, rehearsed=Path(settings.out) / "nodes")

    def ledger_of(self, client: str) -> Path:
        """Where the node charges every step of its one client, for a run that takes noised ones.

        Raises:
            ConfigError: recordings of its own, and its config names no file.
        """
        if self.own is None:  # the part, since two names may be alike in letters and digits
            return self.rehearsed / f"{self.partition}-{folder_name(client)[:_LONGEST]}.jsonl"
        if self.ledger is None:
            raise ConfigError(
                "this node keeps no ledger: expected a file in its config, to which it charges each step that it takes with "
                'recording_privacy; start its SuperNode with ledger="/path/to/node.jsonl" in --node-config.'
            )
        return self.ledger

    def refuse_without_charges(self) -> None:
        """Raises ConfigError if a node wants every step charged, and the run is one whose steps nobody charges."""
        if self.ledger is not None:
            raise ConfigError(
                "this node charges each step to a ledger of its own, and the run's steps have no noise: expected a run with "
                "recording_privacy; leave the node out, or start its SuperNode without ledger in --node-config."
            )

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


def _ledger(node_config: Mapping[str, Any]) -> Path | None:
    ledger = node_config.get("ledger")
    if ledger is None:
        return None
    if not isinstance(ledger, str):
        raise ConfigError(
            f"ledger = {ledger!r} in this node's config: expected the path of a file; write it in quotes in its SuperNode's "
            "--node-config."
        )
    return Path(ledger).expanduser()


def _limit(node_config: Mapping[str, Any]) -> Limit | None:
    """Epsilon and delta, which say something together only, and about a ledger."""
    said = {key: node_config[key] for key in ("epsilon", "delta") if key in node_config}
    if not said:
        return None
    if len(said) < 2 or "ledger" not in node_config:
        raise ConfigError(
            f"this node's config has {' and '.join(said)}: expected ledger, epsilon and delta together, since a limit is an "
            "epsilon at a delta, of what a ledger holds; add what is missing to its SuperNode's --node-config."
        )
    return Limit(**said)
