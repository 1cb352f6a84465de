"""Attacks: what somebody learns who wants to. They take arrays and callables, and know no model and no trainer."""

from sordino.evaluation.attacks.canaries import Canaries, Filter, Sighting, matched_filter
from sordino.evaluation.attacks.canary_audit import Finding, Foresight, all_guesses, foresee, judge
from sordino.evaluation.attacks.linear_probe import linear_probe
from sordino.evaluation.attacks.membership import loss_drop
from sordino.evaluation.attacks.one_run import (
    Success,
    enough_guesses,
    epsilon_lower_bound,
    p_value,
    require_countable,
)
from sordino.evaluation.attacks.presence import modality_presence
from sordino.evaluation.attacks.relearn import RelearnTime, relearn_time

__all__ = [
    "Canaries",
    "Filter",
    "Finding",
    "Foresight",
    "RelearnTime",
    "Sighting",
    "Success",
    "all_guesses",
    "enough_guesses",
    "epsilon_lower_bound",
    "foresee",
    "judge",
    "linear_probe",
    "loss_drop",
    "matched_filter",
    "modality_presence",
    "p_value",
    "relearn_time",
    "require_countable",
]
