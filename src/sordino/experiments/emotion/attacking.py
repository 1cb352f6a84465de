"""Attacks on the withdrawn modality, before and after: was it there, who was in it, what is left, how soon is it back?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from sordino.evaluation.attacks.linear_probe import linear_probe
from sordino.evaluation.attacks.membership import loss_drop
from sordino.evaluation.attacks.one_run import Success
from sordino.evaluation.attacks.presence import modality_presence
from sordino.evaluation.attacks.relearn import relearn_time
from sordino.experiments.emotion.folds import Fold
from sordino.modality import Case, train_branch
from sordino.models.emotion import Clips, EmotionNetwork
from sordino.privacy import Ledger, NoiseSource

__all__ = ["attack"]

_PAIRS: Final = 12
_TRIALS: Final = 3
_MOST_EPOCHS: Final = 20


def attack(fold: Fold, *, noise: NoiseSource) -> dict[str, Any]:
    """Every attack on networks trained anew, without and with the mode of withdrawal.

    Args:
        fold: speakers and clips.
        noise: of the withdrawals.
    """
    pairs = [_Pair(replace(fold, seeds=fold.seeds.at("attack", number)), noise) for number in range(_PAIRS)]
    found: dict[str, Any] = {"presence": _presence(pairs), "membership": _membership(pairs)}
    if fold.material.classes:
        found |= {"probe": _probe(pairs[0]), "relearning": _relearning(pairs[:_TRIALS])}
    return found


class _Pair:
    """A case in which the modality was collected, and its twin in which it never was."""

    def __init__(self, fold: Fold, noise: NoiseSource) -> None:
        self.fold, self._noise = fold, noise
        self.case = fold.case()
        self.twin = replace(self.case, private=self.case.private.only(self.case.kept.modalities))

    def withdrawn(self, case: Case, *, place: str) -> EmotionNetwork:
        """What the mode makes of a case. Where nobody has the modality there is nothing to train on: the reference."""
        mode = self.fold.options.modality.mode
        if mode.name == "dp" and case.modality not in case.private.vectors:
            return case.with_branch(case.reference)
        terms = mode.terms(case, seeded=self._noise.seeded)
        with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.jsonl", terms=terms) as ledger:
            return mode.withdraw(
                case, ledger=ledger, noise=self._noise, place=f"{self.fold.seeds.path} {place}"
            ).network


def _presence(pairs: list[_Pair]) -> dict[str, Any]:
    """What the attacker sees: the scores of public clips, with all their modalities and with the withdrawn one alone."""

    def seen(case: Case, network: EmotionNetwork) -> npt.NDArray[np.float64]:
        with torch.no_grad():
            scores = [network(case.validation), network(case.validation.only([case.modality]))]
        return torch.cat(scores).double().flatten().numpy()

    def told(make: Callable[[_Pair, Case, str], EmotionNetwork]) -> dict[str, Any]:
        exposed = np.stack([seen(pair.case, make(pair, pair.case, "exposed")) for pair in pairs])
        never = np.stack([seen(pair.twin, make(pair, pair.twin, "never")) for pair in pairs])
        return modality_presence(exposed, never).to_json()

    return {
        "before": told(lambda _, case, __: case.with_branch(case.exposed)),
        "after": told(lambda pair, case, place: pair.withdrawn(case, place=place)),
    }


def _membership(pairs: list[_Pair]) -> dict[str, Any]:
    """Half of the private recordings are in, by a coin; whose loss fell most is said to have been."""
    outcomes: dict[str, list[Success]] = {"before": [], "after": []}
    for pair in pairs:
        case = pair.case
        included = pair.fold.seeds.at("coins").generator().random(len(case.private)) < 0.5
        half = replace(case, private=case.private.take(torch.from_numpy(np.flatnonzero(included))))
        start = _losses(case.with_branch(case.reference), case.private)
        for name, network in (
            ("before", half.with_branch(half.exposed)),
            ("after", pair.withdrawn(half, place="half")),
        ):
            outcomes[name].append(loss_drop(start, _losses(network, case.private), included))
    return {name: _pooled(found).to_json() for name, found in outcomes.items()}


def _probe(pair: _Pair) -> dict[str, Any]:
    """The emotion of the private clips, read off the branch's hidden layer; None where there is no branch.

    A branch that was trained on these very clips tells more of them than one that was not.
    """
    case = pair.case
    having = case.private.take(case.private.rows[case.modality])
    labels = [pair.fold.material.classes[index] for index in having.targets.tolist()]

    def read(network: EmotionNetwork) -> dict[str, Any] | None:
        if case.modality not in network.modalities:
            return None
        branch, heard = network.branch(case.modality), having.vectors[case.modality]
        with torch.no_grad():
            hidden = torch.tanh(branch.fusion(torch.tanh(branch.features((heard - branch.centre) / branch.scale))))
        return linear_probe(hidden.double().numpy(), labels, groups=having.speakers).to_json()

    return {
        "reference": read(case.with_branch(case.reference)),
        "before": read(case.with_branch(case.exposed)),
        "after": read(pair.withdrawn(case, place="probe")),
    }


def _relearning(pairs: list[_Pair]) -> dict[str, Any]:
    """Passes over the private clips until the modality alone is as good as nine tenths of what it had been."""
    target = 0.9 * float(np.mean([_accuracy(pair, pair.case.with_branch(pair.case.exposed)) for pair in pairs]))
    trials = [
        (
            _learner(pair, pair.withdrawn(pair.case, place="relearn")),
            _learner(pair, pair.case.with_branch(pair.case.reference)),
        )
        for pair in pairs
    ]
    return relearn_time(trials, target=target, most=_MOST_EPOCHS).to_json() | {"target": target}


def _learner(pair: _Pair, network: EmotionNetwork) -> Callable[[], float]:
    """Says how good the network is with the modality alone, then trains its branch for one epoch."""
    case = pair.case
    branch = network.branch(case.modality) if case.modality in network.modalities else case.reference
    once = replace(case.training, epochs=1)
    epochs = 0

    def step() -> float:
        nonlocal branch, epochs
        score = _accuracy(pair, case.with_branch(branch))
        seeds = case.seeds.at("relearn", epochs)
        branch = train_branch(case.kept, branch, name=case.modality, clips=case.private, options=once, seeds=seeds)
        epochs += 1
        return score

    return step


def _accuracy(pair: _Pair, network: EmotionNetwork) -> float:
    clips = pair.fold.clips(pair.fold.test)
    return float((network.predict(clips.only([pair.case.modality])) == clips.targets).float().mean())


@torch.no_grad()
def _losses(network: EmotionNetwork, clips: Clips) -> npt.NDArray[np.float64]:
    """Loss of each clip, float64 [clips]."""
    scores = network.eval()(clips)
    if clips.targets.is_floating_point():
        return nn.functional.mse_loss(scores[:, 0], clips.targets, reduction="none").double().numpy()
    return nn.functional.cross_entropy(scores, clips.targets, reduction="none").double().numpy()


def _pooled(outcomes: list[Success]) -> Success:
    return Success(
        right=sum(found.right for found in outcomes),
        tried=sum(found.tried for found in outcomes),
        chance=outcomes[0].chance,
    )
