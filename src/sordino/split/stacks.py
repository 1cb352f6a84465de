"""From a model's folder or hub id to the blocks that its owner runs for clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import torch
from torch import nn

from sordino._check import at_least
from sordino.errors import ConfigError
from sordino.models import pocket
from sordino.models.attention import padding_bias
from sordino.models.checkpoints import read_config, reading, require_complete
from sordino.models.encoders import load_encoder

__all__ = ["NO_LIMIT", "Stack", "WhisperBlocks", "read_stack", "speech_source"]

NO_LIMIT: Final = 1 << 20
"""Tokens of a sequence where the model names no limit: T5's places are relative, and Whisper's are added by the client."""

_POCKET: Final = "pocket"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A model as a server runs it.

    Attributes:
        module: takes ``inputs_embeds`` and ``attention_mask``.
        blocks: its blocks, in order.
        config: of transformers.
        family: see `sordino.split.hidden_states.ModelCard`.
        width: d.
        vocabulary: rows of its embedding table; 0 without one.
        max_tokens: the longest sequence.
    """

    module: nn.Module
    blocks: Sequence[nn.Module]
    config: Any
    family: Literal["decoder", "encoder"]
    width: int
    vocabulary: int
    max_tokens: int


class WhisperBlocks(nn.Module):
    """The transformer layers of a Whisper's encoder that a client does not have, for recordings of any length.

    Convolutions, places in time and the first layers are the client's: what comes in is what the next layer would have got.

    Args:
        encoder: of transformers.
        client_layers: how many layers the client has.
    """

    def __init__(self, encoder: Any, *, client_layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(list(encoder.layers)[client_layers:])

    def forward(self, inputs_embeds: torch.Tensor, attention_mask: torch.Tensor, **_: Any) -> torch.Tensor:
        """Output of the last block.

        Shape:
            inputs_embeds, result: [batch, frames, d]
            attention_mask: int64 [batch, frames], 0 for padding
        """
        bias = padding_bias(attention_mask.bool())
        states = inputs_embeds
        for layer in self.layers:
            states = layer(states, attention_mask=None if bias is None else bias.to(states.dtype))
        return states


def speech_source(source: str) -> str:
    """Where a Whisper encoder is: a folder or hub id as it is, and for "pocket" the one that is shipped."""
    return str(pocket.FOLDER / "encoder") if source == _POCKET else source


def read_stack(what: str, source: str, *, dtype: torch.dtype, client_layers: int = 0) -> Stack:
    """Loads a model of Llama's or Qwen's type, a T5, or a Whisper.

    Args:
        what: the option that names the model, for messages.
        source: folder or hub id; "pocket" for the shipped Whisper encoder.
        dtype: number format of the weights.
        client_layers: layers of a Whisper that the client keeps, besides its convolutions.

    Raises:
        ConfigError: no such model, another type of model, weights missing, or no layer left for the server.
    """
    source = speech_source(source)
    config = read_config(what, source)
    if config.model_type == "whisper":
        return _whisper(what, source, dtype, client_layers)
    if client_layers:
        raise ConfigError(
            f"client_layers = {client_layers} for {source!r}, a {config.model_type!r} model: expected 0, since only a "
            "Whisper is divided within its layers; leave it out."
        )
    return _t5(what, source, dtype) if "t5" in config.model_type else _decoder(what, source, dtype)


def _decoder(what: str, source: str, dtype: torch.dtype) -> Stack:
    from transformers import AutoModel

    model, info = reading(
        what, source, lambda: AutoModel.from_pretrained(source, dtype=dtype, output_loading_info=True)
    )
    require_complete(what, source, info["missing_keys"])
    blocks = getattr(model, "layers", None)
    if not isinstance(blocks, nn.ModuleList):
        raise ConfigError(
            f"{what} = {source!r} is a {model.config.model_type!r} model; expected a decoder of Llama's or Qwen's type, a "
            "T5, or a Whisper."
        )
    return _of_text(model, list(blocks), "decoder")


def _t5(what: str, source: str, dtype: torch.dtype) -> Stack:
    from transformers import AutoModelForTextEncoding

    model, info = reading(
        what, source, lambda: AutoModelForTextEncoding.from_pretrained(source, dtype=dtype, output_loading_info=True)
    )
    require_complete(what, source, info["missing_keys"])
    return _of_text(model, list(model.encoder.block), "encoder")


def _of_text(model: Any, blocks: Sequence[nn.Module], family: Literal["decoder", "encoder"]) -> Stack:
    table = model.get_input_embeddings()
    return Stack(
        module=model,
        blocks=blocks,
        config=model.config,
        family=family,
        width=int(table.embedding_dim),
        vocabulary=int(table.num_embeddings),
        max_tokens=int(getattr(model.config, "max_position_embeddings", None) or NO_LIMIT),
    )


def _whisper(what: str, source: str, dtype: torch.dtype, client_layers: int) -> Stack:
    encoder: Any = load_encoder(source, window_s=None, stack=1, dtype=dtype, what=what)
    at_least("client_layers", client_layers, 0)
    if client_layers >= len(encoder.layers):
        raise ConfigError(
            f"client_layers = {client_layers}: {source!r} has {len(encoder.layers)} layers; expected at least one for the "
            "server; keep fewer."
        )
    module = WhisperBlocks(encoder, client_layers=client_layers)
    return Stack(
        module=module,
        blocks=list(module.layers),
        config=encoder.config,
        family="encoder",
        width=int(encoder.config.d_model),
        vocabulary=0,
        max_tokens=NO_LIMIT,
    )
