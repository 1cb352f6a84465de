"""Voxtral: a pretrained speech-LLM, taken apart into the encoder, connector and decoder of the other ones.

    frames = audio_tower(features);  four of them joined;  W_2 gelu(W_1 x);  Llama

The parts are those of transformers' ``VoxtralForConditionalGeneration`` and keep its names inside each part:

| of the checkpoint | here |
|---|---|
| ``model.audio_tower`` | ``encoder`` |
| ``model.multi_modal_projector`` | ``connector.projection`` |
| ``model.language_model``, ``lm_head`` | ``decoder.model``, ``decoder.lm_head`` |

Source: Voxtral (arXiv 2507.13264).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import torch
from transformers import PreTrainedModel

from sordino.errors import ConfigError
from sordino.models.architectures import config_source
from sordino.models.checkpoints import read_config, reading, require_complete
from sordino.models.encoders import cut_positions, positions
from sordino.models.frame_stack import FrameStack

__all__ = ["empty_voxtral", "load_voxtral", "require_voxtral"]

_WHAT: Final = "model.base"


def require_voxtral(source: str) -> None:
    """Raises ConfigError unless ``source`` is a Voxtral; reads its config only."""
    if not Path(source).is_dir() or (Path(source) / "config.json").is_file():
        kind = read_config(_WHAT, config_source(source)).model_type
        if kind == "voxtral":
            return
        raise ConfigError(
            f"{_WHAT} = {source!r} is a {kind!r} model; expected a ready speech-LLM (voxtral), or name it as "
            "model.encoder or model.decoder."
        )
    raise ConfigError(
        f"{_WHAT} = {source!r}: expected a folder with speech_llm.json, found none; "
        'name "pocket", a folder made by sordino.models.save_base, or a Voxtral model.'
    )


def load_voxtral(
    source: str, *, window_s: float | None, dtype: torch.dtype
) -> tuple[PreTrainedModel, FrameStack, PreTrainedModel]:
    """Encoder, connector and decoder with their pretrained weights; the connector is float32 whatever ``dtype``.

    Args:
        source: hub id or folder.
        window_s: seconds of audio, or None for the model's 30 s.
        dtype: number format of encoder and decoder.

    Raises:
        ConfigError: no such model, weights missing, or a window that does not fit.
    """
    from transformers import VoxtralForConditionalGeneration

    config = read_config(_WHAT, source)
    count = _positions(config, window_s)
    model, info = reading(
        _WHAT,
        source,
        lambda: VoxtralForConditionalGeneration.from_pretrained(source, dtype=dtype, output_loading_info=True),
    )
    require_complete(_WHAT, source, info["missing_keys"])
    return _apart(model, count)


def empty_voxtral(source: str, *, window_s: float | None) -> tuple[PreTrainedModel, FrameStack, PreTrainedModel]:
    """The parts without weights, on the meta device; raises what `load_voxtral` raises."""
    from transformers import VoxtralForConditionalGeneration

    config = read_config(_WHAT, config_source(source))
    count = _positions(config, window_s)
    with torch.device("meta"):
        return _apart(VoxtralForConditionalGeneration(config), count)


def _stack(config: Any) -> int:
    """How many frames the projector takes at once: its input is as wide as the encoder's inner layer."""
    audio = config.audio_config
    return int(audio.intermediate_size // audio.hidden_size)


def _positions(config: Any, window_s: float | None) -> int:
    return positions(window_s, stack=_stack(config), available=config.audio_config.max_source_positions)


def _apart(model: Any, count: int) -> tuple[PreTrainedModel, FrameStack, PreTrainedModel]:
    from transformers import LlamaForCausalLM

    with torch.device("meta"):
        decoder: Any = LlamaForCausalLM(model.config.text_config)
    decoder.model, decoder.lm_head = model.model.language_model, model.lm_head
    connector = FrameStack(model.model.multi_modal_projector.float(), stack=_stack(model.config))
    return cut_positions(model.model.audio_tower, count), connector, decoder.eval()
