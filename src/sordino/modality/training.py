"""How branches are trained: one after another, each alone; or all at once, which leaves traces of each in all."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch

from sordino.modality.options import TrainingOptions
from sordino.models.emotion import Branch, Clips, EmotionNetwork
from sordino.models.emotion.network import objective
from sordino.seeds import Seeds

__all__ = ["train_branch", "train_jointly"]


def train_branch(
    kept: EmotionNetwork, branch: Branch, *, name: str, clips: Clips, options: TrainingOptions, seeds: Seeds
) -> Branch:
    """A trained copy of one modality's branch, beside branches that nothing happens to.

    The branch has an optimiser, batches and a random stream of its own, so that ``kept`` is afterwards the network that it
    would be if the modality had never been there, to the bit. It learns to add to the others and, where ``alone_rate`` has
    it so, to stand alone.

    Args:
        kept: the other branches.
        branch: where to start; not changed.
        name: its modality.
        clips: what to learn from; those that lack the modality are left out, and without any nothing is learnt.
        options: how.
        seeds: the branch's own random stream.
    """
    trained = copy.deepcopy(branch).eval()
    if name not in clips.rows or not len(clips.rows[name]):
        return trained
    having = clips.take(clips.rows[name])
    vectors, targets = having.vectors[name], having.targets
    with torch.no_grad():
        others = kept.eval()(having)
    optimizer = torch.optim.AdamW(trained.parameters(), lr=options.lr, weight_decay=options.weight_decay, fused=True)
    alone = seeds.at("alone").generator()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.at("dropout of units").integer())
        trained.train()
        for batch in _batches(len(having), options, seeds):
            beside = torch.from_numpy(alone.random(len(batch)) >= options.alone_rate)[:, None]
            scores = trained(vectors[batch]) + others[batch].where(beside, 0.0)
            optimizer.zero_grad()
            objective(scores, targets[batch]).backward()
            optimizer.step()
            trained.constrain()
    return trained.eval()


def train_jointly(network: EmotionNetwork, *, clips: Clips, options: TrainingOptions, seeds: Seeds) -> EmotionNetwork:
    """A copy of the network, all branches trained together with modality dropout.

    Every branch's gradient depends on what the others said, so that no branch can be taken back: a network trained like
    this has no deletion property.

    Args:
        network: where to start; not changed.
        clips: what to learn from. In each batch a clip lacks each of its modalities with chance ``alone_rate``, but never
            the last one.
        options: how.
        seeds: of order and dropout.
    """
    trained = copy.deepcopy(network)
    optimizer = torch.optim.AdamW(trained.parameters(), lr=options.lr, weight_decay=options.weight_decay, fused=True)
    dropped = seeds.at("modality dropout").generator()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.at("dropout of units").integer())
        trained.train()
        for batch in _batches(len(clips), options, seeds):
            shown = clips.take(batch).thinned(dropped, rate=options.alone_rate)
            optimizer.zero_grad()
            objective(trained(shown), shown.targets).backward()
            optimizer.step()
            for name in trained.modalities:
                trained.branch(name).constrain()
    return trained.eval()


def _batches(size: int, options: TrainingOptions, seeds: Seeds) -> Iterator[torch.Tensor]:
    """Every epoch's clips in a new order, cut into batches."""
    for epoch in range(options.epochs):
        order = torch.from_numpy(seeds.at("epoch", epoch).generator().permutation(size))
        yield from order.split(options.batch_size)
