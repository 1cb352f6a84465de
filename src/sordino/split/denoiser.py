"""Split-and-Denoise's client: a network that knows the noise and takes it out of what comes back.

Source: Mai et al., Split-and-Denoise: protect large language model inference with local differential privacy, 2024.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import nn

from sordino.seeds import Seeds
from sordino.split.exchange import Exchange

__all__ = ["Denoiser", "pretrain"]

_HEADS: Final = 4
_BLOCKS: Final = 2
_BATCH: Final = 16
_LEAST_STD: Final = 1e-6


class Denoiser(nn.Module):
    """Clean last states from noisy ones, the clean embeddings and the noise on them; every token sees all others.

    States are scaled to mean 0 and deviation 1 in each feature of the clean ones, within which the error is measured.

    Args:
        width: d.
        inner: width of the network.
    """

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, *, width: int, inner: int) -> None:
        super().__init__()
        self.enter = nn.Linear(3 * width, inner)
        block = nn.TransformerEncoderLayer(
            inner, _HEADS, 2 * inner, 0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(block, _BLOCKS, enable_nested_tensor=False)
        self.leave = nn.Linear(inner, width)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("std", torch.ones(width))

    def scaled(self, states: torch.Tensor) -> torch.Tensor:
        """States as the network measures them."""
        return (states - self.mean) / self.std

    def forward(
        self, clean: torch.Tensor, noised: torch.Tensor, states: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Denoised states, scaled.

        Shape:
            clean, noised, states: float32 [batch, tokens, d]
            mask: bool [batch, tokens]
            result: float32 [batch, tokens, d]
        """
        scaled = self.scaled(states)
        inner = self.enter(torch.cat([clean, noised - clean, scaled], dim=2))
        denoised: torch.Tensor = self.leave(self.blocks(inner, src_key_padding_mask=~mask))
        return denoised


def pretrain(public: Exchange, noised: Exchange, *, inner: int, epochs: int, lr: float, seeds: Seeds) -> Denoiser:
    """Trains a denoiser on texts that protect nobody.

    Args:
        public: the texts, with the states of their clean embeddings.
        noised: the same texts, with the states of noised ones.
        inner: width of the network.
        epochs: passes.
        lr: learning rate of AdamW.
        seeds: of weights and order.
    """
    last = [public.server.describe().num_blocks]
    wanted, given = public.states(last)[:, 0], noised.states(last)[:, 0]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.at("denoiser").integer())
        denoiser = Denoiser(width=wanted.shape[2], inner=inner)
        denoiser.mean.copy_(wanted[public.mask].mean(dim=0))
        denoiser.std.copy_(wanted[public.mask].std(dim=0).clamp_min(_LEAST_STD))
        optimiser = torch.optim.AdamW(denoiser.parameters(), lr=lr)
        for _ in range(epochs):
            for rows in torch.randperm(len(public)).split(_BATCH):
                mask = public.mask[rows]
                found = denoiser(public.clean[rows], noised.noised[rows], given[rows], mask)
                loss = nn.functional.mse_loss(found[mask], denoiser.scaled(wanted[rows])[mask])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
    return denoiser.eval()
