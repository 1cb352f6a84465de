"""The guarantee in words: never more than was proven, and recomputed from the ledger alone."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sordino.errors import PrivacyError
from sordino.privacy import (
    FixedSizeGaussian,
    GaussianRelease,
    Ledger,
    MetricRelease,
    PlainRelease,
    PoissonGaussian,
    Statement,
    Terms,
    epsilon,
    make_statement,
    statement_of_run,
)

TERMS = Terms(unit="client", population=100, clients_per_speaker=1, delta=1e-5)
MILD = PoissonGaussian(noise_multiplier=2.0, rate=0.3)


def claimed(statement: Statement) -> float:
    found = re.search(r"\((\d+\.\d+), 1e-05\)-differential privacy", statement.words)
    assert found, statement.words
    return float(found.group(1))


def test_figures_and_words() -> None:
    result = make_statement(TERMS, [MILD] * 5)
    pld = epsilon([MILD] * 5, delta=1e-5).value
    assert result.epsilon["pld"] == pld
    assert result.epsilon["rdp"] == epsilon([MILD] * 5, delta=1e-5, accountant="rdp").value
    assert result.rounds == 5
    assert result.releases == ((MILD.to_json(), 5),)
    assert "for each client" in result.words
    assert "one client's recordings added or left out" in result.words
    assert "in name only" not in result.words
    odds = re.search(r"more than e\^([\d.]+) = ([\d.,]+) times likelier", result.words)
    assert odds
    assert float(odds.group(2).replace(",", "")) == pytest.approx(math.exp(float(odds.group(1))), rel=1e-2)


def test_figures_are_written_for_people() -> None:
    once = make_statement(TERMS, [PoissonGaussian(noise_multiplier=0.62, rate=0.2)])
    assert "no outcome of the round becomes" in once.words
    many = make_statement(TERMS, [PoissonGaussian(noise_multiplier=0.7366, rate=0.2)] * 8)
    assert re.search(r"of the 8 rounds becomes more than e\^(8\.0\d) = 2,98\d times", many.words)


@pytest.mark.parametrize("z", [1.0, 1.4, 2.0, 3.3])
def test_the_claim_is_rounded_up_and_hardly(z: float) -> None:
    events = [PoissonGaussian(noise_multiplier=z, rate=0.2)] * 3
    proven = epsilon(events, delta=1e-5).value
    assert proven is not None
    assert proven <= claimed(make_statement(TERMS, events)) <= proven + 0.0101


def test_a_large_epsilon_is_a_guarantee_in_name_only() -> None:
    weak = [PoissonGaussian(noise_multiplier=0.1, rate=0.3)] * 40
    words = make_statement(TERMS, weak).words
    assert words.startswith("A guarantee in name only.")
    assert "do not call this run private" in words
    assert "e^1252" in words


def test_fixed_size_cohorts_are_said_to_hide_a_replacement() -> None:
    fixed = FixedSizeGaussian(noise_multiplier=4.0, size=5, population=100)
    result = make_statement(TERMS, [fixed] * 3)
    assert "one client's recordings replaced by another's" in result.words
    assert result.epsilon["pld"] is None
    assert "without replacement" in str(result.epsilon["pld_reason"])
    assert claimed(result) >= float(result.epsilon["rdp"] or math.inf)


def test_speakers_and_sessions_have_a_figure_each() -> None:
    terms = replace(TERMS, unit="speaker", clients_per_speaker=2)
    result = make_statement(terms, [MILD] * 3)
    assert set(result.by_unit) == {"client", "speaker"}
    assert result.epsilon == result.by_unit["speaker"]
    assert float(result.by_unit["speaker"]["pld"] or 0) > float(result.by_unit["client"]["pld"] or math.inf)
    assert "for each speaker" in result.words
    assert claimed(result) >= float(result.epsilon["pld"] or math.inf)
    assert result.epsilon["rdp"] is None
    assert set(make_statement(replace(TERMS, unit="speaker"), [MILD]).by_unit) == {"speaker"}


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([PlainRelease(what="the mean")], "released without noise"),
        ([MILD, PlainRelease(what="the mean")], "released without noise"),
        ([PoissonGaussian(noise_multiplier=0.0, rate=0.3)], "released without noise"),
        ([MILD, FixedSizeGaussian(noise_multiplier=9.0, size=5, population=100)], "different adjacencies"),
    ],
)
def test_without_a_bound_nothing_is_claimed(events: list[PoissonGaussian], why: str) -> None:
    result = make_statement(TERMS, events)
    assert result.words.startswith("No privacy guarantee: ")
    assert why in result.words
    assert "differential privacy" not in result.words
    assert (result.epsilon["pld"], result.epsilon["rdp"]) == (None, None)
    assert why in str(result.epsilon["pld_reason"])


def test_caveats_and_seeds_are_always_said() -> None:
    terms = replace(TERMS, seeded=True, caveats=("debug telemetry wrote losses", "norms were read raw"))
    for events in ([MILD], [PlainRelease(what="the mean")], []):
        result = make_statement(terms, events)
        assert "seeded simulation" in result.words
        for caveat in terms.caveats:
            assert f"Not covered: {caveat}." in result.words
        assert result.to_json()["seeded"] is True
        assert result.to_json()["caveats"] == list(terms.caveats)


def test_nothing_released_costs_nothing() -> None:
    result = make_statement(TERMS, [])
    assert result.epsilon == {"pld": 0.0, "rdp": 0.0}
    assert result.rounds == 0


def test_the_statement_is_recomputed_from_the_file_alone(tmp_path: Path) -> None:
    terms = replace(TERMS, unit="speaker", clients_per_speaker=2, budget=50.0, caveats=("debug",))
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger:
        for number in (1, 2, 2, 3):
            ledger.charge(MILD, round=number)
        during = make_statement(ledger.terms, ledger.events)
        assert statement_of_run(tmp_path) == during
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    (copy / "ledger.jsonl").write_bytes((tmp_path / "ledger.jsonl").read_bytes())
    again = statement_of_run(copy)
    assert again == during == statement_of_run(copy)
    assert again.rounds == 4
    table = json.loads(json.dumps(again.to_json(), allow_nan=False))
    assert table["epsilon"]["delta"] == 1e-5
    assert table["epsilon"]["by_unit"]["client"]["pld"] == epsilon([MILD] * 4, delta=1e-5).value
    assert table["releases"] == [{"event": MILD.to_json(), "times": 4}]
    with pytest.raises(PrivacyError, match="name the folder of a run"):
        statement_of_run(tmp_path / "nowhere")


def test_an_infinite_epsilon_is_null_in_json() -> None:
    table = json.loads(json.dumps(make_statement(TERMS, [PlainRelease(what="x")]).to_json(), allow_nan=False))
    assert table["epsilon"]["pld"] is None
    assert "without noise" in table["epsilon"]["pld_reason"]


def test_one_gaussian_without_sampling_says_what_it_compares() -> None:
    terms = replace(TERMS, unit="sequence")
    event = GaussianRelease(noise_multiplier=1.5, neighbours="one sequence replaced by any other", what="embeddings")
    result = make_statement(terms, [event, event])
    # two Gaussians of multiplier z are one of z / sqrt(2), whose exact epsilon dp_accounting gives
    alone = epsilon([PoissonGaussian(noise_multiplier=1.5 / math.sqrt(2), rate=1.0)], delta=1e-5).value
    assert alone is not None
    assert claimed(result) == pytest.approx(alone, abs=0.02)
    assert "for each sequence: with one sequence replaced by any other, no outcome of the 2 releases" in result.words


def test_what_compares_other_runs_does_not_compose() -> None:
    events = [MILD, GaussianRelease(noise_multiplier=1.5, neighbours="a modality collected or never")]
    assert make_statement(TERMS, events).words.startswith("No privacy guarantee")
    together = make_statement(TERMS, [MILD, GaussianRelease(noise_multiplier=1.5)])
    assert claimed(together) > claimed(make_statement(TERMS, [MILD]))


def test_a_unit_with_several_noised_things_is_charged_for_all_of_them() -> None:
    terms = replace(TERMS, unit="speaker", clients_per_speaker=3)
    result = make_statement(terms, [GaussianRelease(noise_multiplier=6.0)])
    alone = epsilon([PoissonGaussian(noise_multiplier=2.0, rate=1.0)], delta=1e-5).value
    assert alone is not None
    assert claimed(result) == pytest.approx(alone, abs=0.02)
    assert result.epsilon["rdp"] == pytest.approx(alone, rel=0.1)


def test_metric_privacy_is_never_called_differential_privacy() -> None:
    event = MetricRelease(eta=100.0, metric="l2", what="a token's embedding")
    result = make_statement(replace(TERMS, unit="token"), [event, event])
    assert result.epsilon["pld"] is None
    assert result.epsilon["rdp"] is None
    assert result.words.startswith("Metric privacy, which is not differential privacy and has no epsilon")
    assert "e^(100 D) times likelier" in result.words
    assert "2 times" in result.words
    mixed = make_statement(TERMS, [event, PlainRelease(what="labels")])
    assert mixed.words.startswith("No privacy guarantee")
