"""The phases of a round, which share one cohort, as one event.

Given the cohort, each phase is a Gaussian mechanism of multiplier z_i, chosen after seeing what the earlier ones released.
Adaptive composition of Gaussian mechanisms is dominated by a single one of multiplier ``z = (sum z_i**-2)**(-1/2)`` (Dong,
Roth and Su, Gaussian Differential Privacy, 2022, corollary 2). One draw serves all phases, so random sampling acts on the
composition as a whole, and what dominates a mechanism still dominates it after sampling (Zhu, Dong and Wang, Optimal
Accounting of Differential Privacy via Characteristic Function, 2022, theorem 11). To charge the phases one by one, as if
each had drawn its own cohort, would be wrong.

A phase whose uploads leave the clients one by one shows who took part: then nothing of the round is amplified by sampling,
and what is compared is one client's recordings replaced by others, which moves an upload, or a sum, by up to 2 C.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from sordino.errors import PrivacyError
from sordino.privacy.events import (
    Event,
    FixedSizeGaussian,
    GaussianEvent,
    GaussianRelease,
    PlainRelease,
    PoissonGaussian,
)

__all__ = ["alike", "client_event", "joint"]

_REPLACED: Final = "replace-one"
_UPLOADS: Final = "what clients sent, noised by each, and everybody's models made of it"


def client_event(noise_multiplier: float) -> GaussianRelease:
    """What it costs that every client's upload, clipped to C, leaves it by itself with noise of standard deviation z C.

    Its recordings may be replaced by any others, which moves the upload by up to 2 C: a Gaussian of multiplier z / 2. That a
    client answers at all is not hidden, so nothing is amplified by sampling, whoever was drawn; a round is charged in full
    for everybody, though a client that was not drawn has sent nothing.
    """
    return GaussianRelease(noise_multiplier=noise_multiplier / 2, neighbours=_REPLACED, what=_UPLOADS)


def joint(events: Sequence[Event]) -> Event:
    """All phases of one round as one event.

    | phases | together |
    |---|---|
    | one | itself |
    | sums of one cohort, noised by the server | that cohort's event, with ``(sum z_i**-2)**(-1/2)`` |
    | one of them noised by the clients | a `GaussianRelease` under replacement; a sum's z counts half |
    | one of them plain | a `PlainRelease` |

    Raises:
        PrivacyError: none, or events that are no phases of one round.
    """
    if len(events) == 1:
        return events[0]
    plain = dict.fromkeys(event.what for event in events if isinstance(event, PlainRelease))
    if plain:
        return PlainRelease(what="; ".join(plain))
    gaussian = [event for event in alike(events) if isinstance(event, GaussianEvent)]
    kinds = {replace(event, noise_multiplier=0.0) for event in gaussian}
    if len(kinds) != 1 or len(gaussian) < len(events):
        raise PrivacyError(
            f"{len(events)} events cannot be the phases of one round; give all phases one cohort and one population."
        )
    return replace(gaussian[0], noise_multiplier=_together([event.noise_multiplier for event in gaussian]))


def alike(events: Sequence[Event]) -> Sequence[Event]:
    """The events as they are; but sums beside uploads that clients noised themselves as replacements, which those are.

    What is added or left out at most once is replaced at most twice as far, whoever is known to be there: of a sum's z half
    counts, and nothing is amplified by sampling.
    """
    replacing = any(isinstance(event, GaussianRelease) and event.adjacency == _REPLACED for event in events)
    return [_replaced(event) for event in events] if replacing else events


def _replaced(event: Event) -> Event:
    if isinstance(event, PoissonGaussian | FixedSizeGaussian):
        return client_event(event.noise_multiplier)
    return event


def _together(multipliers: Sequence[float]) -> float:
    if min(multipliers) == 0:
        return 0.0
    return 1 / math.sqrt(math.fsum(z**-2 for z in multipliers))
