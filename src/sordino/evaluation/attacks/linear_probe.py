"""What a representation gives away: a linear classifier on it, judged on people it never saw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sordino.errors import DataError
from sordino.evaluation.attacks.one_run import Success

__all__ = ["linear_probe"]


def linear_probe(
    representations: npt.NDArray[np.float64], labels: Sequence[str], *, groups: Sequence[str], folds: int = 5
) -> Success:
    """Reads a label off representations with a logistic regression, in folds that share no group.

    Groups are whatever must not help: the speaker when emotion or gender is read, the sentence when the speaker is.
    Chance is what naming each fold's most frequent training label gets.

    Shape:
        representations: [utterances, width]

    Raises:
        DataError: fewer than two labels or groups, or lengths differ.
    """
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kinds, num_groups = len(set(labels)), len(set(groups))
    if not len(representations) == len(labels) == len(groups) or min(kinds, num_groups) < 2:
        raise DataError(
            f"{len(representations)} representations, {kinds} labels and {num_groups} groups: expected a label and a group "
            "for each, and at least two of both; probe more utterances."
        )
    truth = np.asarray(labels)
    split = GroupKFold(min(folds, num_groups))
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    guessed, blind = (
        cross_val_predict(model, representations, truth, groups=list(groups), cv=split) == truth
        for model in (probe, DummyClassifier(strategy="most_frequent"))
    )
    return Success(right=int(guessed.sum()), tried=len(truth), chance=float(blind.mean()))
