"""Where a run can be taken up again: the server's state and what the plan has learned, in one file."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from sordino.errors import ConfigError
from sordino.federated.methods.base import ServerState
from sordino.privacy import AllocationState, Learned
from sordino.records import replace_file

__all__ = ["load_checkpoint", "save_checkpoint"]


def save_checkpoint(path: Path, state: ServerState, learned: Learned, *, digest: str) -> None:
    """Replaces the checkpoint in one rename: after a crash the old one or the new one is there, whole.

    Args:
        path: the file.
        state: global adapter and round.
        learned: what the plan has learned.
        digest: fingerprint of the layout.
    """
    described = {
        "round": str(state.round),
        "layout": digest,
        "plan": json.dumps(
            {
                "rounds": learned.allocation.rounds,
                "statistics": dict(learned.allocation.statistics),
                "clip_norm": learned.clip_norm,
            }
        ),
    }
    replace_file(path, save({"values": state.values.contiguous()}, metadata=described), name="checkpoint")


def load_checkpoint(path: Path, *, digest: str) -> tuple[ServerState, Learned]:
    """What `save_checkpoint` wrote.

    Raises:
        ConfigError: damaged, or of another model.
    """
    try:
        with safe_open(path, framework="pt") as file:
            described, values = file.metadata(), file.get_tensor("values")
        table = json.loads(described["plan"])
        statistics = {name: tuple(numbers) for name, numbers in table["statistics"].items()}
        learned = Learned(AllocationState(table["rounds"], statistics), table["clip_norm"])
        state, belongs = ServerState(int(described["round"]), values), described["layout"]
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} is not a checkpoint ({error}); restore it from a copy, or start another run."
        ) from None
    if belongs != digest:
        raise ConfigError(
            f"{path} belongs to layout {belongs}, the model has {digest}; resume with the settings of the run."
        )
    return state, learned
