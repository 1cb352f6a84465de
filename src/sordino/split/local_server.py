"""The large model in this process: a `StateServer` around transformers' own classes."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import torch
from torch import nn

from sordino.split.growing import LocalGrowth
from sordino.split.hidden_states import ModelCard, public_projection, require_batch
from sordino.split.stacks import read_stack

if TYPE_CHECKING:
    from transformers import Cache

__all__ = ["LocalStates"]

_WHAT: Final = "split.model"
_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16}
_NO_MATTER: Final = {"_name_or_path", "architectures", "dtype", "transformers_version"}
"""Keys of a config that change from file to file and nothing that is computed."""


class LocalStates:
    """The blocks of a Llama- or Qwen-type decoder, of a T5's encoder or of a Whisper's, frozen.

    Args:
        stack: the module that takes ``inputs_embeds`` and ``attention_mask``; evaluation mode, no gradients.
        blocks: its blocks, in order.
        card: what is told of it.

    Attributes:
        stack: as given.

    States are read at the outputs of the blocks themselves, before any final norm, so that H_i means the same for every i.
    """

    def __init__(self, stack: nn.Module, blocks: Sequence[nn.Module], *, card: ModelCard) -> None:
        self.stack, self._blocks, self._card = stack, list(blocks), card
        # One a call: hooks are shared by all threads that ask at the same time.
        self._pass: ContextVar[_Pass | None] = ContextVar("pass", default=None)
        for layer, block in enumerate(blocks, start=1):
            block.register_forward_hook(self._hook(layer))
        self._projection = lru_cache(maxsize=None)(
            lambda layer, reduction: public_projection(card, layer, reduction=reduction).to(self.device)
        )

    @classmethod
    def load(
        cls,
        source: str,
        *,
        dtype: Literal["float32", "bfloat16"] = "float32",
        device: str = "cpu",
        projection_seed: int = 0,
        client_layers: int = 0,
    ) -> LocalStates:
        """Loads a model.

        Args:
            source: folder or hub id of a causal language model of Llama's type, a T5 or a Whisper; "pocket" for the shipped
                Whisper encoder.
            dtype: number format to compute in.
            device: where to compute.
            projection_seed: public seed of the projections.
            client_layers: layers of a Whisper that clients keep besides its convolutions.

        Raises:
            ConfigError: no such model, another type of model, or weights missing.
        """
        stack = read_stack(_WHAT, source, dtype=_DTYPES[dtype], client_layers=client_layers)
        card = ModelCard(
            model=Path(source).name if Path(source).is_dir() else source,
            family=stack.family,
            width=stack.width,
            num_blocks=len(stack.blocks),
            dtype=dtype,
            vocabulary=stack.vocabulary,
            max_tokens=stack.max_tokens,
            client_layers=client_layers,
            projection_seed=projection_seed,
            digest=_digest(stack.module, stack.config),
        )
        return cls(stack.module.eval().requires_grad_(requires_grad=False).to(device), stack.blocks, card=card)

    def copy(self) -> LocalStates:
        """The same model with weights of its own, for whoever means to change them."""
        stack, blocks = copy.deepcopy((self.stack, self._blocks))  # together, so that the blocks are those of the stack
        return LocalStates(stack, blocks, card=self._card)

    @property
    def device(self) -> torch.device:
        return next(self.stack.parameters()).device

    def describe(self) -> ModelCard:
        """The model's card."""
        return self._card

    @torch.no_grad()
    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """See `StateServer.states`."""
        return self.differentiable_states(noised, mask, layers=layers, reduction=reduction)

    def open(self, *, layers: Sequence[int], reduction: int | None = None) -> LocalGrowth:
        """See `GrowingServer.open`."""
        return LocalGrowth(self, layers=layers, reduction=reduction)

    def differentiable_states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """The same with a graph back to ``noised``, for the layer filter; only the model's owner can do this."""
        return self._whole(noised, mask, layers=layers, reduction=reduction)

    @torch.no_grad()
    def next_states(
        self, noised: torch.Tensor, cache: Cache, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """States of tokens that follow those in ``cache``, which grows by them; see `sordino.split.growing`.

        Shape:
            noised: float32 [batch, new tokens, d], without padding
            result: float32 [batch, len(layers), new tokens, d or d/r]
        """
        return self._read(noised, layers=layers, reduction=reduction, inputs={"cache": cache, "use_cache": True})

    def _whole(
        self,
        noised: torch.Tensor,
        mask: torch.Tensor,
        *,
        layers: Sequence[int],
        reduction: int | None = None,
        replaced: Mapping[int, torch.Tensor] = MappingProxyType({}),
    ) -> torch.Tensor:
        """States of whole sequences, where the outputs of some blocks may be given."""
        require_batch(self._card, noised, mask)
        inputs = {"attention_mask": mask.to(self.device).long(), "use_cache": False}
        states = self._read(noised, layers=layers, reduction=reduction, inputs=inputs, replaced=replaced)
        return states.masked_fill(~mask[:, None, :, None], 0.0)

    def _read(
        self,
        noised: torch.Tensor,
        *,
        layers: Sequence[int],
        reduction: int | None,
        inputs: Mapping[str, Any],
        replaced: Mapping[int, torch.Tensor] = MappingProxyType({}),
    ) -> torch.Tensor:
        self._card.require_layers(layers, reduction=reduction)
        with self._passing(_Pass(replaced)) as through:
            self.stack(inputs_embeds=noised.to(next(self.stack.parameters())), **inputs)
        chosen = [through.kept[layer].float() for layer in layers]
        if reduction is not None:
            chosen = [
                states @ self._projection(layer, reduction).T for layer, states in zip(layers, chosen, strict=True)
            ]
        return torch.stack(chosen, dim=1).to(noised.device)  # [batch, layers, tokens, d or d/r]

    def last_state_after(
        self, layer: int, output: torch.Tensor, embeddings: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """H_L if block ``layer`` gave ``output``, with a graph back to it; for integrated gradients.

        Shape:
            output, embeddings, result: float32 [batch, tokens, d]
            mask: bool [batch, tokens]
        """
        last = [self._card.num_blocks]
        return self._whole(embeddings, mask, layers=last, replaced={layer: output})[:, 0]

    def _hook(self, layer: int) -> Callable[[nn.Module, Any, Any], Any]:
        def hook(_: nn.Module, __: Any, output: Any) -> Any:
            through = self._pass.get()
            return output if through is None else through.after(layer, output)

        return hook

    @contextmanager
    def _passing(self, through: _Pass) -> Iterator[_Pass]:
        token = self._pass.set(through)
        try:
            yield through
        finally:
            self._pass.reset(token)


@dataclass(frozen=True, slots=True)
class _Pass:
    """One pass through the blocks.

    Attributes:
        replaced: what is taken for the outputs of some blocks.
        kept: outputs of the blocks that were passed.
    """

    replaced: Mapping[int, torch.Tensor]
    kept: dict[int, torch.Tensor] = field(default_factory=dict)

    def after(self, layer: int, output: Any) -> Any:
        """What the next block gets."""
        first, *rest = output if isinstance(output, tuple) else (output,)  # a T5 block gives its biases besides
        self.kept[layer] = self.replaced.get(layer, first)
        return (self.kept[layer], *rest) if isinstance(output, tuple) else self.kept[layer]


def _digest(module: nn.Module, config: Any) -> str:
    """SHA-256 of the config, which decides what is computed with the weights, and of their names, shapes and values."""
    kept = {key: value for key, value in config.to_dict().items() if key not in _NO_MATTER}
    total = hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode())
    for name, tensor in sorted(module.state_dict().items()):
        total.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        total.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return total.hexdigest()
