"""The figures of a report, one module each. All take records and give a `Plate`, or None where the records have nothing."""

from sordino.reporting.figures.clipping import clip_rates, clip_ratios, clipping_dynamics
from sordino.reporting.figures.effective_noise import effective_noise
from sordino.reporting.figures.epsilon_by_round import epsilon_by_round
from sordino.reporting.figures.loss import training_loss
from sordino.reporting.figures.norm_ratio import norm_ratio
from sordino.reporting.figures.norms_by_group import norms_by_group
from sordino.reporting.figures.norms_by_round import norms_by_round
from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.signal_to_noise import signal_to_noise, signal_to_noise_by_variant
from sordino.reporting.figures.wer_against_epsilon import wer_against_epsilon
from sordino.reporting.figures.wer_by_group import wer_by_group
from sordino.reporting.figures.wer_by_round import wer_by_round
from sordino.reporting.figures.wer_by_variant import wer_by_variant

__all__ = [
    "Plate",
    "clip_rates",
    "clip_ratios",
    "clipping_dynamics",
    "effective_noise",
    "epsilon_by_round",
    "norm_ratio",
    "norms_by_group",
    "norms_by_round",
    "signal_to_noise",
    "signal_to_noise_by_variant",
    "training_loss",
    "wer_against_epsilon",
    "wer_by_group",
    "wer_by_round",
    "wer_by_variant",
]
