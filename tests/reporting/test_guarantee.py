"""What an epsilon allows, against first principles, and every parameter on the page."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sordino.privacy import PoissonGaussian, Terms, make_statement
from sordino.reporting import read_run
from sordino.reporting.guarantee import best_guess, guarantee_of
from sordino.reporting.runs import Run


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 1e-2), (math.log(3), 0.2), (8.0, 1e-5)])
def test_the_best_guess_is_that_against_the_worst_mechanism(epsilon: float, delta: float) -> None:
    """Every (epsilon, delta) mechanism is a degradation of one with four outcomes; the best test goes by likelihood."""
    likely = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    unlikely = (1 - delta) / (1 + math.exp(epsilon))
    with_person = np.array([delta, likely, unlikely, 0])
    without = np.array([0, unlikely, likely, delta])
    assert best_guess(epsilon, delta) == pytest.approx(np.maximum(with_person, without).sum() / 2)


def test_extreme_epsilons() -> None:
    assert best_guess(1e6, 1e-5) == 1.0
    assert best_guess(0.0, 0.0) == 0.5


def test_figures_of_a_sound_run(runs: dict[str, Path]) -> None:
    guarantee = guarantee_of(read_run(runs["sound"]))
    assert guarantee is not None
    assert guarantee.sound
    assert guarantee.epsilon == pytest.approx(5.85)  # 5.841 rounded up
    assert guarantee.certainty == best_guess(5.85, 1e-5)
    assert guarantee.average is not None
    assert 0.5 < guarantee.average < guarantee.certainty
    assert (guarantee.epsilon, guarantee.certainty) in guarantee.certainties
    assert list(guarantee.certainties) == sorted(guarantee.certainties)
    shown = {parameter.name: parameter.value for parameter in guarantee.parameters}
    assert shown["Noise multiplier z"] == "1"
    assert shown["Sampling"] == "Poisson, q = 0.5"
    assert shown["Population K"] == "6 clients"
    assert shown["Charged"] == "3 times"
    assert shown["Delta"] == "1e-05"
    assert shown["Randomness"] == "fresh, cryptographic"
    assert shown["Adjacency"] == "add or remove one"
    assert shown["Clip norm C"] == "1"


def test_above_epsilon_20_no_average_softens_it(runs: dict[str, Path]) -> None:
    guarantee = guarantee_of(read_run(runs["weak"]))
    assert guarantee is not None
    assert not guarantee.sound
    assert guarantee.average is None
    assert guarantee.verdict == "A guarantee in name only"


def test_without_privacy_there_are_no_figures(runs: dict[str, Path]) -> None:
    guarantee = guarantee_of(read_run(runs["none"]))
    assert guarantee is not None
    assert (guarantee.epsilon, guarantee.certainty, guarantee.average) == (None, None, None)
    assert guarantee.verdict == "No privacy guarantee"
    assert "Clip norm C" not in {parameter.name for parameter in guarantee.parameters}


def test_a_clip_norm_that_moves_is_not_called_the_bound_of_every_round() -> None:
    event = PoissonGaussian(noise_multiplier=1.0, rate=0.5)
    terms = Terms(unit="speaker", population=6, clients_per_speaker=1, delta=1e-5)
    privacy = {"clip_norm": 1.0, "allocation": {"method": "flat"}, "tracking": {"quantile": 0.5}}
    run = Run(
        label="run",
        path=Path("run"),
        config={"privacy": privacy},
        config_text="",
        rounds=(),
        statement=make_statement(terms, [event]),
        result=None,
        before=(),
        after=(),
        seen=(),
    )
    guarantee = guarantee_of(run)
    assert guarantee is not None
    (clip_norm,) = (parameter for parameter in guarantee.parameters if parameter.name == "Clip norm C")
    assert "The first round's" in clip_norm.meaning
