"""What is measured of the networks: every subset of the modalities, after the withdrawal and before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from sordino.evaluation.emotion import accuracy_change, sentiment_report
from sordino.evaluation.masks import all_masks, mask_name, score_masks
from sordino.experiments.emotion.folds import Fold
from sordino.experiments.tasks.emotion import EmotionExperiment
from sordino.modality import Case, Withdrawal
from sordino.models.emotion import Clips, EmotionNetwork
from sordino.seeds import Seeds

__all__ = ["Guesses", "Tested", "by_mask", "changes", "guesses", "scores"]

Guesses: TypeAlias = Mapping[tuple[str, ...], torch.Tensor]
"""Answers for each set of modalities that is there."""


@dataclass(frozen=True, eq=False)
class Tested:
    """One fold's answers on its test clips.

    Attributes:
        fold: whose clips they are.
        after: by mask, of the network that was released.
        before: of the network that knew the modality.
        reference: of the network that knew the modality of public clips only.
    """

    fold: Fold
    after: Guesses
    before: Guesses | None
    reference: Guesses

    @classmethod
    def of(cls, fold: Fold, case: Case, withdrawal: Withdrawal) -> Tested:
        """Asks the networks; the one before the withdrawal under debug telemetry only."""
        clips, modalities = fold.clips(fold.test), fold.options.model.modalities
        debug = fold.options.telemetry == "debug"
        return cls(
            fold,
            guesses(withdrawal.network, clips, modalities),
            guesses(case.exposed_network, clips, modalities) if debug else None,
            guesses(case.with_branch(case.reference), clips, modalities),
        )

    @property
    def size(self) -> int:
        """Number of test clips."""
        return len(self.fold.test)

    @property
    def right(self) -> int:
        """Right answers of the released network with all modalities; of sentiments, right signs."""
        whole = self.after[tuple(self.fold.options.model.modalities)]
        targets = self.fold.clips(self.fold.test).targets
        if targets.is_floating_point():
            return int((whole.sign() == targets.sign()).sum())
        return int((whole == targets).sum())


def scores(tested: Sequence[Tested], *, withdrawn: str, options: EmotionExperiment, seeds: Seeds) -> dict[str, Any]:
    """``masks`` of the released network, and what it would be with public clips alone, and was before, by mask.

    ``against_before`` is what the withdrawal did to the accuracy of each mask, with its interval over speakers. Under debug
    telemetry ``fluctuation`` is the largest relative loss of accuracy when any one modality goes missing.
    """
    names, classes = options.model.modalities, tested[0].fold.material.classes
    clips = [part.fold.clips(part.fold.test) for part in tested]
    after, before = [part.after for part in tested], [part.before for part in tested if part.before is not None]
    found: dict[str, Any] = {
        "withdrawn": withdrawn,
        "masks": by_mask(clips, after, classes, names, seeds),
        "reference": by_mask(clips, [part.reference for part in tested], classes, names, seeds),
        "before": by_mask(clips, before, classes, names, seeds) if before else None,
        "against_before": changes(clips, before, after, classes, seeds.at("change")) if classes and before else None,
    }
    if classes:
        whole = found["masks"][mask_name(names)]["accuracy"]
        ones = [found["masks"][mask_name([n for n in names if n != gone])]["accuracy"] for gone in names]
        found["fluctuation"] = max(abs(whole - one) / whole for one in ones) if whole else None
    return found


def guesses(network: EmotionNetwork, clips: Clips, modalities: Sequence[str]) -> Guesses:
    """What the network says of some clips when only these or those modalities are there."""
    return {mask: network.predict(clips.only(mask)) for mask in all_masks(modalities)}


def by_mask(
    clips: Sequence[Clips],
    answers: Sequence[Guesses],
    classes: Sequence[str],
    modalities: Sequence[str],
    seeds: Seeds,
) -> dict[str, Any]:
    """Scores of each mask, all clips together.

    Args:
        clips: test clips, by fold.
        answers: what was said of them.
        classes: names of the emotions; none where a sentiment is predicted.
        modalities: all of them.
        seeds: of the intervals.
    """
    targets, pooled = torch.cat([part.targets for part in clips]), _pooled(answers)
    if not classes:
        truth = targets.double().numpy()
        return {
            mask_name(mask): sentiment_report(truth, found.double().numpy()).to_json() for mask, found in pooled.items()
        }
    reports = score_masks(
        lambda mask: _named(pooled[mask], classes),
        modalities,
        truth=_named(targets, classes),
        speakers=[speaker for part in clips for speaker in part.speakers],
        seeds=seeds,
    )
    return {name: report.to_json() for name, report in reports.items()}


def changes(
    clips: Sequence[Clips], before: Sequence[Guesses], after: Sequence[Guesses], classes: Sequence[str], seeds: Seeds
) -> dict[str, Any]:
    """By how much the accuracy of each mask rose on the same clips, with the interval over speakers.

    Args:
        clips: test clips, by fold.
        before: what was said of them first.
        after: and then.
        classes: names of the emotions.
        seeds: of the intervals.
    """
    truth = _named(torch.cat([part.targets for part in clips]), classes)
    speakers = [speaker for part in clips for speaker in part.speakers]
    first, second = _pooled(before), _pooled(after)
    found = {}
    for mask, answers in first.items():
        sides, own = (_named(answers, classes), _named(second[mask], classes)), seeds.at(mask_name(mask))
        change, interval = accuracy_change(truth, *sides, speakers=speakers, seeds=own)
        found[mask_name(mask)] = {"accuracy": change, "ci95": interval.bounds and list(interval.bounds)}
    return found


def _named(indices: torch.Tensor, classes: Sequence[str]) -> list[str]:
    return [classes[index] for index in indices.tolist()]


def _pooled(answers: Sequence[Guesses]) -> Guesses:
    """The folds' answers one after another."""
    return {mask: torch.cat([part[mask] for part in answers]) for mask in answers[0]}
