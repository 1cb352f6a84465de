"""The ``[privacy]`` table: what it refuses and by which key."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from sordino.config import build
from sordino.errors import ConfigError
from sordino.privacy import PrivacyOptions
from sordino.privacy.allocations.split import AlphaSplit


def options(**table: Any) -> PrivacyOptions:
    return build(PrivacyOptions, {"epsilon": 8.0, **table}, at="privacy")


def test_a_target_or_a_noise_multiplier_is_needed_unless_there_is_no_mechanism() -> None:
    with pytest.raises(ConfigError, match=r"privacy\.epsilon and privacy\.noise_multiplier are both missing"):
        build(PrivacyOptions, {}, at="privacy")
    for table in ({"epsilon": 8}, {"noise_multiplier": 0}, {"mechanism": "none"}):
        build(PrivacyOptions, table, at="privacy")


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"clip_norm": 0.0}, "privacy.clip_norm = 0.0"),
        ({"clip_norm": -math.inf}, "privacy.clip_norm = -inf"),
        ({"clip_norm": math.nan}, "privacy.clip_norm = nan"),
        ({"noise_multiplier": -1.0}, "privacy.noise_multiplier = -1.0"),
        ({"noise_multiplier": math.inf}, "privacy.noise_multiplier = inf"),
        ({"epsilon": 0.0}, "privacy.epsilon = 0.0"),
        ({"epsilon": math.inf}, "privacy.epsilon = inf"),
        ({"delta": 0.0}, "privacy.delta = 0.0"),
        ({"delta": 1.0}, "privacy.delta = 1.0"),
        ({"population": 0}, "privacy.population = 0"),
        ({"grouping": "tensors"}, "did you mean 'tensor'"),
        ({"unit": "person"}, "privacy.unit = 'person'"),
        ({"mechanism": "gausian"}, "did you mean 'gaussian'"),
        ({"allocation": "alpha-splt"}, "did you mean 'alpha-split'"),
        ({"allocation": {"method": "alpha-split", "alpha": 1.0}}, "privacy.allocation.alpha = 1.0"),
        ({"allocation": {"method": "dim-ema", "ema_source": "row"}}, "did you mean 'raw'"),
        ({"epsilom": 8.0}, "did you mean 'epsilon'"),
    ],
)
def test_bad_values_name_their_key(table: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        options(**table)
    assert named in str(caught.value)


def test_an_allocation_is_chosen_by_name_and_options() -> None:
    assert options(allocation={"method": "alpha-split", "alpha": 0.1}).allocation == AlphaSplit(alpha=0.1)


def test_delta_must_be_below_one_over_the_population_unless_forced() -> None:
    for delta in (0.01, 0.02):
        with pytest.raises(ConfigError, match="is not below 1/population"):
            options(delta=delta).delta_for(100)
        assert options(delta=delta, force_delta=True).delta_for(100) == delta
    assert options(delta=0.0099).delta_for(100) == 0.0099


def test_the_default_delta() -> None:
    assert options().delta_for(100) == 1e-5
    assert options().delta_for(10**6) == pytest.approx(1e-7)


def test_names_and_options_need_no_torch() -> None:
    code = (
        "import sys, sordino.privacy as p; p.ALLOCATIONS.names(); p.PrivacyOptions; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
