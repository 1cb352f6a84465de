"""What a model gets wrong, counted the same way everywhere: word error rates with intervals, by speaker and group."""

from typing import TYPE_CHECKING, Any

from sordino.evaluation.alignment import Edit, align
from sordino.evaluation.groups import Sample, WerReport, score
from sordino.evaluation.holm import holm
from sordino.evaluation.mapsswe import MatchedPairs, mapsswe
from sordino.evaluation.normalise import normalise
from sordino.evaluation.sign_flip import SignFlip, sign_flip
from sordino.evaluation.significance import FEW_SPEAKERS, Interval, difference_interval, speaker_interval
from sordino.evaluation.wer import Errors, character_errors, pooled, word_errors

if TYPE_CHECKING:
    from sordino.evaluation.decoding import transcribe

__all__ = [
    "FEW_SPEAKERS",
    "Edit",
    "Errors",
    "Interval",
    "MatchedPairs",
    "Sample",
    "SignFlip",
    "WerReport",
    "align",
    "character_errors",
    "difference_interval",
    "holm",
    "mapsswe",
    "normalise",
    "pooled",
    "score",
    "sign_flip",
    "speaker_interval",
    "transcribe",
    "word_errors",
]


def __getattr__(name: str) -> Any:
    if name == "transcribe":  # the only name here that needs torch
        from sordino.evaluation.decoding import transcribe

        return transcribe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
