"""A trained corrector as a folder: its weights, ``split.json`` with what it goes with, and the units that it writes in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from sordino.errors import ConfigError, DataError
from sordino.models.ctc import Units
from sordino.records import replace_file
from sordino.split.corrector import Scorer
from sordino.split.fitting import FittedCorrector
from sordino.split.hidden_states import ModelCard, StateServer
from sordino.split.readout import Labels
from sordino.split.side_network import SideNetwork
from sordino.split.writer import Writer

__all__ = ["Kept", "load_corrector", "save_corrector"]

_WEIGHTS, _SETTINGS = "corrector.safetensors", "split.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A corrector and what it was trained for.

    Attributes:
        fitted: gives scores, from the server it was loaded with.
        labels: names of the classes, in the order of the scores; none where words are written.
        max_tokens: texts were cut to this many tokens.
        units: what words are written in; None where labels are told.
        max_written: tokens that are written of a text at most; 0 where nothing is.
    """

    fitted: FittedCorrector
    labels: tuple[str, ...]
    max_tokens: int
    units: Units | None
    max_written: int


def save_corrector(
    folder: Path,
    fitted: FittedCorrector,
    *,
    labels: Sequence[str],
    max_tokens: int,
    units: Units | None = None,
    max_written: int = 0,
) -> None:
    """Writes a corrector; the file holds what was learned of clean texts, and belongs to the client."""
    from safetensors.torch import save

    network = fitted.learner.network
    settings = {
        "labels": list(labels),
        "max_tokens": max_tokens,
        "max_written": max_written,
        "layers": list(fitted.layers),
        "reduction": fitted.reduction,
        "inner": network.norm.normalized_shape[0],
        "residual": network.residual,
        "card": fitted.server.describe().to_json(),
    }
    weights = {name: tensor.contiguous() for name, tensor in fitted.learner.state_dict().items()}
    replace_file(folder / _WEIGHTS, save(weights))
    if units is not None:
        units.write(folder)
    replace_file(folder / _SETTINGS, (json.dumps(settings, indent=2) + "\n").encode())


def load_corrector(folder: Path, *, server: StateServer, table: torch.Tensor | None = None) -> Kept:
    """Reads a corrector for the model that it was trained with.

    Args:
        folder: where `save_corrector` wrote it.
        server: of that model.
        table: the client's embedding table, float32 [vocabulary, d]; for what writes.

    Raises:
        ConfigError: no corrector there, or the server has another model.
        DataError: the files are damaged.
    """
    from safetensors.torch import load_file

    if not (folder / _SETTINGS).is_file():
        raise ConfigError(f"{folder} holds no corrector; name the model/ folder of a finished split run.")
    try:
        settings = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
        card = ModelCard.from_json(settings["card"])
        layers, reduction, labels = tuple(settings["layers"]), settings["reduction"], tuple(settings["labels"])
        max_written = int(settings.get("max_written", 0))  # runs of earlier versions write nothing
        network = SideNetwork(
            width=card.width,
            inner=settings["inner"],
            given=card.width // (reduction or 1),
            num_layers=len(layers),
            residual=settings["residual"],
            causal=max_written > 0,
        )
        units = Units.read(folder)
        corrector = _learner(network, width=card.width, labels=labels, units=units, table=table)
        corrector.load_state_dict(load_file(folder / _WEIGHTS))
        max_tokens = int(settings["max_tokens"])
    except (ValueError, KeyError, TypeError, RuntimeError, OSError) as error:
        raise DataError(f"{folder} is not as sordino wrote it ({error}); restore it, or train again.") from None
    if server.describe() != card:
        raise ConfigError(
            f"{folder} was trained with {card.model} (card {card.fingerprint}), the server has "
            f"{server.describe().model} (card {server.describe().fingerprint}); find that one, or train again."
        )
    fitted = FittedCorrector(corrector.eval(), layers=layers, reduction=reduction, server=server)
    return Kept(fitted=fitted, labels=labels, max_tokens=max_tokens, units=units, max_written=max_written)


def _learner(
    network: SideNetwork, *, width: int, labels: Sequence[str], units: Units | None, table: torch.Tensor | None
) -> Scorer:
    if network.causal and table is not None:
        return Writer(network, table)
    if units is None:
        return Labels(len(labels)).learner(network, width=width)
    from sordino.split.transcripts import Transcriber

    return Transcriber(network, width=width, units=units)
