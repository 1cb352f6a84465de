"""From the output distributions of frames to symbols: the likeliest path, or the likeliest text by prefix beam search.

No well-kept library searches over any set of symbols with a current numpy and without a compiled toolkit of language
models, so the search is here: small, and held to brute force over all alignments by its tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np
import numpy.typing as npt

from sordino._check import at_least
from sordino.evaluation.ctc.lexicon import Lexicon, Prefix

__all__ = ["beam_search", "greedy_path"]

_NEVER: Final = -math.inf


def greedy_path(log_probs: npt.NDArray[np.floating], *, blank: int) -> list[int]:
    """The likeliest symbol of each frame, repetitions merged and blanks dropped.

    Shape:
        log_probs: [frames, symbols].
    """
    return [place for place, _ in groupby(log_probs.argmax(axis=1).tolist()) if place != blank]


@dataclass(frozen=True, slots=True)
class _Beam:
    """The prefixes kept, the likeliest first, and the log-probability of the alignments that give each.

    Shape:
        blank: float64 [prefixes], of alignments that end in a blank.
        symbol: float64 [prefixes], of those that end in the prefix's last symbol.
    """

    prefixes: Sequence[Prefix]
    blank: npt.NDArray[np.float64]
    symbol: npt.NDArray[np.float64]

    @property
    def total(self) -> npt.NDArray[np.float64]:
        return np.logaddexp(self.blank, self.symbol)


def beam_search(
    log_probs: npt.NDArray[np.floating], *, blank: int, beam: int = 16, lexicon: Lexicon | None = None
) -> tuple[list[int], float]:
    """The likeliest sequence of symbols, each being as likely as all its alignments together.

    ``P(text) = sum over its alignments of prod_t P_t(symbol)``, where an alignment gives its text by merging repetitions and
    then dropping blanks. After each frame the ``beam`` likeliest prefixes are kept; if that is all of them, the search is
    exact. Probabilities are summed in logarithms.

    ============================== =======================================================================
    case                           result
    ============================== =======================================================================
    no frame                       no symbol, log-probability 0
    no kept prefix may end         the likeliest one, without the word that is not finished
    equally likely                 the one that was the likelier a frame earlier
    ============================== =======================================================================

    Args:
        log_probs: logarithms of each frame's distribution.
        blank: index of the blank.
        beam: prefixes kept after each frame.
        lexicon: lets only words of a list out; any sequence if not given.

    Shape:
        log_probs: [frames, symbols].

    Returns:
        The symbols, and the logarithm of the probability of those alignments that were kept.

    Raises:
        ConfigError: ``beam`` below 1.

    Source: Graves and Jaitly, Towards End-To-End Speech Recognition with Recurrent Neural Networks, 2014; Hannun et al.,
    First-Pass Large Vocabulary Continuous Speech Recognition using Bi-Directional Recurrent DNNs, 2014.
    """
    at_least("beam", beam, 1)
    kept = _Beam([()], np.zeros(1), np.full(1, _NEVER))
    for frame in np.asarray(log_probs, np.float64):
        kept = _next(kept, frame, blank=blank, beam=beam, lexicon=lexicon)
    ends = (index for index, prefix in enumerate(kept.prefixes) if lexicon is None or lexicon.may_end(prefix))
    best = next(ends, 0)
    prefix = kept.prefixes[best]
    return list(lexicon.finished(prefix) if lexicon else prefix), float(kept.total[best])


def _next(kept: _Beam, frame: npt.NDArray[np.float64], *, blank: int, beam: int, lexicon: Lexicon | None) -> _Beam:
    """The beam one frame later.

    Shape:
        frame: [symbols].
    """
    total = kept.total
    last = np.array([prefix[-1] if prefix else blank for prefix in kept.prefixes])
    longer = total[:, None] + frame  # [prefixes, symbols]: one symbol more
    longer[np.arange(len(last)), last] = kept.blank + frame[last]  # the same symbol again needs a blank between
    longer[:, blank] = _NEVER
    if lexicon is not None:
        longer += _allowed(kept.prefixes, lexicon, size=len(frame))
    same_blank = total + frame[blank]
    same_symbol = kept.symbol + frame[last]  # never, for the empty prefix
    places = {prefix: row for row, prefix in enumerate(kept.prefixes)}
    for row, prefix in enumerate(kept.prefixes):
        shorter = places.get(prefix[:-1]) if prefix else None
        if shorter is not None:  # two ways to the same prefix
            same_symbol[row] = np.logaddexp(same_symbol[row], longer[shorter, prefix[-1]])
            longer[shorter, prefix[-1]] = _NEVER
    scores = np.concatenate([np.logaddexp(same_blank, same_symbol), longer.ravel()])
    best = np.argsort(-scores, kind="stable")[:beam]
    best = best[scores[best] > _NEVER] if scores[best[0]] > _NEVER else best[:1]
    stays = best < len(last)
    return _Beam(
        [_prefix(kept.prefixes, place, size=len(frame)) for place in best.tolist()],
        np.where(stays, same_blank[best * stays], _NEVER),
        np.where(stays, same_symbol[best * stays], scores[best]),
    )


def _prefix(prefixes: Sequence[Prefix], place: int, *, size: int) -> Prefix:
    """The prefix at a place among the candidates: the old ones first, then each of them with each symbol."""
    if place < len(prefixes):
        return prefixes[place]
    row, symbol = divmod(place - len(prefixes), size)
    return (*prefixes[row], symbol)


def _allowed(prefixes: Sequence[Prefix], lexicon: Lexicon, *, size: int) -> npt.NDArray[np.float64]:
    """0 for symbols that may follow, minus infinity for others: [prefixes, symbols]."""
    allowed = np.full((len(prefixes), size), _NEVER)
    for row, prefix in enumerate(prefixes):
        allowed[row, list(lexicon.after(prefix))] = 0
    return allowed
