"""Guarantees: how updates are bounded, noised, released and paid for.

Names and options are here without torch; the plan and its types are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sordino.privacy.allocations import ALLOCATIONS, Allocation, AllocationState, ClipBounds, ReleasedNorms
from sordino.privacy.cohort import COHORTS, CohortSampler, FixedSize, Poisson
from sordino.privacy.events import (
    Event,
    FixedSizeGaussian,
    GaussianRelease,
    MetricRelease,
    PlainRelease,
    PoissonGaussian,
)
from sordino.privacy.noise import NoiseSource
from sordino.privacy.options import PrivacyOptions
from sordino.privacy.steps import Phase, Reads, Step
from sordino.privacy.tracking import Tracking

if TYPE_CHECKING:
    from sordino.privacy.accounting import Epsilon, epsilon, guaranteed
    from sordino.privacy.bounding import Bounding, Measured, Parcel
    from sordino.privacy.calibration import affordable_rounds, noise_multiplier_for
    from sordino.privacy.clipping import Clipper
    from sordino.privacy.guarantee import make_plan, make_round_plan, make_terms
    from sordino.privacy.ledger import Ledger, Receipt, Terms, read_ledger
    from sordino.privacy.local_noise import Noising
    from sordino.privacy.mixing import Mixing
    from sordino.privacy.non_private import NonPrivate
    from sordino.privacy.phases import PhasedPlan, RoundPlan, round_event
    from sordino.privacy.plan import Learned, Mechanism, Plan, PrivacyPlan
    from sordino.privacy.shares import NoiseShares
    from sordino.privacy.statement import Statement, make_statement, statement_of_run
    from sordino.privacy.updates import ClippedSum, ClippedUpdate, Released, Update

_LATER = {
    "accounting": ("Epsilon", "epsilon", "guaranteed"),
    "calibration": ("affordable_rounds", "noise_multiplier_for"),
    "bounding": ("Bounding", "Measured", "Parcel"),
    "clipping": ("Clipper",),
    "guarantee": ("make_plan", "make_round_plan", "make_terms"),
    "ledger": ("Ledger", "Receipt", "Terms", "read_ledger"),
    "local_noise": ("Noising",),
    "mixing": ("Mixing",),
    "phases": ("PhasedPlan", "RoundPlan", "round_event"),
    "non_private": ("NonPrivate",),
    "shares": ("NoiseShares",),
    "plan": ("Learned", "Mechanism", "Plan", "PrivacyPlan"),
    "statement": ("Statement", "make_statement", "statement_of_run"),
    "updates": ("ClippedSum", "ClippedUpdate", "Released", "Update"),
}

__all__ = [
    "ALLOCATIONS",
    "COHORTS",
    "Allocation",
    "AllocationState",
    "Bounding",
    "ClipBounds",
    "ClippedSum",
    "ClippedUpdate",
    "Clipper",
    "CohortSampler",
    "Epsilon",
    "Event",
    "FixedSize",
    "FixedSizeGaussian",
    "GaussianRelease",
    "Learned",
    "Ledger",
    "Measured",
    "Mechanism",
    "MetricRelease",
    "NoiseShares",
    "Mixing",
    "NoiseSource",
    "Noising",
    "NonPrivate",
    "Parcel",
    "PlainRelease",
    "Phase",
    "PhasedPlan",
    "Plan",
    "Poisson",
    "PoissonGaussian",
    "PrivacyOptions",
    "PrivacyPlan",
    "Reads",
    "Receipt",
    "Released",
    "ReleasedNorms",
    "RoundPlan",
    "Statement",
    "Step",
    "Terms",
    "Tracking",
    "Update",
    "affordable_rounds",
    "epsilon",
    "guaranteed",
    "make_plan",
    "make_round_plan",
    "make_terms",
    "noise_multiplier_for",
    "read_ledger",
    "round_event",
    "make_statement",
    "statement_of_run",
]


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
