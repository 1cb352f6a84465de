"""The folder that a network is kept in: ``network.json`` says what its branches are, ``network.safetensors`` holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load_file, save

from sordino.config import build, dump
from sordino.errors import ConfigError
from sordino.models.emotion.branch import Branch
from sordino.models.emotion.network import EmotionNetwork
from sordino.models.emotion.options import BranchOptions
from sordino.records import replace_file

__all__ = ["WEIGHTS", "load_network", "save_network"]

WEIGHTS: Final = "network.safetensors"
_DESCRIPTION: Final = "network.json"


def save_network(network: EmotionNetwork, folder: Path, *, classes: tuple[str, ...]) -> None:
    """Writes both files.

    Args:
        network: any.
        folder: made if absent.
        classes: names of its scores; none where a number is predicted.
    """
    branches = {
        name: {"width": len(network.branch(name).centre), "options": dump(network.branch(name).options)}
        for name in network.modalities
    }
    described = {"classes": list(classes), "num_outputs": network.num_outputs, "branches": branches}
    state = {name: tensor.detach().contiguous() for name, tensor in network.state_dict().items()}
    replace_file(folder / WEIGHTS, save(state))
    replace_file(folder / _DESCRIPTION, (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode())


def load_network(folder: Path) -> tuple[EmotionNetwork, tuple[str, ...]]:
    """The network and the names of its classes.

    Raises:
        ConfigError: a file is missing, damaged, or does not fit the other.
    """
    try:
        described: Mapping[str, Any] = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        network = EmotionNetwork(int(described["num_outputs"]))
        for name, table in described["branches"].items():
            options = build(BranchOptions, table["options"], at=f"branches.{name}.options")
            network = network.extended(name, Branch(int(table["width"]), network.num_outputs, options=options, seed=0))
        network.load_state_dict(load_file(folder / WEIGHTS))
        return network.eval(), tuple(described["classes"])
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConfigError(f"{folder} holds no emotion network ({reason}); restore it from a copy.") from None
