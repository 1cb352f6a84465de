"""The audio encoder: that of any Whisper-type model, for a window of the user's choice."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final

import torch
from torch import nn
from transformers import PreTrainedModel

from sordino.errors import ConfigError
from sordino.models.architectures import config_source
from sordino.models.checkpoints import read_config, reading, require_complete

__all__ = ["POSITIONS_PER_S", "cut_positions", "empty_encoder", "load_encoder", "positions"]

POSITIONS_PER_S: Final = 50
"""Whisper's encoder gives one output vector for every 20 ms."""

_WHAT: Final = "model.encoder"


def positions(window_s: float | None, *, stack: int, available: int) -> int:
    """Number of encoder outputs for a window.

    Args:
        window_s: seconds, or None for all that the model has positions for.
        stack: frames that the connector joins; the count must be a multiple of it.
        available: rows of the model's position table.

    Raises:
        ConfigError: window longer than the table, not a whole number of 20 ms steps, or not a multiple of the stacking.
    """
    count = available if window_s is None else round(window_s * POSITIONS_PER_S)
    seconds = available / POSITIONS_PER_S if window_s is None else window_s
    if abs(count - seconds * POSITIONS_PER_S) > 1e-6 or count % stack or count < 1:
        step = stack / POSITIONS_PER_S
        near = max(step, round(seconds / step) * step)
        raise ConfigError(
            f"model.window_s = {seconds:g}: expected a multiple of {step:g} s (the connector joins {stack} frames of "
            f"20 ms); set model.window_s to {near:g}."
        )
    if count > available:
        raise ConfigError(
            f"model.window_s = {seconds:g}: the encoder has positions for {available / POSITIONS_PER_S:g} s only; "
            "lower model.window_s to at most that."
        )
    return count


def _whisper_config(source: str, what: str = _WHAT) -> Any:
    config = read_config(what, source)
    if config.model_type != "whisper":
        raise ConfigError(
            f"{what} = {source!r} is a {config.model_type!r} model; expected a Whisper-type one, "
            "such as openai/whisper-large-v3-turbo."
        )
    return config


def _windowed(config: Any, count: int) -> Any:
    config = deepcopy(config)
    config.max_source_positions = count
    return config


def empty_encoder(source: str, *, window_s: float | None, stack: int) -> PreTrainedModel:
    """The encoder without weights, on the meta device; reads the config only. Raises what `load_encoder` raises."""
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = _whisper_config(config_source(source))
    count = positions(window_s, stack=stack, available=config.max_source_positions)
    with torch.device("meta"):
        encoder: PreTrainedModel = WhisperEncoder(_windowed(config, count))
    return encoder


def load_encoder(
    source: str, *, window_s: float | None, stack: int, dtype: torch.dtype, what: str = _WHAT
) -> PreTrainedModel:
    """Loads an encoder and cuts its position table to the window.

    Whisper refuses any input length but that of its table, so a shorter window needs a shorter table. A full
    checkpoint is read as a whole model, since its names do not match those of an encoder alone.

    Args:
        source: hub id or folder of a Whisper model, or of an encoder alone.
        window_s: seconds of audio, or None for the model's full window.
        stack: frames that the connector joins.
        dtype: number format of the weights.
        what: the option that named the model, for messages.

    Raises:
        ConfigError: no such model, not of Whisper's type, weights missing, or a window that does not fit.
    """
    from transformers import WhisperModel
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = _whisper_config(source, what)
    count = positions(window_s, stack=stack, available=config.max_source_positions)
    alone = "WhisperEncoder" in (config.architectures or ())
    kind = WhisperEncoder if alone else WhisperModel
    model, info = reading(
        what, source, lambda: kind.from_pretrained(source, config=config, dtype=dtype, output_loading_info=True)
    )
    require_complete(what, source, (name for name in info["missing_keys"] if alone or name.startswith("encoder.")))
    encoder: PreTrainedModel = model if alone else model.encoder
    return cut_positions(encoder, count)


def cut_positions(encoder: Any, count: int) -> PreTrainedModel:
    """The encoder with its position table, and so its window, cut to ``count`` rows, in place."""
    table = encoder.embed_positions
    if table.num_embeddings != count:
        shorter = nn.Embedding(count, table.embedding_dim, device="meta")
        shorter.weight = nn.Parameter(table.weight.detach()[:count].clone(), requires_grad=False)
        encoder.embed_positions = shorter
        encoder.config = _windowed(encoder.config, count)
        encoder.max_source_positions = count
    module: PreTrainedModel = encoder
    return module
