"""What a representation gives away: a linear classifier on it, judged on people it never saw."""

from __future__ import annotations

from collections import Counter
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
    Chance is what naming the most frequent label gets: no blind guesser does better. (Where labels are equally frequent, the
    most frequent one outside a fold is the rarest within, so that to name that one would do far worse than chance.)

    Shape:
        representations: [utterances, width]

    Raises:
        DataError: fewer than two labels or groups, or lengths differ.
    """
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
    guessed = cross_val_predict(probe, representations, truth, groups=list(groups), cv=split)
    most = Counter(labels).most_common(1)[0][1]
    return Success(right=int((guessed == truth).sum()), tried=len(truth), chance=most / len(truth))
