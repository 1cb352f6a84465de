"""What else do noised embeddings give away? An attacker who knows an attribute of some senders guesses that of others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sordino.evaluation.attacks.linear_probe import linear_probe
from sordino.evaluation.attacks.one_run import Success

__all__ = ["attribute_inference"]


def attribute_inference(
    noised: npt.NDArray[np.float32], lengths: Sequence[int], attributes: Sequence[str], *, groups: Sequence[str]
) -> Success:
    """Reads an attribute off each sequence's mean noised embedding, on sequences that the attacker was not told of.

    The mean over a sequence's tokens takes out most of the noise, which is drawn for each token by itself: hiding words does
    not hide what the words have in common.

    Args:
        noised: what was received, of all tokens, one sequence after the other.
        lengths: tokens of each sequence.
        attributes: of each sequence.
        groups: what must not be on both sides, e.g. the person; the sequence itself where nothing is shared.

    Shape:
        noised: float32 [all tokens, d]

    Raises:
        DataError: fewer than two attributes or groups, or lengths differ.
    """
    ends = np.cumsum(lengths)[:-1]
    means = np.stack([part.mean(axis=0, dtype=np.float64) for part in np.split(noised, ends)])
    return linear_probe(means, attributes, groups=groups)
