"""What a Flower app is told: the experiment as one text, and how its nodes take part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino._check import at_least, positive
from sordino.config import build, option

__all__ = ["FlowerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowerSettings:
    """The run config of a Flower app, which holds scalars only."""

    experiment: str = option("The resolved experiment, a TOML text.")
    out: str = option("Run folder, on the machine where the ServerApp runs.", "runs/flower")
    resume: bool = option("Continue the interrupted run in out.", default=False)
    own_recordings: bool = option(
        "Each node has a manifest of its own; otherwise the experiment's data is dealt to them.", default=False
    )
    draw_at_nodes: bool = option(
        "Nodes with recordings of their own draw each of their speakers themselves.", default=False
    )
    nodes: int = option("Nodes to wait for before the first round.", 1)
    wait_s: float = option("Seconds to wait for them.", 300.0)
    timeout_s: float = option("Seconds that a round waits for answers.", 600.0)

    def __post_init__(self) -> None:
        at_least("nodes", self.nodes, 1)
        positive("wait_s", self.wait_s)
        positive("timeout_s", self.timeout_s)

    @classmethod
    def of(cls, run_config: Mapping[str, Any]) -> FlowerSettings:
        """Reads a run config; raises ConfigError with the key of whatever is wrong."""
        return build(cls, run_config)
