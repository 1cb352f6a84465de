"""Generation with a server that keeps keys and values: one token at a time, each noised and paid for.

What is written goes to the server as noised embeddings, too, and depends on all that the client's network knows: the clean
text that it follows, and the clean texts that the network was trained on. So each token is a further release about every one
of them, and costs as much as a draw on one token: n tokens after each of m texts cost as n m draws. Laws with a metric
guarantee are refused. When the writing ends depends on the clean texts, is seen by the server, and is not covered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch

from sordino._check import at_least
from sordino.split.exchange import Exchange
from sordino.split.growing import GrowingServer, Growth
from sordino.split.tally import Sent, Tally
from sordino.split.writer import Writer

__all__ = ["Say", "Server", "write"]

Say: TypeAlias = Callable[[torch.Tensor], torch.Tensor]
"""What the server gets of the embeddings of written tokens, float32 [texts, d]; it pays."""

_BATCH: Final = 32
_NUMBER: Final = 4
"""Bytes of a float32 or int32."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where the states of growing texts come from, and what for.

    Attributes:
        growing: keeps keys and values.
        layers: blocks that the writer sees.
        reduction: r, or None.
        tally: counts what goes there.
    """

    growing: GrowingServer
    layers: tuple[int, ...]
    reduction: int | None
    tally: Tally


@torch.no_grad()
def write(
    writer: Writer, prompts: Exchange, *, server: Server, say: Say, end: int, most: int
) -> tuple[torch.Tensor, Sent]:
    """Writes after each prompt, greedily, until the end token.

    Args:
        writer: in evaluation mode.
        prompts: clean and noised; those of one length are written after together.
        server: is sent the noised ones, and what ``say`` gives.
        say: once for each token after them.
        end: the token that ends a text.
        most: tokens to write at most.

    Returns:
        What was written, and the bytes that it took.

    Shape:
        result: int64 [prompts, most], ``end`` from where a text ends

    Raises:
        BudgetExhausted: the ledger's budget does not cover the next token.
        PrivacyError: noise with a metric guarantee only.
    """
    at_least("most", most, 1)
    result, sent = torch.full((len(prompts), most), end), Sent()
    lengths = prompts.mask.sum(dim=1)
    for length in lengths.unique().tolist():
        for rows in (lengths == length).nonzero()[:, 0].split(_BATCH):
            growing = _Growing(server, server.growing.open(layers=server.layers, reduction=server.reduction))
            try:
                written = _after(
                    writer,
                    prompts.clean[rows, :length],
                    prompts.noised[rows, :length],
                    growing,
                    say,
                    end=end,
                    most=most,
                )
            finally:
                growing.growth.close()
            result[rows, : written.shape[1]] = written
            sent += growing.sent
    ended = (result == end).cumsum(dim=1) > 0
    return result.masked_fill(ended, end), sent


def _after(
    writer: Writer, clean: torch.Tensor, noised: torch.Tensor, growing: _Growing, say: Say, *, end: int, most: int
) -> torch.Tensor:
    """Tokens [batch, written] after prompts of one length, until all have ended; a text may go on after its end."""
    states = growing.extend(noised)
    written = torch.empty(len(clean), 0, dtype=torch.int64)
    while True:
        mask = torch.ones(clean.shape[:2], dtype=torch.bool)
        following = writer(clean, states, mask)[:, -1].argmax(dim=1, keepdim=True)
        written = torch.cat([written, following], dim=1)
        if written.shape[1] == most or bool((written == end).any(dim=1).all()):
            return written
        rows = writer.table[following[:, 0]]
        states = torch.cat([states, growing.extend(say(rows)[:, None])], dim=2)
        clean = torch.cat([clean, rows[:, None]], dim=1)


@dataclass
class _Growing:
    """A growth that counts its bytes."""

    server: Server
    growth: Growth
    sent: Sent = Sent()  # noqa: RUF009 - frozen

    def extend(self, noised: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = noised.shape
        down = batch * tokens * len(self.server.layers) * (width // (self.server.reduction or 1))
        opening = 0 if self.growth.tokens else batch  # the first message says how long the texts are
        step = Sent(_NUMBER * (noised.numel() + opening), _NUMBER * down)
        self.server.tally.add(step)
        self.sent += step
        return self.growth.extend(noised)
