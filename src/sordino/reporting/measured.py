"""What figures of error rates need, whether of a single run or of a variant over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sordino.reporting.runs import Rate

__all__ = ["Measured"]


class Measured(Protocol):
    """A `Run`, or a `Variant` of a comparison."""

    @property
    def label(self) -> str:
        """Its name in legends."""

    @property
    def test_is(self) -> str:
        """Whose speech the rates are measured on."""

    @property
    def rates(self) -> Sequence[tuple[int, Rate]]:
        """Every measured round with its rate, rising."""

    @property
    def rate_after(self) -> Rate | None:
        """Of the finished model."""

    @property
    def epsilon(self) -> float | None:
        """The least proven epsilon; None without one."""

    @property
    def unit(self) -> str:
        """Whom it protects."""
