"""What is measured of the networks: every subset of the modalities, after the withdrawal and before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sordino.evaluation.emotion import sentiment_report
from sordino.evaluation.masks import all_masks, mask_name, score_masks
from sordino.experiments.emotion.folds import Fold
from sordino.experiments.tasks.emotion import EmotionExperiment
from sordino.modality import Case, Withdrawal
from sordino.models.emotion import EmotionNetwork
from sordino.seeds import Seeds

__all__ = ["Tested", "scores"]

_Guesses = Mapping[tuple[str, ...], torch.Tensor]


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
    after: _Guesses
    before: _Guesses | None
    reference: _Guesses

    @classmethod
    def of(cls, fold: Fold, case: Case, withdrawal: Withdrawal) -> Tested:
        """Asks the networks; the one before the withdrawal under debug telemetry only."""
        debug = fold.options.telemetry == "debug"
        return cls(
            fold,
            _guesses(fold, withdrawal.network),
            _guesses(fold, case.exposed_network) if debug else None,
            _guesses(fold, case.with_branch(case.reference)),
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

    Under debug telemetry ``fluctuation`` is the largest relative loss of accuracy when any one modality goes missing.
    """
    found: dict[str, Any] = {
        "withdrawn": withdrawn,
        "masks": _by_mask(tested, [part.after for part in tested], options, seeds),
        "reference": _by_mask(tested, [part.reference for part in tested], options, seeds),
        "before": None,
    }
    before = [part.before for part in tested if part.before is not None]
    if len(before) == len(tested):
        found["before"] = _by_mask(tested, before, options, seeds)
    if tested[0].fold.material.classes and len(options.model.modalities) > 1:
        names = options.model.modalities
        whole = found["masks"][mask_name(names)]["accuracy"]
        ones = [found["masks"][mask_name([n for n in names if n != gone])]["accuracy"] for gone in names]
        found["fluctuation"] = max(abs(whole - one) / whole for one in ones) if whole else None
    return found


def _guesses(fold: Fold, network: EmotionNetwork) -> _Guesses:
    clips = fold.clips(fold.test)
    return {mask: network.predict(clips.only(mask)) for mask in all_masks(fold.options.model.modalities)}


def _by_mask(
    tested: Sequence[Tested], guesses: Sequence[_Guesses], options: EmotionExperiment, seeds: Seeds
) -> dict[str, Any]:
    clips = [part.fold.clips(part.fold.test) for part in tested]
    targets = torch.cat([part.targets for part in clips])
    pooled = {mask: torch.cat([part[mask] for part in guesses]) for mask in guesses[0]}
    classes = tested[0].fold.material.classes
    if not classes:
        truth = targets.double().numpy()
        return {
            mask_name(mask): sentiment_report(truth, found.double().numpy()).to_json() for mask, found in pooled.items()
        }
    reports = score_masks(
        lambda mask: [classes[index] for index in pooled[mask].tolist()],
        options.model.modalities,
        truth=[classes[index] for index in targets.tolist()],
        speakers=[speaker for part in clips for speaker in part.speakers],
        seeds=seeds,
    )
    return {name: report.to_json() for name, report in reports.items()}
