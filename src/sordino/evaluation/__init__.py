"""What a model gets wrong, counted the same way everywhere: word error rates with intervals, by speaker and group."""

from typing import TYPE_CHECKING, Any

from sordino.evaluation.alignment import Edit, align
from sordino.evaluation.emotion import EmotionReport, SentimentReport, accuracy_change, emotion_report, sentiment_report
from sordino.evaluation.folds import speaker_folds
from sordino.evaluation.groups import WerReport, pool, score
from sordino.evaluation.holm import holm
from sordino.evaluation.mapsswe import MatchedPairs, mapsswe, matched_pairs
from sordino.evaluation.masks import MaskReport, all_masks, mask_name, score_masks
from sordino.evaluation.normalise import normalise
from sordino.evaluation.samples import Mark, Sample, mark
from sordino.evaluation.sign_flip import SignFlip, sign_flip
from sordino.evaluation.significance import FEW_SPEAKERS, Interval, difference_interval, speaker_interval
from sordino.evaluation.wer import Errors, character_errors, pooled, word_errors

if TYPE_CHECKING:
    from sordino.evaluation.decoding import transcribe

__all__ = [
    "FEW_SPEAKERS",
    "Edit",
    "EmotionReport",
    "Errors",
    "Interval",
    "Mark",
    "MaskReport",
    "MatchedPairs",
    "Sample",
    "SentimentReport",
    "SignFlip",
    "WerReport",
    "accuracy_change",
    "align",
    "all_masks",
    "character_errors",
    "difference_interval",
    "emotion_report",
    "holm",
    "mapsswe",
    "mark",
    "mask_name",
    "matched_pairs",
    "normalise",
    "pool",
    "pooled",
    "score",
    "score_masks",
    "sentiment_report",
    "sign_flip",
    "speaker_folds",
    "speaker_interval",
    "transcribe",
    "word_errors",
]


def __getattr__(name: str) -> Any:
    if name == "transcribe":  # the only name here that needs torch
        from sordino.evaluation.decoding import transcribe

        return transcribe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
