"""Greedy decoding with a key-value cache: a whole batch in step, each clip as if it were alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from transformers import DynamicCache, PreTrainedModel

__all__ = ["MAX_TOKENS_PER_S", "Transcription", "greedy", "repetitions"]

MAX_TOKENS_PER_S: Final = 25
"""Bound on what a second of audio may give; fast speech has about 20 characters, and fewer tokens, a second."""

_WORTH_CUTTING: Final = 0.75
"""Clips that have ended leave the batch when at most this share of it goes on: copying the cache costs about a step."""


@dataclass(frozen=True, slots=True)
class Transcription:
    """What the model wrote for one clip.

    Attributes:
        text: the transcript.
        ended: whether the model closed it; otherwise it was cut at the bound.
        repeats: how often the closing phrase stands at the end of a transcript that was cut; 0 for one that ended.
            A high count is a repeat loop.
    """

    text: str
    ended: bool
    repeats: int = 0


def greedy(
    decoder: PreTrainedModel, prefix: torch.Tensor, *, end: int, max_tokens: int
) -> list[tuple[list[int], bool]]:
    """The likeliest token after each, until the end token or the bound.

    All prefixes have the same length, so no clip is padded and none sees how long another's transcript is.

    Args:
        decoder: causal language model of transformers.
        prefix: audio and prompt embeddings.
        end: id of the end token.
        max_tokens: bound on a transcript's length, end not counted.

    Shape:
        prefix: [batch, positions, width].

    Returns:
        For each clip, its tokens without the end, and whether it ended.
    """
    cache = DynamicCache(config=decoder.config)
    embed = decoder.get_input_embeddings()
    step = prefix
    rows: list[list[int]] = [[] for _ in prefix]
    ended = [False] * len(rows)
    writing = list(range(len(rows)))  # which clip each line of the batch is
    for _ in range(max_tokens + 1):
        logits = decoder(inputs_embeds=step, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        tokens = logits.argmax(dim=-1)  # [batch]
        for index, token in zip(writing, tokens.tolist(), strict=True):
            ended[index] |= token == end
            if not ended[index]:
                rows[index].append(token)
        going = [line for line, index in enumerate(writing) if not ended[index]]
        if not going:
            break
        if len(going) <= _WORTH_CUTTING * len(writing):
            lines = torch.tensor(going, device=tokens.device)
            cache.batch_select_indices(lines)
            tokens, writing = tokens[lines], [writing[line] for line in going]
        step = embed(tokens)[:, None]
    return [(row[:max_tokens], done) for row, done in zip(rows, ended, strict=True)]


def repetitions(tokens: Sequence[int]) -> int:
    """How often the phrase at the end of ``tokens`` is repeated there, for the phrase that gives the highest count.

    >>> repetitions([5, 1, 2, 1, 2, 1, 2])
    3
    """
    best = 0
    for period in range(1, len(tokens) // 2 + 1):
        phrase, count = list(tokens[-period:]), 1
        while list(tokens[-(count + 1) * period : -count * period]) == phrase:
            count += 1
        best = max(best, count)
    return max(best, 1 if tokens else 0)
