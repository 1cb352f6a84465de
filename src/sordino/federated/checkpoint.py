"""Where a run can be taken up again: the server's state and what the allocation has learned, in one file."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from sordino.errors import ConfigError
from sordino.federated.methods.base import ServerState
from sordino.privacy import AllocationState
from sordino.records import replace_file

__all__ = ["load_checkpoint", "save_checkpoint"]


def save_checkpoint(path: Path, state: ServerState, allocation: AllocationState, *, digest: str) -> None:
    """Replaces the checkpoint in one rename: after a crash the old one or the new one is there, whole.

    Args:
        path: the file.
        state: global adapter and round.
        allocation: statistics of the allocation.
        digest: fingerprint of the layout.
    """
    described = {
        "round": str(state.round),
        "layout": digest,
        "allocation": json.dumps({"rounds": allocation.rounds, "statistics": dict(allocation.statistics)}),
    }
    replace_file(path, save({"values": state.values.contiguous()}, metadata=described), name="checkpoint")


def load_checkpoint(path: Path, *, digest: str) -> tuple[ServerState, AllocationState]:
    """What `save_checkpoint` wrote.

    Raises:
        ConfigError: damaged, or of another model.
    """
    try:
        with safe_open(path, framework="pt") as file:
            described, values = file.metadata(), file.get_tensor("values")
        table = json.loads(described["allocation"])
        state = ServerState(int(described["round"]), values)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        raise ConfigError(
            f"{path} is not a checkpoint ({error}); restore it from a copy, or start another run."
        ) from None
    if described["layout"] != digest:
        raise ConfigError(
            f"{path} belongs to layout {described['layout']}, the model has {digest}; resume with the settings of the run."
        )
    statistics = {name: tuple(numbers) for name, numbers in table["statistics"].items()}
    return state, AllocationState(table["rounds"], statistics)
