"""A generator that takes noise out of embeddings before they leave, trained against a discriminator on public texts.

    D:  min E (D(E, E') - 1)^2 + E D(G(E'), E')^2
    G:  min E (D(G(E'), E') - 1)^2 + lambda E |G(E') - E|^2

E' is the noised embedding of E, and both networks work on E' divided by the public texts' standard deviation.

Source: Mao et al., Least squares generative adversarial networks, 2017, for the losses; Isola et al., Image-to-image
translation with conditional adversarial networks, 2017, for the condition and the second term of G's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import nn

from sordino.seeds import Seeds
from sordino.split.exchange import Exchange
from sordino.split.methods.base import Fitted
from sordino.split.tally import Sent

__all__ = ["FittedGan", "Generator", "train_generator"]

_HEADS: Final = (4, 2, 1)
_BLOCKS: Final = 2
_BATCH: Final = 16
_BETAS: Final = (0.5, 0.9)
"""Adam's, less inert than usual, as both networks chase a moving target."""


class Generator(nn.Module):
    """Embeddings as they may have been before the noise; every token sees all others.

    Args:
        width: d.
        inner: width of the network.
    """

    std: torch.Tensor

    def __init__(self, *, width: int, inner: int) -> None:
        super().__init__()
        heads = next(number for number in _HEADS if inner % number == 0)
        block = nn.TransformerEncoderLayer(
            inner, heads, 2 * inner, 0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.enter = nn.Linear(width, inner)
        self.blocks = nn.TransformerEncoder(block, _BLOCKS, enable_nested_tensor=False)
        self.leave = nn.Linear(inner, width)
        self.keep = nn.Linear(width, width)
        nn.init.eye_(self.keep.weight)  # what is not learned leaves the embedding as it came
        nn.init.zeros_(self.leave.weight)
        self.register_buffer("std", torch.ones(()))

    def forward(self, noised: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Denoised embeddings.

        Shape:
            noised, result: float32 [batch, tokens, d]
            mask: bool [batch, tokens]
        """
        scaled = noised / self.std
        context = self.leave(self.blocks(self.enter(scaled), src_key_padding_mask=~mask))
        denoised: torch.Tensor = self.std * (self.keep(scaled) + context)
        return denoised


class _Discriminator(nn.Module):
    """Near 1 for a clean embedding beside its noised one, near 0 for a generated one."""

    def __init__(self, *, width: int, inner: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * width, inner), nn.LeakyReLU(0.2), nn.Linear(inner, 1))

    def forward(self, embeddings: torch.Tensor, noised: torch.Tensor) -> torch.Tensor:
        """Scores [tokens] of rows [tokens, d] in units of their standard deviation."""
        score: torch.Tensor = self.net(torch.cat([embeddings, noised], dim=1))[:, 0]
        return score


@dataclass(frozen=True)
class FittedGan:
    """A head on the server's states of generated embeddings.

    Attributes:
        head: trained on what ``shown`` gives of the training sequences.
        shown: the same sequences as the server gets them, the same whenever it is asked.
    """

    head: Fitted
    shown: Callable[[Exchange], Exchange]

    @property
    def sent(self) -> Sent:
        """See `Fitted.sent`."""
        return self.head.sent

    def scores(self, exchange: Exchange) -> torch.Tensor:
        """See `Fitted.scores`."""
        return self.head.scores(self.shown(exchange))

    def sent_for(self, exchange: Exchange) -> Sent:
        """See `Fitted.sent_for`."""
        return self.head.sent_for(self.shown(exchange))


def train_generator(
    public: Exchange, *, inner: int, epochs: int, lr: float, reconstruction: float, seeds: Seeds
) -> Generator:
    """Trains a generator on texts that protect nobody; the server is not asked.

    Args:
        public: the texts, with noise that the client made for itself.
        inner: width of both networks.
        epochs: passes.
        lr: learning rate of both networks' Adam.
        reconstruction: lambda.
        seeds: of weights and order.
    """
    width = public.clean.shape[2]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.at("generator").integer())
        generator, judge = Generator(width=width, inner=inner), _Discriminator(width=width, inner=inner)
        generator.std.copy_(public.clean[public.mask].std())
        forger, critic = (torch.optim.Adam(net.parameters(), lr=lr, betas=_BETAS) for net in (generator, judge))
        for _ in range(epochs):
            for rows in torch.randperm(len(public)).split(_BATCH):
                mask = public.mask[rows]
                given = public.noised[rows]
                made = generator(given, mask)[mask] / generator.std
                true, noised = public.clean[rows][mask] / generator.std, given[mask] / generator.std
                doubt = (judge(true, noised) - 1).square().mean() + judge(made.detach(), noised).square().mean()
                critic.zero_grad()
                doubt.backward()
                critic.step()
                distance = (made - true).square().mean()
                forger.zero_grad()
                ((judge(made, noised) - 1).square().mean() + reconstruction * distance).backward()
                forger.step()
    return generator.eval()
