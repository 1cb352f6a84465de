"""Several tests at once: p-values that stay honest when the best of many is picked."""

from __future__ import annotations

from collections.abc import Mapping

from sordino.errors import DataError

__all__ = ["holm"]


def holm(p_values: Mapping[str, float]) -> Mapping[str, float]:
    """Holm's step-down correction; the chance of even one false rejection stays below the level.

    With ``p_(1) <= ... <= p_(m)``, the corrected value of ``p_(k)`` is ``max_{j <= k} min(1, (m - j + 1) p_(j))``. It is
    never larger than Bonferroni's ``m p`` and needs no independence of the tests.

    Returns:
        Corrected values under the same names, in the same order; compare each with the level itself.

    Raises:
        DataError: a value outside 0 to 1.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    corrected: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        if not 0 <= p_values[name] <= 1:
            raise DataError(f"the p-value of {name!r} is {p_values[name]}: expected 0 to 1; correct the test.")
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}
