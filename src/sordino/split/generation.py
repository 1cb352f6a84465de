"""Generation with a server that keeps keys and values: one token at a time, each noised and paid for.

What is written depends on the clean text, and goes to the server as noised embeddings too. So every step is a further
release about *every* token of the text, and is charged as one: a summary of n tokens costs n + 1 draws. For the Gaussian law
that is a factor of about sqrt(n + 1) in noise at the same epsilon. Laws with a metric guarantee are refused. How many tokens
were written depends on the clean text, is seen by the server, and is not covered.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from sordino._check import at_least
from sordino.errors import PrivacyError
from sordino.privacy import MetricRelease
from sordino.split.embedding import ClientEmbedding
from sordino.split.growing import GrowingServer
from sordino.split.sending import Sender
from sordino.split.writer import Writer

__all__ = ["write"]


@torch.no_grad()
def write(
    writer: Writer,
    prompts: Sequence[Sequence[int]],
    *,
    server: GrowingServer,
    embedding: ClientEmbedding,
    sender: Sender,
    layers: Sequence[int],
    reduction: int | None,
    most: int,
) -> list[list[int]]:
    """Writes after each prompt, greedily, until the tokenizer's end token.

    Args:
        writer: in evaluation mode.
        prompts: token ids; those of one length are written together.
        server: keeps keys and values.
        embedding: the client's table.
        sender: noises and pays, once for the prompts of a length and once for each token after them.
        layers: blocks that the writer sees.
        reduction: r, or None.
        most: tokens to write at most.

    Returns:
        What was written after each prompt, without the end token.

    Raises:
        BudgetExhausted: the ledger's budget does not cover the next token.
        PrivacyError: noise with a metric guarantee only.
    """
    at_least("most", most, 1)
    _refuse_metric(sender)
    result: dict[int, list[int]] = {}
    for length in sorted({len(prompt) for prompt in prompts}):
        numbers = [number for number, prompt in enumerate(prompts) if len(prompt) == length]
        ids = torch.tensor([prompts[number] for number in numbers])
        growth = server.open(layers=layers, reduction=reduction)
        try:
            states = growth.extend(_sent(ids, embedding, sender))
            while True:
                mask = torch.ones(ids.shape, dtype=torch.bool)
                following = writer(embedding.table[ids], states, mask)[:, -1].argmax(dim=1, keepdim=True)
                ids = torch.cat([ids, following], dim=1)
                written = ids[:, length:]
                if written.shape[1] == most or bool((written == _end(embedding)).any(dim=1).all()):
                    break
                states = torch.cat([states, growth.extend(_sent(following, embedding, sender))], dim=2)
        finally:
            growth.close()
        result |= dict(zip(numbers, (_until_end(row, _end(embedding)) for row in written.tolist()), strict=True))
    return [result[number] for number in range(len(prompts))]


def _refuse_metric(sender: Sender) -> None:
    """A text a little different can make another word be written, anywhere in the table: no distance bounds what is sent."""
    if isinstance(sender.noise.event(sender.unit, space=sender.space), MetricRelease):
        raise PrivacyError(
            f'privacy.noise = "{sender.noise.name}" bounds a token by how near another is, and what is written follows the '
            'text in leaps: expected noise that bounds any two tokens; use "gaussian".'
        )


def _sent(ids: torch.Tensor, embedding: ClientEmbedding, sender: Sender) -> torch.Tensor:
    """Noised embeddings [batch, tokens, d] of some ids, paid for by a charge of their own."""
    rows = embedding.table[ids.flatten()]
    drawn = sender.again({"written": rows}, draw=len(sender.ledger.charges) + 1)["written"]
    return drawn.view(*ids.shape, -1)


def _end(embedding: ClientEmbedding) -> int:
    end: int = embedding.tokenizer.eos_token_id
    return end


def _until_end(ids: list[int], end: int) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids
