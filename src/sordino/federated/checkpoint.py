"""Where a run can be taken up again: the server's state and what the plan has learned, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from sordino.errors import ConfigError
from sordino.federated.methods.base import ServerState
from sordino.privacy import AllocationState, Learned
from sordino.records import replace_file

__all__ = ["load_checkpoint", "save_checkpoint"]

_HELD: Final = ("models", "embeddings", "counts")


def save_checkpoint(path: Path, state: ServerState, learned: Learned, *, digest: str) -> None:
    """Replaces the checkpoint in one rename: after a crash the old one or the new one is there, whole.

    Args:
        path: the file.
        state: the server's.
        learned: what the plan has learned.
        digest: fingerprint of the layout.
    """
    described = {
        "round": str(state.round),
        "layout": digest,
        "plan": json.dumps(_plain(learned)),
        **{held: json.dumps(list(getattr(state, held))) for held in _HELD},
    }
    tensors = {"values": state.values.contiguous()}
    for held in _HELD:
        # clones: several clients may hold the very same tensor, which safetensors refuses
        tensors |= {f"{held}.{i}": each.clone() for i, each in enumerate(getattr(state, held).values())}
    replace_file(path, save(tensors, metadata=described), name="checkpoint")


def _plain(learned: Learned) -> dict[str, Any]:
    return {
        "rounds": learned.allocation.rounds,
        "statistics": dict(learned.allocation.statistics),
        "clip_norm": learned.clip_norm,
        "phases": [_plain(phase) for phase in learned.phases],
    }


def _learned(table: Mapping[str, Any]) -> Learned:
    statistics = {name: tuple(numbers) for name, numbers in table["statistics"].items()}
    phases = tuple(_learned(phase) for phase in table.get("phases", ()))  # a checkpoint of before phases has none
    return Learned(AllocationState(table["rounds"], statistics), table["clip_norm"], phases)


def load_checkpoint(path: Path, *, digest: str) -> tuple[ServerState, Learned]:
    """What `save_checkpoint` wrote.

    Raises:
        ConfigError: damaged, or of another model.
    """
    try:
        with safe_open(path, framework="pt") as file:
            described, values = file.metadata(), file.get_tensor("values")
            held = {
                name: {
                    client: file.get_tensor(f"{name}.{i}")
                    for i, client in enumerate(json.loads(described.get(name, "[]")))
                }
                for name in _HELD
            }
        learned = _learned(json.loads(described["plan"]))
        state, belongs = ServerState(int(described["round"]), values, **held), described["layout"]
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} is not a checkpoint ({error}); restore it from a copy, or start another run."
        ) from None
    if belongs != digest:
        raise ConfigError(
            f"{path} belongs to layout {belongs}, the model has {digest}; resume with the settings of the run."
        )
    return state, learned
