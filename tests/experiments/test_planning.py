"""What a plan says of other choices, against figures computed elsewhere, and what it recommends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sordino.errors import DataError
from sordino.experiments import load_experiment
from sordino.experiments.norms import measure_norms, recommend
from sordino.experiments.outlook import by_alpha, by_population, by_sampler, noise_for_targets
from sordino.experiments.planning import plan_report
from sordino.layout import ParameterLayout
from sordino.privacy import Poisson, PrivacyPlan, Terms

REFERENCE = json.loads((Path(__file__).parents[1] / "privacy" / "reference.json").read_text())
TERMS = Terms(unit="speaker", population=316, clients_per_speaker=1, delta=1e-5)
ROUNDS = 40


def published() -> PrivacyPlan:
    """The published setting, with its published parameter counts."""
    encoder = [(f"encoder.layers.{i}.lora_A.weight", "encoder", (8, 1280)) for i in range(64)]
    decoder = [(f"decoder.layers.{i}.lora_A.weight", "decoder", (8, 2048)) for i in range(44)]
    layout = ParameterLayout.from_shapes([*encoder, ("connector.weight", "connector", (4096,)), *decoder])
    return PrivacyPlan(layout, Poisson(0.3), 316, noise_multiplier=0.1)


def test_clip_norms_and_effective_noise_by_alpha() -> None:
    rows = {row["alpha"]: row for row in by_alpha(published())}
    for reference in REFERENCE["clip_norms_published_counts"]:
        if reference["alpha"] in rows:
            norms = rows[reference["alpha"]]["clip_norms"]
            assert [round(norm, 4) for norm in norms["encoder"]] == [reference["encoder"]] * 2
            assert [round(norm, 4) for norm in norms["decoder"]] == [reference["decoder"]] * 2
    assert rows[0.05]["z_eff"] == pytest.approx({"encoder": 0.4472, "rest": 0.1026}, abs=5e-5)
    assert rows[0.0]["z_eff"]["encoder"] is None
    assert len(rows) == 7


def test_no_encoder_no_alpha() -> None:
    layout = ParameterLayout.from_shapes([("decoder.a", "decoder", (3,))])
    assert by_alpha(PrivacyPlan(layout, Poisson(0.3), 316)) == []


@pytest.mark.slow
def test_larger_populations_at_the_same_noise() -> None:
    rows = {row["scale"]: row for row in by_population(published(), TERMS, rounds=ROUNDS)}
    for scale, epsilon in {5: 47.5, 10: 13.5, 20: 4.8, 50: 1.54, 100: 0.70}.items():
        assert rows[scale]["epsilon"] == pytest.approx(epsilon, rel=0.01)
    assert rows[1]["epsilon"] == pytest.approx(1251.16, rel=1e-3)
    assert rows[10]["population"] == 3160
    assert rows[10]["expected_cohort"] == pytest.approx(948)
    assert rows[10]["noise_multiplier"] == pytest.approx(1.0)


@pytest.mark.slow
def test_noise_for_targets() -> None:
    needed = noise_for_targets(published(), TERMS, rounds=ROUNDS)
    for target, z in REFERENCE["z_needed_T40_q0.3_delta_1e-5"]["pld"].items():
        if target in needed:
            assert needed[target] == pytest.approx(z, rel=5e-3)


def test_epsilon_by_sampler() -> None:
    figures = by_sampler(published(), TERMS, rounds=ROUNDS)
    assert figures["poisson"]["pld"] == pytest.approx(1251.16, rel=1e-3)
    assert figures["poisson"]["rdp"] == pytest.approx(1335.3, rel=1e-3)
    assert figures["fixed"]["pld"] is None, "there is no such distribution"
    assert figures["fixed"]["rdp"] > figures["poisson"]["rdp"]


def test_a_plan_without_privacy_has_no_outlook(small: Path) -> None:
    assert plan_report(load_experiment(small, ["privacy.mechanism=none"]), outlook=True)["outlook"] is None
    report = plan_report(load_experiment(small))
    assert report["outlook"] is None
    assert report["tensors"] == {"encoder": 18, "connector": 2, "decoder": 12}


def test_a_plan_states_what_the_run_will_not_cover(small: Path) -> None:
    assert "Not covered" not in plan_report(load_experiment(small))["statement"]
    assert "Not covered: debug telemetry" in plan_report(load_experiment(small, ["telemetry=debug"]))["statement"]


def test_norms_follow_the_learning_rate_and_touch_no_recording(small: Path, data_root: Path) -> None:
    absent = "data.corpus={method='manifest',train='/no/such/manifest.jsonl'}"
    slow = ["federated.local.encoder_lr_multiplier=0.02", "federated.local.batch_size=4", absent]
    public = data_root / "librispeech-10" / "manifest.jsonl"
    norms = measure_norms(load_experiment(small, slow))
    assert set(norms) == {"encoder", "connector", "decoder"}
    even = measure_norms(load_experiment(small, [*slow, "federated.local.encoder_lr_multiplier=1.0"]))
    assert norms["encoder"] < even["encoder"] / 10
    assert norms["connector"] == pytest.approx(even["connector"], rel=0.5)
    with pytest.raises(DataError):
        measure_norms(load_experiment(small, slow), manifest=public.with_name("absent.jsonl"))


def test_recommendations_follow_the_ratio_of_norms() -> None:
    severe = recommend({"encoder": 0.02, "connector": 0.3, "decoder": 0.4})
    assert severe["allocation"] == "pooled"
    assert severe["ratio"] == pytest.approx(25)
    assert severe["alpha"] == pytest.approx(0.04**2 / (0.04**2 + 0.5**2))
    assert recommend({"encoder": 1.0, "decoder": 1.5})["allocation"] == "dim-ema"
    assert recommend({"encoder": 1.0, "decoder": 5.0})["allocation"] == "auto"
    assert recommend({"connector": 1.0, "decoder": 5.0})["allocation"] == "flat"
    assert recommend({"encoder": 1.0})["allocation"] == "flat"
