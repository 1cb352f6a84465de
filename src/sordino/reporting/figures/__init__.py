"""The figures of a report, one module each. All take records and give a `Plate`, or None where the records have nothing."""

from sordino.reporting.figures.clipping import clip_rates
from sordino.reporting.figures.epsilon_by_round import epsilon_by_round
from sordino.reporting.figures.loss import training_loss
from sordino.reporting.figures.norms_by_group import norms_by_group
from sordino.reporting.figures.norms_by_round import norms_by_round
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.wer_against_epsilon import wer_against_epsilon
from sordino.reporting.figures.wer_by_group import wer_by_group
from sordino.reporting.figures.wer_by_round import wer_by_round

__all__ = [
    "Plate",
    "clip_rates",
    "epsilon_by_round",
    "norms_by_group",
    "norms_by_round",
    "training_loss",
    "wer_against_epsilon",
    "wer_by_group",
    "wer_by_round",
]
