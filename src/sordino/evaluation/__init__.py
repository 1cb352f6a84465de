"""What a model gets wrong, counted the same way everywhere: word error rates with intervals, by speaker and group."""

from sordino.evaluation.groups import Sample, WerReport, score
from sordino.evaluation.normalise import normalise
from sordino.evaluation.significance import FEW_SPEAKERS, Interval, difference_interval, speaker_interval
from sordino.evaluation.wer import Errors, character_errors, pooled, word_errors

__all__ = [
    "FEW_SPEAKERS",
    "Errors",
    "Interval",
    "Sample",
    "WerReport",
    "character_errors",
    "difference_interval",
    "normalise",
    "pooled",
    "score",
    "speaker_interval",
    "word_errors",
]
