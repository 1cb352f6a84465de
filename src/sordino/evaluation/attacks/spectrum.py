"""What was heard? An attacker rebuilds the spectrum of recordings from the frames that were sent, noise and all.

The attacker has recordings of their own and the law of the noise, puts noise on their own frames, and learns what spectrum
belongs to what was received. A ridge regression on a frame and its neighbours is the best linear guess; its penalty, chosen
on a fifth of the attacker's recordings, takes the noise into account.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sordino.errors import DataError
from sordino.seeds import Seeds

__all__ = ["Rebuilt", "rebuild_spectrum"]

Rows = npt.NDArray[np.float32]

_NEIGHBOURS: Final = 2
_PENALTIES: Final = (0.1, 10.0, 1e3, 1e4, 1e5)
_HELD_OUT: Final = 0.2
_RESAMPLES: Final = 1000


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How much of the spectra came back.

    Attributes:
        explained: ``1 - squared error / squared distance from each band's mean``, over all bands; 1 is everything, 0 what
            somebody has who knows the mean, and below 0 is worse than that.
        ci95: 95 % percentile interval of the bootstrap over recordings.
    """

    explained: float
    ci95: tuple[float, float]

    def to_json(self) -> dict[str, Any]:
        """``success``, at least 0, with ``ci95``; somebody who sees nothing explains nothing."""
        return {"success": max(0.0, self.explained), "chance": 0.0, "ci95": [max(0.0, end) for end in self.ci95]}


def rebuild_spectrum(
    noised: Rows,
    spectra: Rows,
    lengths: Sequence[int],
    *,
    examples: Rows,
    answers: Rows,
    own: Sequence[int],
    seeds: Seeds,
) -> Rebuilt:
    """Learns on the attacker's recordings and rebuilds those that were received.

    Args:
        noised: what was received, of all frames, one recording after the other.
        spectra: what was heard in them.
        lengths: frames of each recording.
        examples: the attacker's frames, noised by the same law.
        answers: what was heard in those.
        own: frames of each of the attacker's recordings.
        seeds: of the bootstrap.

    Shape:
        noised, examples: float32 [all frames, d]
        spectra, answers: float32 [all frames, bands]

    Raises:
        DataError: lengths that do not add up.
    """
    for rows, heard, counted in ((noised, spectra, lengths), (examples, answers, own)):
        if not len(rows) == len(heard) == sum(counted) or not counted:
            raise DataError(
                f"{len(rows)} frames with {len(heard)} spectra in recordings of {sum(counted)} frames: expected as many of "
                "each; attack whole recordings."
            )
    error = (_learned(_with_neighbours(examples, own), answers, own)(_with_neighbours(noised, lengths)) - spectra) ** 2
    spread = (spectra - spectra.mean(axis=0)) ** 2
    starts = np.cumsum([0, *lengths[:-1]])
    wrong, all_ = (np.add.reduceat(part.sum(axis=1, dtype=np.float64), starts) for part in (error, spread))
    drawn = seeds.generator().integers(len(lengths), size=(_RESAMPLES, len(lengths)))
    low, high = np.quantile(1 - wrong[drawn].sum(axis=1) / all_[drawn].sum(axis=1), [0.025, 0.975])
    return Rebuilt(float(1 - wrong.sum() / all_.sum()), (float(low), float(high)))


def _learned(examples: Rows, answers: Rows, own: Sequence[int]) -> Callable[[Rows], Rows]:
    """A ridge regression; with a single recording there is none to choose the penalty on, and the middle one is taken."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def fitted(penalty: float, last: int) -> Callable[[Rows], Rows]:
        model = make_pipeline(StandardScaler(), Ridge(penalty)).fit(examples[:last], answers[:last])
        return lambda rows: np.asarray(model.predict(rows), np.float32)

    first = sum(own[: len(own) - round(_HELD_OUT * len(own))])
    if first == len(examples):
        return fitted(_PENALTIES[len(_PENALTIES) // 2], first)

    def error(penalty: float) -> float:
        return float(np.square(fitted(penalty, first)(examples[first:]) - answers[first:]).sum())

    return fitted(min(_PENALTIES, key=error), len(examples))


def _with_neighbours(rows: Rows, lengths: Sequence[int]) -> Rows:
    """Each frame beside those before and after it, the first and last repeated: float32 [all frames, 5 d]."""
    shifts = range(-_NEIGHBOURS, _NEIGHBOURS + 1)
    parts = np.split(rows, np.cumsum(lengths)[:-1])
    places = [np.clip(np.arange(len(part))[:, None] + shifts, 0, len(part) - 1) for part in parts]
    return np.concatenate([part[at].reshape(len(part), -1) for part, at in zip(parts, places, strict=True)])
