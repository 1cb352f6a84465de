"""How numbers are written for people, the same in every template."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

__all__ = [
    "DASH",
    "at_most",
    "in_shell",
    "interval",
    "number",
    "p_value",
    "percent",
    "points",
    "points_interval",
    "rounded_up",
]

DASH = "\N{EN DASH}"


def percent(fraction: float | None) -> str:
    """A rate: ``28.3 %``, or a dash."""
    return DASH if fraction is None else f"{100 * fraction:.1f}\N{NO-BREAK SPACE}%"


def interval(bounds: tuple[float, float] | None) -> str:
    """Both ends of a rate's interval: ``20.8 to 36.0 %``, or a dash."""
    return DASH if bounds is None else f"{100 * bounds[0]:.1f} to {100 * bounds[1]:.1f}\N{NO-BREAK SPACE}%"


def points(difference: float | None) -> str:
    """A difference of rates in percentage points, with its sign: ``+1.2``, or a dash."""
    return DASH if difference is None else signed(100 * difference, 1)


def points_interval(bounds: Sequence[float] | None) -> str:
    """Both ends of a difference's interval, in points: ``-1.2 to +0.4``, or a dash."""
    return DASH if bounds is None else f"{points(bounds[0])} to {points(bounds[1])}"


def signed(value: float, digits: int) -> str:
    """A number with its sign and so many decimals."""
    return f"{value:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def number(value: float | None) -> str:
    """Four significant digits, thousands apart, or a dash."""
    if value is None:
        return DASH
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def rounded_up(epsilon: float) -> str:
    """An epsilon to two decimals, rounded up: a claim must not be below what was proven."""
    return f"{math.ceil(100 * epsilon) / 100:,.2f}"


def at_most(fraction: float) -> str:
    """A bound in percent, rounded up so that it stays one: ``99.97 %``; ``almost 100 %`` where no decimal would show."""
    rounded = math.ceil(fraction * 10_000) / 100
    return f"{rounded:.4g}\N{NO-BREAK SPACE}%" if rounded < 100 else "almost 100\N{NO-BREAK SPACE}%"


def in_shell(path: object) -> str:
    """A path as a command takes it, in quotes where it needs them."""
    return shlex.quote(str(path))


def p_value(p: float) -> str:
    """A p-value to three decimals: ``0.031``, or ``< 0.001``."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"
