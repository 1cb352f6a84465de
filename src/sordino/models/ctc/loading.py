"""From options to a recogniser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from sordino._check import at_most
from sordino.errors import ConfigError
from sordino.models import pocket
from sordino.models.checkpoints import read_config
from sordino.models.ctc.options import CtcOptions
from sordino.models.ctc.parts import Parts
from sordino.models.ctc.recogniser import Recogniser
from sordino.models.ctc.units import Units
from sordino.models.ctc.waveform import KINDS, load_waveform
from sordino.models.ctc.whisper import ENCODER, load_whisper
from sordino.models.devices import available_device

__all__ = ["load_recogniser"]


def load_recogniser(options: CtcOptions, *, seed: int = 0) -> Recogniser:
    """Loads the base, cuts it to the layers asked for and gives it an output layer if it has none that fits.

    Args:
        options: the ``[model]`` table.
        seed: of a new output layer. All clients must start from the same one.

    Raises:
        ConfigError: a model that is not there or of another kind, fewer layers than asked for, or a window that does not
            fit.
    """
    device = available_device(options.device)
    parts = _parts(options)
    if options.layers is not None:
        at_most("model.layers", options.layers, len(parts.layers))
        parts = replace(parts, layers=parts.layers[: options.layers])
    units = _units(options, parts)
    head = parts.head if units == parts.units else None
    if head is None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            head = nn.Linear(parts.front.width, len(units.symbols))
    recogniser = Recogniser(parts, head=head, units=units, split=options.split)
    return recogniser if device.type == "cpu" else recogniser.to(device)


def _parts(options: CtcOptions) -> Parts:
    source = str(pocket.FOLDER / ENCODER) if options.base == "pocket" else options.base
    folder = Path(source)
    config = read_config("model.base", str(folder / ENCODER) if (folder / ENCODER).is_dir() else source)
    if config.model_type == "whisper":
        return load_whisper(source, window_s=options.window_s)
    if config.model_type in KINDS:
        return load_waveform(source, config)
    raise ConfigError(
        f"model.base = {options.base!r} is a {config.model_type!r} model; expected one of whisper, {', '.join(KINDS)}, such "
        "as facebook/hubert-large-ls960-ft."
    )


def _units(options: CtcOptions, parts: Parts) -> Units:
    if options.units is None and parts.units is not None:
        return parts.units
    if options.units == "words":
        return Units.of_words(options.vocabulary)
    return Units.of_characters(options.alphabet)
