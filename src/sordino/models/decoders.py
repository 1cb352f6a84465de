"""The text decoder: any Llama-type causal language model, and its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import torch
from torch import nn
from transformers import PreTrainedModel

from sordino.errors import ConfigError
from sordino.models.architectures import config_source
from sordino.models.checkpoints import read_config, reading, require_complete

__all__ = ["IGNORED", "Tokens", "empty_decoder", "load_decoder"]

IGNORED: Final = -100
"""Label of a position that the loss passes over."""

_WHAT: Final = "model.decoder"
_CACHED_TEXTS: Final = 1 << 16


def empty_decoder(source: str) -> PreTrainedModel:
    """The decoder without weights, on the meta device; reads the config only. Raises what `load_decoder` raises."""
    from transformers import AutoModelForCausalLM

    config = read_config(_WHAT, config_source(source))
    with torch.device("meta"):
        model = reading(_WHAT, source, lambda: AutoModelForCausalLM.from_config(config))
    return _llama_type(source, model)


def load_decoder(source: str, *, dtype: torch.dtype) -> PreTrainedModel:
    """Loads a decoder.

    Raises:
        ConfigError: no such model, not a causal language model, weights missing, or its layers are not at ``model.layers``.
    """
    from transformers import AutoModelForCausalLM

    read_config(_WHAT, source)
    model, info = reading(
        _WHAT, source, lambda: AutoModelForCausalLM.from_pretrained(source, dtype=dtype, output_loading_info=True)
    )
    require_complete(_WHAT, source, info["missing_keys"])
    return _llama_type(source, model)


def _llama_type(source: str, model: Any) -> PreTrainedModel:
    if not isinstance(getattr(getattr(model, "model", None), "layers", None), nn.ModuleList):
        raise ConfigError(
            f"{_WHAT} = {source!r} is a {model.config.model_type!r} model; expected one of Llama's type, whose layers "
            "are at model.layers."
        )
    module: PreTrainedModel = model
    return module


class Tokens:
    """Transcripts as token ids and back, each with exactly one end.

    Padding is told by position, never by its id, so a tokenizer whose padding token is its end token (as many Llamas'
    is) trains like any other.

    Args:
        tokenizer: a transformers tokenizer with an end token.

    Attributes:
        end: id of the end token.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.end: int = tokenizer.eos_token_id
        self.encode = lru_cache(maxsize=_CACHED_TEXTS)(self._encode)

    @classmethod
    def load(cls, source: str) -> Tokens:
        """Loads a decoder's tokenizer; raises ConfigError when there is none or it has no end token."""
        from transformers import AutoTokenizer

        tokenizer = reading(_WHAT, source, lambda: AutoTokenizer.from_pretrained(source))
        if tokenizer.eos_token_id is None:
            raise ConfigError(f"{_WHAT} = {source!r}: its tokenizer has no end token; set eos_token in its folder.")
        return cls(tokenizer)

    def _encode(self, text: str) -> tuple[int, ...]:
        ids = self.tokenizer.encode(text, add_special_tokens=False)
        return tuple(token for token in ids if token != self.end)

    def count(self, text: str) -> int:
        """Labels that a transcript gives: its tokens and the end."""
        return len(self.encode(text)) + 1

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, which hold no end; special tokens are left out."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text.strip()

    def batch(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and labels of some transcripts, padded on the right.

        A clip of n tokens has n inputs and n + 1 labels: position i of the labels follows the first i inputs, and the
        last one is the end.

        Shape:
            inputs: int64 [batch, longest], padding is the end token and attended to by padding alone.
            labels: int64 [batch, longest + 1], padding is `IGNORED`.
        """
        encoded = [self.encode(text) for text in texts]
        longest = max(len(ids) for ids in encoded)
        inputs = [[*ids, *[self.end] * (longest - len(ids))] for ids in encoded]
        labels = [[*ids, self.end, *[IGNORED] * (longest - len(ids))] for ids in encoded]
        return torch.tensor(inputs, dtype=torch.int64).view(len(texts), longest), torch.tensor(labels)
