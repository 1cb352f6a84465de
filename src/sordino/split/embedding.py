"""The client's part of the model: its embedding table and its tokenizer, and nothing else of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch

from sordino.data.texts import Example
from sordino.errors import ConfigError
from sordino.models.checkpoints import reading
from sordino.split.noise import Space
from sordino.split.sequences import Sequences

__all__ = ["ClientEmbedding"]

_WHAT: Final = "model.source"
_TABLES: Final = ("model.embed_tokens.weight", "embed_tokens.weight", "shared.weight", "encoder.embed_tokens.weight")
"""Where Llama's, Qwen's and T5's types keep the table, as whole models and as stacks."""


class ClientEmbedding:
    """Token embeddings, looked up on the client.

    Args:
        table: one row a token.
        tokenizer: of transformers.

    Shape:
        table: float32 [vocabulary, d]
    """

    def __init__(self, table: torch.Tensor, tokenizer: Any) -> None:
        self.table, self.tokenizer = table, tokenizer
        self.radius = float(torch.linalg.vector_norm(table.double(), dim=1).max())

    @classmethod
    def load(cls, source: str) -> ClientEmbedding:
        """Reads the table, and no other weight, from a model's folder or hub id.

        Raises:
            ConfigError: no such model, no tokenizer, or no embedding table in its safetensors.
        """
        from transformers import AutoTokenizer

        tokenizer = reading(_WHAT, source, lambda: AutoTokenizer.from_pretrained(source))
        table = reading(_WHAT, source, lambda: _table(source))
        return cls(table.float(), tokenizer)

    @property
    def width(self) -> int:
        return self.table.shape[1]

    def space(self, max_tokens: int) -> Space:
        """Where embeddings of sequences of at most so many tokens lie."""
        return Space(width=self.width, radius=self.radius, max_tokens=max_tokens)

    def encode(self, examples: Sequence[Example], *, labels: Sequence[str], max_tokens: int) -> Sequences:
        """Token ids of some texts, each cut to ``max_tokens``; the second text of a pair stands on a line of its own.

        Args:
            examples: none may be without a token.
            labels: all labels, in the order of their numbers; empty where there is nothing to classify.
            max_tokens: the longest sequence.

        Raises:
            ConfigError: a label that is not among ``labels``, or a text without tokens.
        """
        texts = [f"{example.text}\n{example.second}" if example.second else example.text for example in examples]
        ids = [self.tokenizer.encode(text, add_special_tokens=False)[:max_tokens] for text in texts]
        if not all(ids):
            raise ConfigError(
                f"text {texts[[bool(one) for one in ids].index(False)]!r} has no token; leave it out of data.texts."
            )
        unknown = {example.label for example in examples} - set(labels) if labels else set()
        if unknown:
            raise ConfigError(f"label {min(unknown)!r} is in no training text; ask for more of them with data.train.")
        numbers = [labels.index(example.label) if labels else 0 for example in examples]
        return Sequences.of(ids, labels=numbers)

    def encode_tasks(self, examples: Sequence[Example], *, max_tokens: int, max_written: int) -> Sequences:
        """Token ids of texts, each followed by what is to be written of it and an end token.

        Args:
            examples: with targets.
            max_tokens: texts are cut to this many tokens, a line's end after them included.
            max_written: targets are cut to this many, their end included.
        """
        between = self.tokenizer.encode("\n", add_special_tokens=False)
        ids, given = [], []
        for example in examples:
            text = self.tokenizer.encode(example.text, add_special_tokens=False)[: max_tokens - len(between)]
            target = self.tokenizer.encode(example.target, add_special_tokens=False)[: max_written - 1]
            ids.append([*text, *between, *target, self.tokenizer.eos_token_id])
            given.append(len(text) + len(between))
        return Sequences.of(ids, given=given)

    def rows(self, sequences: Sequences) -> torch.Tensor:
        """Clean embeddings of all tokens, one sequence after the other.

        Shape:
            result: float32 [all tokens, d]
        """
        return self.table[sequences.ids]


def _table(source: str) -> torch.Tensor:
    """The embedding table out of one safetensors file; raises ConfigError if there is none."""
    from safetensors import safe_open

    for path, name in _candidates(source):
        with safe_open(path, framework="pt") as file:
            if name in file.keys():  # noqa: SIM118 - a file of safetensors, no dictionary
                table: torch.Tensor = file.get_tensor(name)
                return table
    raise ConfigError(
        f"{_WHAT} = {source!r}: expected safetensors with one of {', '.join(_TABLES)}; name a model of Llama's, Qwen's or "
        "T5's type."
    )


def _candidates(source: str) -> list[tuple[Path, str]]:
    """Files that may hold the table, each with the name that it would have there."""
    from transformers.utils.hub import cached_file

    index = cached_file(source, "model.safetensors.index.json", _raise_exceptions_for_missing_entries=False)
    if index is None:
        places = dict.fromkeys(_TABLES, "model.safetensors")
    else:
        places = json.loads(Path(index).read_text(encoding="utf-8"))["weight_map"]
    files = ((cached_file(source, places[name]), name) for name in _TABLES if name in places)
    return [(Path(file), name) for file, name in files if file is not None]
