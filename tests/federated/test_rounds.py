"""The round loop on a learner whose every step can be checked by hand."""

from __future__ import annotations

import gc
import json
import math
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from toy import LAYOUT, ToyLearner, backend, learner

from sordino.errors import BudgetExhausted, ConfigError
from sordino.federated import (
    ClientFailed,
    FederatedMethod,
    InProcess,
    Learner,
    LocalResult,
    Reply,
    ServerState,
    Task,
    load_checkpoint,
    run_rounds,
    save_checkpoint,
)
from sordino.federated.memory import ClientMemory
from sordino.federated.methods.fedavg import FedAvg
from sordino.privacy import (
    ALLOCATIONS,
    FixedSize,
    Ledger,
    NoiseShares,
    NoiseSource,
    NonPrivate,
    Plan,
    Poisson,
    PrivacyPlan,
    Terms,
    Update,
    read_ledger,
)
from sordino.seeds import Seeds

ZERO = ServerState(0, torch.zeros(LAYOUT.size))
SEEDED = NoiseSource(Seeds(5))


def terms(**changes: object) -> Terms:
    return replace(Terms(unit="client", population=8, clients_per_speaker=1, delta=1e-5), **changes)  # type: ignore[arg-type]


def run(path: Path, plan: Plan, toy: ToyLearner, *, rounds: int = 1, state: ServerState = ZERO, noise: NoiseSource = SEEDED,
        about: Terms | None = None, dropout_rate: float = 0.0):  # fmt: skip
    about = replace(about or terms(), seeded=noise.seeded)
    with Ledger(path / "ledger.jsonl", terms=about) as ledger:
        return list(
            run_rounds(
                state,
                plan,
                rounds=rounds,
                method=FedAvg(),
                backend=backend(toy, dropout_rate=dropout_rate),
                ledger=ledger,
                noise=noise,
                seeds=Seeds(1),
            )
        )


def private(
    toy: ToyLearner, *, rate: float = 1.0, z: float = 0.0, clip_norm: float = 1.0, **options: object
) -> PrivacyPlan:
    plan = PrivacyPlan(LAYOUT, Poisson(rate=rate), len(toy.targets), clip_norm=clip_norm, noise_multiplier=z)
    return replace(plan, **options)  # type: ignore[arg-type]


def test_without_privacy_everybody_in_is_plain_unweighted_averaging(tmp_path: Path) -> None:
    toy = learner(5, jitter=0.1)
    (result,) = run(tmp_path, NonPrivate(LAYOUT, Poisson(rate=1.0), 5), toy)
    by_hand = [
        toy.fit(client, ZERO.values, seeds=Seeds(1).at("round", 1, client)).update.values
        for client in sorted(toy.targets)
    ]
    assert torch.allclose(result.state.values, torch.stack(by_hand).mean(dim=0), atol=1e-7)
    assert result.state.round == 1


def test_one_client_one_round_is_its_own_training(tmp_path: Path) -> None:
    toy = learner(1, jitter=0.1)
    (result,) = run(tmp_path, NonPrivate(LAYOUT, Poisson(rate=1.0), 1), toy)
    alone = toy.fit("c000", ZERO.values, seeds=Seeds(1).at("round", 1, "c000"))
    assert torch.equal(result.state.values, alone.update.values)


def test_no_noise_and_a_wide_bound_is_the_run_without_privacy(tmp_path: Path) -> None:
    toy = learner(5, jitter=0.1)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain = run(tmp_path / "a", NonPrivate(LAYOUT, Poisson(rate=0.6), 5), toy, rounds=3)[-1]
    wide = run(tmp_path / "b", private(toy, rate=0.6, clip_norm=1e6), toy, rounds=3)[-1]
    assert torch.equal(plain.state.values, wide.state.values)


@pytest.mark.parametrize("name", ALLOCATIONS.names())
def test_a_seeded_run_that_is_resumed_equals_the_unbroken_one_to_the_bit(name: str, tmp_path: Path) -> None:
    toy = learner(8, jitter=0.1)
    plan = private(toy, rate=0.5, z=0.3, allocation=ALLOCATIONS.get(name)())
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    unbroken = run(whole, plan, toy, rounds=6)[-1]

    first = run(broken, plan, toy, rounds=4)[2]  # the fourth round's checkpoint is lost
    save_checkpoint(broken / "state", first.state, first.plan.learned, digest=LAYOUT.digest)
    state, learned = load_checkpoint(broken / "state", digest=LAYOUT.digest)
    resumed = run(broken, plan.resumed(learned), toy, rounds=6, state=state)[-1]

    assert torch.equal(resumed.state.values, unbroken.state.values)
    assert resumed.plan.learned == unbroken.plan.learned
    assert len(read_ledger(broken / "ledger.jsonl")[1]) == 6  # replaying the lost round repeats the very same draw


def test_a_private_run_that_is_resumed_draws_fresh_noise_and_pays_again(tmp_path: Path) -> None:
    toy, fresh = learner(8), NoiseSource()
    plan = private(toy, rate=0.5, z=1.0)
    first = run(tmp_path, plan, toy, rounds=2, noise=fresh)
    again = run(tmp_path, plan, toy, rounds=2, state=first[0].state, noise=fresh)
    assert len(read_ledger(tmp_path / "ledger.jsonl")[1]) == 3
    assert not torch.equal(first[1].state.values, again[0].state.values)


def test_a_round_over_budget_is_not_begun(tmp_path: Path) -> None:
    toy = learner(8)
    plan = private(toy, rate=1.0, z=5.0)
    budget = 2.0
    with pytest.raises(BudgetExhausted, match="above the budget of 2"):
        run(tmp_path, plan, toy, rounds=50, about=terms(budget=budget))
    charged = len(read_ledger(tmp_path / "ledger.jsonl")[1])
    assert 0 < charged < 50
    assert len(toy.asked) == 8 * charged  # nobody trained for the refused round


def test_nan_from_one_client_counts_as_zero_and_is_counted(tmp_path: Path) -> None:
    toy = learner(2)
    toy.targets["c001"][3] = float("nan")
    (result,) = run(tmp_path, private(toy), toy)
    alone = toy.rate * toy.targets["c000"]
    assert torch.allclose(result.state.values, alone / alone.norm() / 2, atol=1e-6)
    assert result.telemetry.to_json()["not_finite"] == 1


def test_an_unchanged_model_from_one_client_does_not_stop_the_round(tmp_path: Path) -> None:
    toy = learner(2)
    toy.targets["c001"].zero_()
    (result,) = run(tmp_path, private(toy, clip_norm=0.1), toy)
    assert torch.isfinite(result.state.values).all()
    assert float(result.state.values.norm()) == pytest.approx(0.05, rel=1e-5)


def test_nobody_drawn_still_adds_noise_and_is_charged(tmp_path: Path) -> None:
    toy = learner(4)
    (result,) = run(tmp_path, private(toy, rate=1e-9, z=1.0), toy)
    assert not toy.asked
    assert float(result.state.values.norm()) > 0
    assert len(read_ledger(tmp_path / "ledger.jsonl")[1]) == 1


def test_drop_outs_shrink_the_sum_and_not_the_divisor(tmp_path: Path) -> None:
    toy = learner(40)
    for target in toy.targets.values():
        target.fill_(1.0)
    (result,) = run(tmp_path, NonPrivate(LAYOUT, Poisson(rate=1.0), 40), toy, dropout_rate=0.5)
    answered = result.telemetry.to_json()["replies"]
    assert 0 < answered < 40
    assert torch.allclose(result.state.values, torch.full((LAYOUT.size,), 0.5 * answered / 40))


def test_a_fixed_cohort_has_its_size_and_its_event(tmp_path: Path) -> None:
    toy = learner(8)
    plan = private(toy, z=1.0, cohort=FixedSize(size=3))
    results = run(tmp_path, plan, toy, rounds=5)
    assert [result.telemetry.to_json()["drawn"] for result in results] == [3] * 5
    assert {charge.event.kind for charge in read_ledger(tmp_path / "ledger.jsonl")[1]} == {"fixed-size-gaussian"}


def test_a_client_that_raises_stops_the_run_with_its_id_and_pays_nothing(tmp_path: Path) -> None:
    class Broken(ToyLearner):
        def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:
            if client == "c002":
                raise RuntimeError("microphone on fire")
            return super().fit(client, start, seeds=seeds)

    toy = Broken(learner(4).targets)
    with pytest.raises(ClientFailed, match="client 'c002' failed: RuntimeError: microphone on fire"):
        run(tmp_path, private(toy), toy)
    assert not read_ledger(tmp_path / "ledger.jsonl")[1]


@pytest.mark.parametrize("workers", [2, 5])
def test_workers_that_fail_name_the_client_and_end_at_once(workers: int) -> None:
    class Broken(ToyLearner):
        def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:
            if client == "c003":
                raise RuntimeError("microphone on fire")
            return super().fit(client, start, seeds=seeds)

    toy = Broken(learner(9).targets)
    plan = private(toy)
    side_by_side = InProcess((toy,) * workers, tuple(toy.targets))
    tasks = [Task(client, ZERO.values, plan.bounding, Seeds(1)) for client in toy.targets]
    with pytest.raises(ClientFailed, match="client 'c003' failed: RuntimeError: microphone on fire"):
        list(side_by_side.gather(FedAvg(), tasks))
    assert len(toy.asked) <= 3 + workers


def test_workers_answer_in_the_order_of_the_tasks() -> None:
    class Uneven(ToyLearner):
        def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:
            time.sleep(0.03 if client in ("c000", "c004") else 0)
            return super().fit(client, start, seeds=seeds)

    toy = Uneven(learner(9).targets)
    plan = private(toy)
    tasks = [Task(client, ZERO.values, plan.bounding, Seeds(1)) for client in toy.targets]
    replies = InProcess((toy,) * 3, tuple(toy.targets)).gather(FedAvg(), tasks)
    assert [reply.client for reply in replies] == list(toy.targets)


def test_an_update_of_the_wrong_shape_is_refused(tmp_path: Path) -> None:
    class Short(ToyLearner):
        def fit(self, client: str, start: torch.Tensor, *, seeds: Seeds) -> LocalResult:
            return LocalResult(Update(torch.zeros(3)), 0.0)

    toy = Short(learner(1).targets)
    with pytest.raises(Exception, match="expected 48 floating-point values"):
        run(tmp_path, private(toy), toy)


def test_raw_norms_are_read_only_when_asked_for(tmp_path: Path) -> None:
    toy = learner(8, jitter=0.1)
    kinds = ALLOCATIONS.get("dim-ema")
    seen = {}
    for source in ("released", "raw"):
        folder = tmp_path / source
        folder.mkdir()
        plan = private(toy, z=0.5, allocation=kinds(ema_source=source))
        seen[source] = run(folder, plan, toy)[0]
    raw = seen["raw"].plan.learned.allocation.statistics["mean_square"]
    blocks = [block["mean_norm"] for block in seen["raw"].telemetry.to_json()["blocks"]]
    assert raw == pytest.approx([norm**2 for norm in blocks])
    assert seen["raw"].plan.learned.allocation.statistics["variance"] == (0.0,) * len(blocks)
    assert seen["released"].plan.learned.allocation.statistics["variance"][0] > 0


def test_telemetry_counts_what_was_clipped(tmp_path: Path) -> None:
    toy = learner(4)
    (result,) = run(tmp_path, private(toy, clip_norm=1e-3), toy)
    table = result.telemetry.to_json()
    assert table["blocks"] == [
        {
            "name": "all",
            "clip_norm": 1e-3,
            "mean_norm": pytest.approx(table["blocks"][0]["mean_norm"]),
            "clip_rate": 1.0,
            "clip_ratio": pytest.approx(1e-3 / table["blocks"][0]["mean_norm"], rel=0.5),
        }
    ]
    assert table["groups"] == []
    mean = sum(float((toy.rate * target).norm()) for target in toy.targets.values()) / 4
    assert table["blocks"][0]["mean_norm"] == pytest.approx(mean, rel=1e-6)
    json.dumps(table, allow_nan=False)


def test_telemetry_of_watched_groups_by_hand(tmp_path: Path) -> None:
    toy = learner(4)
    plan = private(toy, clip_norm=1e-3, z=2.0, watched=LAYOUT.groups)
    (result,) = run(tmp_path, plan, toy)
    table = result.telemetry.to_json()
    updates = [toy.rate * target for target in toy.targets.values()]
    std = 2.0 * 1e-3 / 4
    for group, row in zip(LAYOUT.groups, table["groups"], strict=True):
        (a, b) = group.slices[0]
        norms = [float(update[a:b].norm()) for update in updates]
        sent = [norm * min(1, 1e-3 / float(update.norm())) for norm, update in zip(norms, updates, strict=True)]
        assert row["mean_norm"] == pytest.approx(sum(norms) / 4, rel=1e-5)
        assert row["noise_std"] == pytest.approx(std)
        assert row["snr"] == pytest.approx(sum(sent) / 4 / math.sqrt(group.size) / std, rel=1e-5)
    for name, norm in table["components"].items():
        mask = torch.cat([torch.full((slot.size,), slot.component == name) for slot in LAYOUT.slots])
        assert norm == pytest.approx(sum(float(update[mask].norm()) for update in updates) / 4, rel=1e-5)


def test_telemetry_under_normalise_tells_what_was_sent(tmp_path: Path) -> None:
    """Small blocks grow under that rule, and nothing is clipped where the whole is within C."""
    toy = learner(4)
    joint = [float((toy.rate * target).norm()) for target in toy.targets.values()]
    for name, clip_norm in (("small", 0.99 * min(joint)), ("large", 1.01 * max(joint))):
        (tmp_path / name).mkdir()
        plan = private(
            toy,
            clip_norm=clip_norm,
            z=2.0,
            rule="normalise",
            allocation=ALLOCATIONS.get("uniform")(),
            watched=LAYOUT.groups,
        )
        sent = [plan.clip(Update(toy.rate * target)).values for target in toy.targets.values()]  # type: ignore[attr-defined]
        (result,) = run(tmp_path / name, plan, toy)
        table = result.telemetry.to_json()
        for group, row, std in zip(LAYOUT.groups, table["groups"], plan.noise_stds, strict=True):
            (a, b) = group.slices[0]
            norm = sum(float(values[a:b].norm()) for values in sent) / 4
            assert row["snr"] == pytest.approx(norm / math.sqrt(group.size) / (std / 4), rel=1e-5)
    assert [block["clip_rate"] for block in table["blocks"]] == [0.0] * 5
    assert [block["clip_ratio"] for block in table["blocks"]] == [1.0] * 5


def test_memory_does_not_grow_with_rounds(tmp_path: Path) -> None:
    toy = learner(20)
    plan = private(toy, rate=0.5, z=1.0)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms()) as ledger:
        rounds = run_rounds(ZERO, plan, rounds=60, method=FedAvg(), backend=backend(toy), ledger=ledger,
                            noise=NoiseSource(), seeds=Seeds(1))  # fmt: skip
        tracemalloc.start()
        try:
            sizes = []
            for _ in rounds:
                toy.asked.clear()
                gc.collect()
                sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    assert sizes[-1] - sizes[9] < 50 * 2000  # the ledger's own line a round, and nothing else


# --- noise in shares ---------------------------------------------------------------------------------------------------


def shared(*, z: float = 1.0, tolerated: int = 1) -> PrivacyPlan:
    shares = NoiseShares(parties=8, tolerated=tolerated)
    return PrivacyPlan(LAYOUT, FixedSize(size=8), 8, clip_norm=1.0, noise_multiplier=z, shares=shares)


@pytest.mark.parametrize("dropout_rate", [0.0, 0.4])
def test_noise_in_shares_has_one_size_whoever_drops_out(tmp_path: Path, dropout_rate: float) -> None:
    still = ToyLearner({f"c{i}": torch.zeros(LAYOUT.size) for i in range(8)}, rate=0.0)
    rounds = 300
    result = run(tmp_path, shared(), still, rounds=rounds, noise=NoiseSource(), dropout_rate=dropout_rate)
    steps = torch.stack([ZERO.values, *(one.state.values for one in result)]).diff(dim=0)
    assert float(steps.std()) == pytest.approx(math.sqrt(8 / 7) / 8, rel=0.03)  # 300 x 48 numbers: 0.6 % is one error


def test_shares_change_nothing_but_the_noise(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plan = shared(z=0.0)
    one = run(tmp_path / "a", plan, learner(8), rounds=2)[-1]
    other = run(tmp_path / "b", replace(plan, shares=None), learner(8), rounds=2)[-1]
    assert torch.equal(one.state.values, other.state.values)
    assert [c.event for c in read_ledger(tmp_path / "a" / "ledger.jsonl")[1]] == [
        c.event for c in read_ledger(tmp_path / "b" / "ledger.jsonl")[1]
    ]


# --- a method of one's own ---------------------------------------------------------------------------------------------


def test_a_method_without_the_server_s_half_is_refused_before_anybody_works(tmp_path: Path) -> None:
    class Forgetful(FederatedMethod):
        def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
            raise AssertionError("nobody is asked")

    toy = learner(8)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms(seeded=True)) as ledger:
        rounds = run_rounds(
            ZERO,
            PrivacyPlan(LAYOUT, Poisson(rate=1.0), 8),
            rounds=1,
            method=Forgetful(),
            backend=backend(toy),
            ledger=ledger,
            noise=SEEDED,
            seeds=Seeds(1),
        )
        with pytest.raises(
            ConfigError, match="Forgetful has a phase 'train' and no combine: expected the server's half"
        ):
            next(rounds)
        assert not ledger.charges
