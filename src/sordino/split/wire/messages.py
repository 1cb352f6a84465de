"""What client and server say to each other: safetensors, with the few plain values in the file's metadata.

Each message has a `Form`: the tensors that it must hold, with their dtypes and numbers of dimensions, and the keys beside
them. Whatever has more, less or other is refused on both sides, so nothing travels that is not declared here.

| message | tensors | beside them |
|---|---|---|
| `NOTHING` | | |
| `CARD` | | the model's card, the server's limits |
| `BATCH` | ``noised`` float32 [tokens, d], ``lengths`` int32 [batch] | fingerprint of the card, layers, reduction |
| `STATES` | ``states`` float32 [tokens, layers, d or d/r] | fingerprint of the card |
| `FOLLOWING` | ``noised`` float32 [new tokens, d] | name of what grows, its length so far |
| `GROWN` | ``states`` float32 [new tokens, layers, d or d/r] | fingerprint of the card, name of what grows |
| `GROWTH` | | name of what grows |

Padding does not travel: the sequences of a batch stand one after the other. Text, token ids and clean embeddings have no
place in any of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import safetensors.torch
import torch

from sordino.errors import DataError

__all__ = ["BATCH", "CARD", "FOLLOWING", "GROWN", "GROWTH", "NOTHING", "STATES", "Form", "Message", "decode", "encode"]

_SAID: Final = "sordino"
_HEAD: Final = 8
"""Bytes of a safetensors file that say how long its JSON header is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a kind of message holds.

    Attributes:
        name: for errors.
        tensors: dtype and number of dimensions of each tensor.
        said: type of each value beside them; a tuple where it may be one of several.
    """

    name: str
    tensors: Mapping[str, tuple[torch.dtype, int]] = field(default_factory=dict)
    said: Mapping[str, type | tuple[type, ...]] = field(default_factory=dict)


NOTHING: Final = Form(name="empty message")
CARD: Final = Form(name="card", said={"card": dict, "limits": dict})
BATCH: Final = Form(
    name="batch",
    tensors={"noised": (torch.float32, 2), "lengths": (torch.int32, 1)},
    said={"card": str, "layers": list, "reduction": (int, type(None))},
)
STATES: Final = Form(name="states", tensors={"states": (torch.float32, 3)}, said={"card": str})
FOLLOWING: Final = Form(
    name="following tokens", tensors={"noised": (torch.float32, 2)}, said={"growth": str, "at": int}
)
GROWN: Final = Form(
    name="states of what grows", tensors={"states": (torch.float32, 3)}, said={"card": str, "growth": str}
)
GROWTH: Final = Form(name="name of what grows", said={"growth": str})


@dataclass(frozen=True, slots=True)
class Message:
    """One message, on either side.

    Attributes:
        said: values that JSON can hold.
        tensors: by name.
    """

    said: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)

    @property
    def payload(self) -> int:
        """Bytes of its tensors alone."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())


def encode(message: Message) -> bytes:
    """The message as one safetensors file."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in message.tensors.items()}
    return safetensors.torch.save(tensors, {_SAID: json.dumps(message.said)})


def decode(data: bytes, form: Form) -> Message:
    """What `encode` made.

    Raises:
        DataError: it is no such message, or holds a number that is not finite.
    """
    try:
        tensors = safetensors.torch.load(data)
        length = int.from_bytes(data[:_HEAD], "little")
        said = json.loads(json.loads(data[_HEAD : _HEAD + length])["__metadata__"][_SAID])
    except (safetensors.SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"a {form.name} was expected, and something else came ({type(error).__name__}); let both sides run the same "
            "version of sordino."
        ) from None
    _require_form(tensors, said, form)
    return Message(said, tensors)


def _require_form(tensors: Mapping[str, torch.Tensor], said: Any, form: Form) -> None:
    wrong = _difference(tensors, form)
    if not wrong and (not isinstance(said, dict) or said.keys() != form.said.keys()):
        wrong = f"the keys {sorted(said) if isinstance(said, dict) else said!r:.200}, not {sorted(form.said)}"
    if not wrong:
        wrong = next((f"{key} = {said[key]!r:.200}" for key, kind in form.said.items() if not _is(said[key], kind)), "")
    if not wrong and any(not bool(torch.isfinite(t).all()) for t in tensors.values() if t.is_floating_point()):
        wrong = "numbers that are not finite"
    if wrong:
        raise DataError(f"a {form.name} came with {wrong}; correct what sends it.")


def _difference(tensors: Mapping[str, torch.Tensor], form: Form) -> str:
    if tensors.keys() != form.tensors.keys():
        return f"the tensors {sorted(tensors)!s:.200}, not {sorted(form.tensors)}"
    for name, (dtype, dimensions) in form.tensors.items():
        tensor = tensors[name]
        if tensor.dtype != dtype or tensor.ndim != dimensions:
            return f"{name} of {tensor.dtype} {list(tensor.shape)}, not {dtype} with {dimensions} dimensions"
    return ""


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    """As `isinstance`, except that a truth value is no number."""
    return isinstance(value, kind) and not isinstance(value, bool)
