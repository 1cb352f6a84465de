"""Integrated gradients on stacks of blocks whose answer is known by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from sordino.split import LocalStates, ModelCard
from sordino.split.layer_filter import contributions, strongest


class Block(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.function(states)


class Stack(nn.Module):
    def __init__(self, functions: Sequence[Callable[[torch.Tensor], torch.Tensor]]) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(function) for function in functions)
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, *, inputs_embeds: torch.Tensor, attention_mask: torch.Tensor, use_cache: bool) -> torch.Tensor:
        for block in self.blocks:
            inputs_embeds = block(inputs_embeds)
        return inputs_embeds


def figures(*functions: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    stack = Stack(functions)
    card = ModelCard(
        model="toy", family="decoder", width=2, num_blocks=len(functions), dtype="float32", vocabulary=3, max_tokens=9,
        projection_seed=0, digest="",
    )  # fmt: skip
    server = LocalStates(stack, list(stack.blocks), card=card)
    embeddings, mask = torch.ones(1, 3, 2), torch.tensor([[True, True, False]])
    embeddings[0, 2] = 1e6  # padding, which must not count
    return contributions(server, embeddings, mask)


def test_a_block_is_its_output_and_not_its_input() -> None:
    """H is 2, 12 and 112, and all that follows only adds, so that C_i = H_i."""
    found = figures(lambda x: x + 1, lambda x: x + 10, lambda x: x + 100)
    torch.testing.assert_close(found, torch.tensor([2.0, 12.0, 112.0]))
    assert strongest(found, keep=2) == (2, 3)


def test_the_sum_over_steps() -> None:
    """For the square of H the sum at j/m = 1/5, ..., 1 is (m + 1) / m of the integral; the last block is itself."""
    found = figures(lambda x: x + 1, lambda x: 2 * x, lambda x: x * x)
    torch.testing.assert_close(found, torch.tensor([1.2 * 16, 1.2 * 16, 16.0]))


def test_what_later_blocks_ignore_contributes_nothing() -> None:
    found = figures(lambda x: x + 1, lambda x: 0 * x + 5, lambda x: x + 1)
    torch.testing.assert_close(found, torch.tensor([0.0, 5.0, 6.0]))
    assert strongest(found, keep=9) == (1, 2, 3)
