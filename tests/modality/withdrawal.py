"""A small world with two informative modalities, six speakers and three classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from sordino.modality import Case, Mode, TrainingOptions, Withdrawal, make_case, never_exposed
from sordino.models.emotion import BranchOptions, Clips, EmotionNetwork
from sordino.privacy import Ledger, NoiseSource
from sordino.seeds import Seeds

BRANCH = BranchOptions(hidden=6, dropout=0.2)
TRAINING = TrainingOptions(epochs=6, lr=1e-2, weight_decay=0.1, batch_size=16)
SEEDS = Seeds(3)
PUBLIC = ("s4", "s5")


def world(*, per_speaker: int = 20) -> Clips:
    """Clips whose ``voice`` and ``face`` both tell the class, with noise."""
    random = torch.Generator().manual_seed(0)
    count = 6 * per_speaker
    targets = torch.randint(3, (count,), generator=random)
    vectors = {}
    for name, width in (("voice", 5), ("face", 4)):
        centres = torch.randn(3, width, generator=random)
        vectors[name] = centres[targets] + torch.randn(count, width, generator=random)
    every = torch.arange(count)
    speakers = tuple(f"s{row % 6}" for row in range(count))
    return Clips(vectors, dict.fromkeys(vectors, every), targets, speakers)


def kept_network(clips: Clips, *, seeds: Seeds = SEEDS, branch: BranchOptions = BRANCH) -> EmotionNetwork:
    return never_exposed(clips, ["voice"], outputs=3, branch=branch, training=TRAINING, seeds=seeds)


def case(*, seeds: Seeds = SEEDS, clips: Clips | None = None, branch: BranchOptions = BRANCH) -> Case:
    """The face is to be withdrawn."""
    clips = clips or world()
    private = [name for name in sorted(set(clips.speakers)) if name not in PUBLIC]
    return make_case(
        "face",
        kept=kept_network(clips, seeds=seeds, branch=branch),
        private=clips.of_speakers(private),
        public=clips.of_speakers(PUBLIC),
        branch=branch,
        training=TRAINING,
        seeds=seeds,
    )


def never_collected(made: Case) -> Case:
    """The same case where nobody's face was ever collected in private."""
    return replace(made, private=made.private.only(["voice"]))


def withdraw(mode: Mode, made: Case, folder: Path, **options: Any) -> tuple[Withdrawal, Ledger]:
    """What the mode makes, and its ledger, closed."""
    with Ledger(folder / "ledger.jsonl", terms=mode.terms(made, seeded=False)) as ledger:
        return mode.withdraw(made, ledger=ledger, noise=NoiseSource(), **options), ledger
