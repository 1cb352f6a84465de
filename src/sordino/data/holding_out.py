"""Who or what is kept for the test: some speakers altogether, or some clips of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sordino.data.utterance import Utterance
from sordino.errors import ConfigError
from sordino.seeds import Seeds

__all__ = ["ENOUGH_SPEAKERS", "Division", "hold_out", "hold_out_speakers"]

ENOUGH_SPEAKERS: Final = 5
"""With fewer speakers than this, clips are held out instead: no voice can be spared."""


@dataclass(frozen=True, slots=True)
class Division:
    """Utterances to train on, utterances to test on, and whose speech the latter are."""

    train: tuple[Utterance, ...]
    test: tuple[Utterance, ...]
    test_is: str


def hold_out(utterances: Sequence[Utterance], *, share: float, seed: int) -> Division:
    """Keeps a share of the speakers for the test, or, where there are fewer than five, of each one's clips.

    Args:
        utterances: all of them.
        share: fraction in (0, 1); at least one speaker or clip is kept, and at least one is not.
        seed: fixes which.
    """
    count = len({utterance.speaker for utterance in utterances})
    if count < ENOUGH_SPEAKERS:
        return _by_clip(utterances, share, seed)
    return hold_out_speakers(utterances, min(count - 1, max(1, round(share * count))), seed=seed)


def hold_out_speakers(utterances: Sequence[Utterance], count: int, *, seed: int) -> Division:
    """Keeps all utterances of ``count`` speakers for the test.

    Raises:
        ConfigError: ``count`` is below 1, or leaves nobody to train on.
    """
    speakers = sorted({utterance.speaker for utterance in utterances})
    if not 0 < count < len(speakers):
        raise ConfigError(
            f"{count} test speakers of {len(speakers)}: expected at least 1, and 1 left to train on; choose another number."
        )
    order = Seeds(seed).at("held-out speakers").generator().permutation(len(speakers))
    chosen = {speakers[index] for index in order[:count]}
    return _division(utterances, [utterance.speaker in chosen for utterance in utterances], "held-out speakers")


def _by_clip(utterances: Sequence[Utterance], share: float, seed: int) -> Division:
    held = [False] * len(utterances)
    for speaker in {utterance.speaker for utterance in utterances}:
        own = [index for index, utterance in enumerate(utterances) if utterance.speaker == speaker]
        order = Seeds(seed).at("held-out clips", speaker).generator().permutation(len(own))
        for index in order[: min(len(own) - 1, max(1, round(share * len(own))))]:
            held[own[index]] = True
    return _division(utterances, held, "held-out clips of training speakers")


def _division(utterances: Sequence[Utterance], held: Sequence[bool], test_is: str) -> Division:
    pairs = list(zip(utterances, held, strict=True))
    return Division(tuple(u for u, out in pairs if not out), tuple(u for u, out in pairs if out), test_is)
