"""Attacks: what somebody learns who wants to. They take arrays and callables, and know no model and no trainer."""

from sordino.evaluation.attacks.attribute import attribute_inference
from sordino.evaluation.attacks.canaries import Canaries, Filter, Sighting, matched_filter
from sordino.evaluation.attacks.canary_audit import Finding, Foresight, all_guesses, foresee, judge
from sordino.evaluation.attacks.embedding_inversion import (
    InversionSuccess,
    averaged,
    learned_inversion,
    nearest_tokens,
    token_success,
)
from sordino.evaluation.attacks.gradient_inversion import Inverse, learn_inverse
from sordino.evaluation.attacks.linear_probe import linear_probe
from sordino.evaluation.attacks.lira import Lira, likelihood_ratio
from sordino.evaluation.attacks.membership import loss_drop
from sordino.evaluation.attacks.one_run import (
    Success,
    enough_guesses,
    epsilon_lower_bound,
    p_value,
    require_countable,
)
from sordino.evaluation.attacks.presence import modality_presence
from sordino.evaluation.attacks.recovered_text import Recovery, Transcripts, score_recovery
from sordino.evaluation.attacks.relearn import RelearnTime, relearn_time
from sordino.evaluation.attacks.returned_gradients import labels_from_gradients, tokens_from_gradients
from sordino.evaluation.attacks.speaker_identity import (
    Identity,
    VoiceSpace,
    equal_error_rate,
    identify,
    learn_voices,
)

__all__ = [
    "Canaries",
    "Filter",
    "Finding",
    "Foresight",
    "Identity",
    "Inverse",
    "InversionSuccess",
    "Lira",
    "Recovery",
    "RelearnTime",
    "Sighting",
    "Success",
    "Transcripts",
    "VoiceSpace",
    "all_guesses",
    "attribute_inference",
    "averaged",
    "enough_guesses",
    "epsilon_lower_bound",
    "equal_error_rate",
    "foresee",
    "identify",
    "judge",
    "labels_from_gradients",
    "learn_inverse",
    "learn_voices",
    "learned_inversion",
    "likelihood_ratio",
    "linear_probe",
    "loss_drop",
    "matched_filter",
    "modality_presence",
    "nearest_tokens",
    "p_value",
    "relearn_time",
    "score_recovery",
    "require_countable",
    "token_success",
    "tokens_from_gradients",
]
