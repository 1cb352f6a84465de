"""How far noise carries clean hidden states off, block by block, and how near a side network brings them back.

    SORDINO_DATA=... SORDINO_WEIGHTS=... python scripts/split_depth.py docs/assets

writes ``split-depth.svg`` and ``split-corrected.svg`` and prints their numbers. In the second, errors are in units of each
feature's variance over the clean states, so that guessing the mean is 1 everywhere. The side network learns to foretell
clean states of public texts from noisy ones and the clean embeddings; its control does without the noisy ones, and sees what
the client could know alone.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from sordino.data.texts import division
from sordino.data.texts.financial_phrasebank import FinancialPhraseBank
from sordino.privacy import NoiseSource
from sordino.reporting.figures import Plate
from sordino.reporting.figures.style import GREY, canvas, legend, log_scale, series, styled, trace
from sordino.seeds import Seeds
from sordino.split import LocalStates
from sordino.split.embedding import ClientEmbedding
from sordino.split.noise import DChi
from sordino.split.sequences import Sequences, padded
from sordino.split.side_network import SideNetwork

ETA, RADIUS, TOKENS = 60.0, 4.0, 24
PUBLIC, TESTED = 96, 32
EPOCHS, BATCH, LR = 20, 16, 2e-3
REDUCTION = 8
CORRECTED = (6, 12, 18, 24, 30)
CAPTION = "See docs/systems/split-learning.md."


@dataclass
class Passage:
    """Some texts, and the states of their clean and of their noised embeddings.

    Shape:
        clean: float32 [texts, tokens, d]
        before, after: float32 [texts, L, tokens, d], of clean and of noised embeddings
    """

    tokens: Sequences
    clean: torch.Tensor
    before: torch.Tensor
    after: torch.Tensor


def passage(server: LocalStates, embedding: ClientEmbedding, examples: list, seed: int) -> Passage:
    tokens = embedding.encode(examples, labels=(), max_tokens=TOKENS)
    rows, space = embedding.rows(tokens), embedding.space(TOKENS)
    noise = DChi(eta=ETA, radius=RADIUS)
    stream = NoiseSource(Seeds(seed)).stream("depth")
    noised = torch.from_numpy(noise.rehearse(rows.numpy(), space=space, stream=stream))
    layers = range(1, server.describe().num_blocks + 1)
    before, after = (
        torch.cat(
            [
                server.states(padded(one, tokens.mask)[part], tokens.mask[part], layers=layers)
                for part in torch.arange(len(tokens)).split(BATCH)
            ]
        )
        for one in (rows, noised)
    )
    return Passage(tokens, padded(rows, tokens.mask), before, after)


def errors(public: Passage, tested: Passage) -> list[float]:
    """Mean squared error of each block's noisy states, in the variance of its clean ones."""
    result = []
    for block in range(public.before.shape[1]):
        variance = public.before[:, block][public.tokens.mask].var(dim=0)
        error = (tested.after - tested.before)[:, block][tested.tokens.mask].square().mean(dim=0)
        result.append(float((error / variance).mean()))
    return result


def raw_errors(tested: Passage) -> list[float]:
    """The same as they are."""
    difference = (tested.after - tested.before).square()
    return [float(difference[:, block][tested.tokens.mask].mean()) for block in range(difference.shape[1])]


def corrected(public: Passage, tested: Passage, *, use_states: bool) -> list[float]:
    """Error of what the side network says of the clean states of the blocks it sees."""
    torch.manual_seed(0)
    chosen = [block - 1 for block in CORRECTED]
    width = public.clean.shape[2]
    net = SideNetwork(width=width, inner=width // REDUCTION, given=width, num_layers=len(chosen), dropout=0.1)
    readouts = nn.ModuleList(nn.Linear(width // REDUCTION, width) for _ in chosen)
    mask = public.tokens.mask
    rows = public.before[:, chosen].transpose(1, 2)[mask]  # [all tokens, blocks, d]
    mean, std = rows.mean(dim=0), rows.std(dim=0)
    net.calibrate(public.clean, public.after[:, chosen], mask)

    def foretold(one: Passage, part: torch.Tensor) -> torch.Tensor:
        states = (
            one.after[part][:, chosen]
            if use_states
            else net.mean[:, None].expand(len(part), -1, one.tokens.mask.shape[1], -1)
        )
        trail = net.trail(one.clean[part], states, one.tokens.mask[part])
        said = torch.stack([readout(after) for readout, after in zip(readouts, trail, strict=True)], dim=2)
        wanted = (one.before[part][:, chosen].transpose(1, 2) - mean) / std
        return (said - wanted)[one.tokens.mask[part]].square().mean(dim=(0, 2))  # [blocks]

    optimiser = torch.optim.AdamW([*net.parameters(), *readouts.parameters()], lr=LR)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(public.tokens)).split(BATCH):
            optimiser.zero_grad()
            foretold(public, part).sum().backward()
            optimiser.step()
        schedule.step()
    net.eval()
    with torch.no_grad():
        return foretold(tested, torch.arange(len(tested.tokens))).tolist()


def raw_plate(raw: list[float]) -> Plate:
    with styled():
        figure, axes = canvas()
        trace(axes, list(enumerate(raw, start=1)), series(1))
        axes.set_xlabel("block")
        axes.set_ylabel("mean squared error")
        log_scale(axes, "y")
    return Plate(name="split-depth", title="Noise by depth", caption=CAPTION, figure=figure)


def corrected_plate(noisy: list[float], with_server: list[float], alone: list[float]) -> Plate:
    with styled():
        figure, axes = canvas()
        trace(axes, list(enumerate(noisy, start=1)), series(1), label="noisy states as they come")
        trace(axes, list(zip(CORRECTED, with_server, strict=True)), series(0), label="corrected")
        trace(axes, list(zip(CORRECTED, alone, strict=True)), series(2), label="same network, no server")
        axes.axhline(1.0, color=GREY, linewidth=0.8)
        axes.set_xlabel("block")
        axes.set_ylabel("error (variance of clean states)")
        axes.set_ylim(bottom=0)
        legend(figure)
    return Plate(name="split-corrected", title="Corrected states by depth", caption=CAPTION, figure=figure)


def main() -> None:
    torch.set_num_threads(1)
    source = str(Path(os.environ["SORDINO_WEIGHTS"]) / "smollm2-135m")
    texts = FinancialPhraseBank(path=Path(os.environ["SORDINO_DATA"]) / "financial-phrasebank" / "allagree.jsonl")
    sets = division(list(texts.read()), sizes={"public": PUBLIC, "test": TESTED}, seeds=Seeds(0))
    server, embedding = LocalStates.load(source), ClientEmbedding.load(source)
    public, tested = (passage(server, embedding, sets[name], seed) for name, seed in (("public", 1), ("test", 2)))
    noisy = errors(public, tested)
    with_server, alone = (corrected(public, tested, use_states=use) for use in (True, False))
    raw = raw_errors(tested)
    print(json.dumps({"raw": raw, "noisy": noisy, "corrected": with_server, "alone": alone}))
    for plate in (raw_plate(raw), corrected_plate(noisy, with_server, alone)):
        plate.write(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
