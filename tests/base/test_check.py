"""Checks of single values: what passes, what is refused, and that the message names value and remedy."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino._check import at_least, did_you_mean, finite, fraction, one_of, positive
from sordino.errors import ConfigError

CHECKS: list[Callable[[str, float], float]] = [
    finite,
    positive,
    fraction,
    lambda name, value: at_least(name, value, 0),
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "1", None, pytest.param(10**400, id="huge")])
def test_what_is_no_finite_number_passes_no_check(check: Callable[[str, float], float], value: float) -> None:
    with pytest.raises(ConfigError, match=r"z = .*: expected a finite number; set z to such a number\."):
        check("z", value)


@given(value=st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60))
def test_each_check_returns_what_it_lets_through(value: float) -> None:
    assert finite("z", value) == value
    for check, inside in [
        (positive, value > 0),
        (fraction, 0 < value < 1),
        (lambda name, number: at_least(name, number, 3), value >= 3),
    ]:
        if inside:
            assert check("z", value) == value
        else:
            with pytest.raises(ConfigError, match=r"^z = "):
                check("z", value)


@pytest.mark.parametrize(("zero", "one"), [(False, False), (True, False), (False, True), (True, True)])
def test_the_ends_of_a_fraction_count_on_request(zero: bool, one: bool) -> None:
    interval = f"expected a number in {'[' if zero else '('}0, 1{']' if one else ')'}"
    for value, allowed in [(0.0, zero), (1.0, one)]:
        if allowed:
            assert fraction("alpha", value, zero=zero, one=one) == value
        else:
            with pytest.raises(ConfigError) as caught:
                fraction("alpha", value, zero=zero, one=one)
            assert interval in str(caught.value)


def test_messages_name_the_value_and_the_remedy() -> None:
    with pytest.raises(ConfigError, match=r"rounds = 0: expected at least 1; raise rounds\."):
        at_least("rounds", 0, 1)
    with pytest.raises(
        ConfigError, match=r"clip_norm = -2: expected a number above 0; set clip_norm to such a number\."
    ):
        positive("clip_norm", -2)


def test_a_choice_is_returned_or_the_nearest_is_named() -> None:
    assert one_of("unit", "speaker", ["speaker", "client"]) == "speaker"
    with pytest.raises(ConfigError) as caught:
        one_of("unit", "speakr", iter(["speaker", "client"]))
    assert str(caught.value) == (
        "unit = 'speakr' is not known (did you mean 'speaker'?); choose one of speaker, client."
    )


def test_nothing_near_is_suggested_for_a_far_word() -> None:
    assert did_you_mean("zzz", ["speaker", "client"]) == ""
    assert did_you_mean("anything", []) == ""
