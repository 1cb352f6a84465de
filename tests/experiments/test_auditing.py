"""The audit of the real round loop: sound settings pass, each planted fault is found, and its folder says what it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from sordino.errors import ConfigError
from sordino.evaluation.attacks import Canaries, Finding, judge
from sordino.experiments import load_experiment
from sordino.experiments.auditing import AuditSize, audit_experiment
from sordino.experiments.canary_clients import WithCanaries, amplitudes, kinds_of
from sordino.experiments.canary_run import run_with_canaries
from sordino.federated import InProcess, LocalResult, Reply, ServerState
from sordino.federated.methods.fedavg import FedAvg
from sordino.layout import ParameterLayout
from sordino.privacy import (
    ALLOCATIONS,
    Bounding,
    FixedSize,
    Ledger,
    NoiseSource,
    NonPrivate,
    Plan,
    Poisson,
    PrivacyPlan,
    Terms,
    Tracking,
    Update,
    noise_multiplier_for,
    read_ledger,
)
from sordino.privacy.clipping import Clipped
from sordino.privacy.noise import Stream
from sordino.privacy.sums import BoundedUpdate
from sordino.seeds import Seeds

LAYOUT = ParameterLayout.from_shapes(
    [("encoder.a", "encoder", (80, 50)), ("connector.w", "connector", (160, 50)), ("decoder.a", "decoder", (80, 50))]
)
CANARIES, ROUNDS, CLAIM, DELTA = 1000, 5, 1.0, 1e-6


@dataclass(frozen=True)
class Steady:
    """An ordinary client: always the same large update."""

    layout: ParameterLayout = LAYOUT

    def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:
        return LocalResult(Update(torch.ones_like(start)), 1.0)


def plan_for(cohort: Poisson | FixedSize, **options: object) -> PrivacyPlan:
    z = noise_multiplier_for(
        CLAIM, event=lambda z: cohort.event(z, population=CANARIES + 2), rounds=ROUNDS, delta=DELTA
    )
    return PrivacyPlan(LAYOUT, cohort, CANARIES + 2, noise_multiplier=z, **options)  # type: ignore[arg-type]


def audited(
    plan: Plan,
    folder: Path,
    *,
    noise: NoiseSource | None = None,
    kind: type[WithCanaries] = WithCanaries,
    seed: int = 0,
) -> Finding:
    seeds = Seeds(seed)
    backend = kind(
        InProcess((Steady(),), ("a", "b")),
        ("a", "b"),
        Canaries(CANARIES, kinds_of(plan.clipper, LAYOUT), LAYOUT.size, seeds.at("directions")),
        seeds.at("coins").generator().random(CANARIES) < 0.5,
        LAYOUT,
    )
    terms = Terms(unit="client", population=CANARIES + 2, clients_per_speaker=1, delta=DELTA, seeded=True)
    with Ledger(folder / f"ledger-{seed}.jsonl", terms=terms) as ledger:
        seen = run_with_canaries(
            ServerState(0, torch.zeros(LAYOUT.size)), plan, rounds=ROUNDS, method=FedAvg(), backend=backend,
            ledger=ledger, noise=noise or NoiseSource(seeds.at("noise")), seeds=seeds,
        )  # fmt: skip
        assert len(ledger.events) == ROUNDS
    return judge(seen, backend.included, delta=DELTA)


HALF = Poisson(rate=0.5)
SOUND = {
    "flat": partial(plan_for, HALF),
    "everybody": partial(plan_for, Poisson(rate=1.0)),
    "seldom": partial(plan_for, Poisson(rate=0.1)),
    "fixed size": partial(plan_for, FixedSize(size=300)),
    "alpha-split": partial(plan_for, HALF, allocation=ALLOCATIONS.get("alpha-split")(alpha=0.05)),
    "shaped noise": partial(
        plan_for, HALF, allocation=ALLOCATIONS.get("alpha-split")(alpha=0.05), noise_shape="component-aware"
    ),
    "automatic": partial(plan_for, HALF, allocation=ALLOCATIONS.get("auto")()),
    "normalised": partial(plan_for, HALF, allocation=ALLOCATIONS.get("dim")(), rule="normalise"),
    "tracked": partial(plan_for, HALF, tracking=Tracking()),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_setting_is_not_refuted(name: str, tmp_path: Path) -> None:
    found = [audited(SOUND[name](), tmp_path, seed=seed).lower_bound for seed in range(2)]
    assert max(found) < 0.6  # claimed is 1


class Quiet(Stream):
    def normal(self, size: int) -> np.ndarray:
        return super().normal(size) / 10


class QuietNoise(NoiseSource):
    def stream(self, *place: str | int) -> Stream:
        assert self.seeds is not None
        return (Quiet if place[0] == "noise" else Stream)(self.seeds.at(*place).key())


class SameNoise(NoiseSource):
    """The noise of every round is that of the first."""

    def stream(self, *place: str | int) -> Stream:
        return super().stream(*(("noise", 1) if place[0] == "noise" else place))


class Deaf(Stream):
    """The first block, the encoder's, gets no noise."""

    def normal(self, size: int) -> np.ndarray:
        noise, self.asked = super().normal(size), getattr(self, "asked", 0) + 1
        return noise * (self.asked > 1)


class DeafNoise(NoiseSource):
    def stream(self, *place: str | int) -> Stream:
        assert self.seeds is not None
        return (Deaf if place[0] == "noise" else Stream)(self.seeds.at(*place).key())


class Unclipped(WithCanaries):
    """The clip of every third canary is left out."""

    def reply(self, client: str, update: Update, bounding: Bounding) -> Reply:
        if int(client.split("-")[1]) % 3:
            return super().reply(client, update, bounding)
        whole = (1.0,) * len(bounding.clipper.bounds.norms)
        unbounded = Clipped(update.values, whole, (), finite=True)
        return Reply(client, BoundedUpdate(unbounded, clipper=bounding.clipper, indicators=np.zeros(0)), 0.0)


SPLIT = {"allocation": ALLOCATIONS.get("uniform")()}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("fault", "plan"),
    [
        ({"noise": QuietNoise}, plan_for(HALF)),
        ({"noise": QuietNoise}, plan_for(HALF, **SPLIT)),
        ({"noise": SameNoise}, plan_for(HALF)),
        ({"noise": DeafNoise}, plan_for(HALF, **SPLIT)),
        ({"kind": Unclipped}, plan_for(HALF)),
    ],
    ids=["noise/10", "noise/10, uniform", "same noise", "no noise on the encoder", "clip skipped"],
)
def test_a_planted_fault_refutes_the_claim(
    fault: dict[str, type], plan: PrivacyPlan, seed: int, tmp_path: Path
) -> None:
    options = {"noise": fault["noise"](Seeds(seed).at("noise"))} if "noise" in fault else fault
    assert audited(plan, tmp_path, seed=seed, **options).lower_bound > CLAIM


def test_without_privacy_nearly_everything_is_seen(tmp_path: Path) -> None:
    found = audited(NonPrivate(LAYOUT, HALF, CANARIES + 2), tmp_path)
    assert found.lower_bound > 2
    assert found.correct == found.guesses


@pytest.mark.parametrize("name", ["alpha-split", "normalised", "flat"])
def test_a_canary_fills_the_bounds_of_what_it_touches(name: str) -> None:
    plan = SOUND[name]()
    for kind in kinds_of(plan.clipper, LAYOUT):
        raw = torch.from_numpy(amplitudes(plan.clipper, LAYOUT, kind, excess=10))
        clipped = plan.clipper.clip(raw).values.numpy()
        assert clipped == pytest.approx(amplitudes(plan.clipper, LAYOUT, kind), rel=1e-5)
    whole = amplitudes(plan.clipper, LAYOUT, "whole").astype(np.float64)
    assert np.linalg.norm(whole) == pytest.approx(plan.clip_norm)


def test_a_component_nobody_may_send_has_no_canaries() -> None:
    plan = plan_for(HALF, allocation=ALLOCATIONS.get("alpha-split")(alpha=0.0))
    assert kinds_of(plan.clipper, LAYOUT) == ("whole", "connector", "decoder")


AUDIT = ("privacy.noise_multiplier=4", "privacy.delta=1e-6", "federated.local.epochs=1")
SMALL = AuditSize(canaries=200, clients=2)


@pytest.mark.slow
def test_an_experiment_is_audited_in_a_folder_of_its_own(small: Path, tmp_path: Path) -> None:
    result = audit_experiment(load_experiment(small, AUDIT), tmp_path / "audit", size=SMALL)
    assert result == json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert {path.name for path in (tmp_path / "audit").iterdir()} == {"audit.json", "experiment.toml", "ledger.jsonl"}
    epsilon = result["epsilon"]
    assert 0 <= epsilon["lower_bound"] < epsilon["claimed"] < 2
    assert not epsilon["refuted"]
    assert "simulation" in result["simulation"]
    assert "Not covered: canaries" in result["statement"]
    canaries = result["attacks"]["canaries"]
    assert canaries["ci95"][0] <= canaries["success"] <= canaries["ci95"][1]
    assert (canaries["chance"], canaries["tried"]) == (0.5, 200)
    assert result["size"] == {"canaries": 200, "clients": 2, "rounds": 3}
    with pytest.raises(ConfigError, match="is not an empty folder"):
        audit_experiment(load_experiment(small, AUDIT), tmp_path / "audit", size=SMALL)


@pytest.mark.slow
def test_membership_is_asked_of_everybody_and_charged_apart(small: Path, tmp_path: Path) -> None:
    options = load_experiment(small, [*AUDIT, "data.corpus.voices=7", "privacy.population=7"])
    result = audit_experiment(options, tmp_path / "audit", size=replace(SMALL, membership=True, shadows=3))
    asked = result["attacks"]["membership"]
    assert (asked["tried"], asked["chance"]) == (7, 0.5)
    terms, charges = read_ledger(tmp_path / "audit" / "membership.jsonl")
    assert (terms.population, len(charges)) == (7, 3)
    assert "measured on everybody" in terms.caveats[0]
    compared = result["attacks"]["membership, shadow runs"]
    assert (compared["tried"], compared["shadows"]) == (7, 3)
    assert [len(read_ledger(tmp_path / "audit" / f"shadow-{number}.jsonl")[1]) for number in range(3)] == [3, 3, 3]


def test_sizes_that_cannot_be_audited_are_refused_before_anything_is_written(small: Path, tmp_path: Path) -> None:
    fixed = load_experiment(small, [*AUDIT, 'federated.cohort={method="fixed", size=3}'])
    with pytest.raises(ConfigError, match="expected at most 6 together"):
        audit_experiment(fixed, tmp_path / "audit", size=SMALL)
    coarse = load_experiment(small, [*AUDIT, "privacy.delta=1e-2"])
    with pytest.raises(ConfigError, match=r"at most 1 / \(2 delta\) = 50,"):
        audit_experiment(coarse, tmp_path / "audit", size=SMALL)
    with pytest.raises(ConfigError, match="--canaries = 3: expected at least 16"):
        replace(SMALL, canaries=3)
    assert not (tmp_path / "audit").exists()
