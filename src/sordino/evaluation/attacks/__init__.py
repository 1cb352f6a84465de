"""Attacks: what somebody learns who wants to. They take arrays and callables, and know no model and no trainer."""

from sordino.evaluation.attacks.canaries import Canaries, Filter, Sighting, matched_filter
from sordino.evaluation.attacks.canary_audit import Finding, Foresight, all_guesses, foresee, judge
from sordino.evaluation.attacks.membership import loss_drop
from sordino.evaluation.attacks.one_run import (
    Success,
    enough_guesses,
    epsilon_lower_bound,
    p_value,
    require_countable,
)

__all__ = [
    "Canaries",
    "Filter",
    "Finding",
    "Foresight",
    "Sighting",
    "Success",
    "all_guesses",
    "enough_guesses",
    "epsilon_lower_bound",
    "foresee",
    "judge",
    "loss_drop",
    "matched_filter",
    "p_value",
    "require_countable",
]
