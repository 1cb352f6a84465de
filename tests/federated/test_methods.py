"""One contract for every registered method: whatever clients send, whoever comes, and wherever a run is interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import net
import pytest
import torch
from net import data, initial, method, personal, run

from sordino.errors import ConfigError
from sordino.federated import (
    METHODS,
    InMemory,
    LocalResult,
    OnDisk,
    SpeechLearner,
    load_checkpoint,
    save_checkpoint,
)
from sordino.layout import ParameterLayout
from sordino.privacy import Update, read_ledger

NAMES = METHODS.names()
READS_EACH = ("parameter-similarity", "combined-similarity", "fedamp")
GUARDS: dict[str, dict[str, Any]] = {
    "none": {"mechanism": "none"},
    "server": {"mechanism": "gaussian", "noise_multiplier": 0.5},
    "clients": {"mechanism": "gaussian", "noise_multiplier": 0.5, "noised_by": "clients"},
}
CASES = [(name, guard) for name in NAMES for guard in GUARDS if guard != "server" or name not in READS_EACH]


def everything(name: str, results: list[Any], points: net.Data, memory: Any) -> list[torch.Tensor]:
    """All that a run ends with: the server's state, and the model of each client."""
    state = results[-1].state
    held = [state.models, state.embeddings, state.counts]
    return [
        state.values,
        *(table[client] for table in held for client in sorted(table)),
        *(personal(method(name), state, client, points, memory) for client in points),
    ]


def same(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return len(first) == len(second) and all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(("name", "guard"), CASES)
def test_it_learns_and_two_learners_are_one_to_the_bit(name: str, guard: str, tmp_path: Path) -> None:
    points, memories = data(3), (InMemory(), InMemory())
    alone, together = (
        run(tmp_path / str(n), method(name), points, rounds=2, learners=n, rate=0.8, memory=memory, **GUARDS[guard])
        for n, memory in zip((1, 2), memories, strict=True)
    )
    first = everything(name, alone, points, memories[0])
    assert same(first, everything(name, together, points, memories[1]))
    assert all(bool(torch.isfinite(values).all()) for values in first)
    start = initial().values
    assert any(not torch.equal(personal(method(name), alone[-1].state, c, points, memories[0]), start) for c in points)


@pytest.mark.parametrize(("name", "guard"), CASES)
def test_it_resumes_to_the_bit(name: str, guard: str, tmp_path: Path) -> None:
    """The process dies after round 2, whose checkpoint is lost; what clients kept in that round is there already."""
    points, whole = data(3), OnDisk(tmp_path / "memory-whole")
    unbroken = run(tmp_path / "whole", method(name), points, rounds=3, rate=0.7, memory=whole, **GUARDS[guard])

    broken, kept = tmp_path / "broken", tmp_path / "memory"
    first = run(broken, method(name), points, rounds=2, rate=0.7, memory=OnDisk(kept), **GUARDS[guard])[0]
    save_checkpoint(broken / "state", first.state, first.plan.learned, digest=net.LAYOUT.digest)
    state, learned = load_checkpoint(broken / "state", digest=net.LAYOUT.digest)
    plan = net.plan_of(method(name), clients=3, rate=0.7, **GUARDS[guard]).resumed(learned)
    resumed = run(broken, method(name), points, rounds=3, state=state, plan=plan, memory=OnDisk(kept))

    assert same(everything(name, resumed, points, OnDisk(kept)), everything(name, unbroken, points, whole))
    charges = [
        [charge.event for charge in read_ledger(folder / "ledger.jsonl")[1]] for folder in (broken, tmp_path / "whole")
    ]
    assert charges[0] == charges[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_client_of_nan_harms_nobody(name: str, tmp_path: Path) -> None:
    points = dict(data(4))
    points["c01"] = (points["c01"][0] * float("nan"), points["c01"][1])
    memory = InMemory()
    state = run(tmp_path / "run", method(name), points, rounds=2, memory=memory)[-1].state
    held = [table[client] for table in (state.models, state.embeddings, state.counts) for client in table]
    assert all(bool(torch.isfinite(values).all()) for values in (state.values, *held))
    for client in ("c00", "c02", "c03"):
        assert torch.isfinite(personal(method(name), state, client, points, memory)).all()


@pytest.mark.parametrize("name", NAMES)
def test_clients_that_change_nothing_leave_everything_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(self: Any, client: str, start: torch.Tensor, **_: Any) -> LocalResult:
        return LocalResult(Update(torch.zeros_like(start)), 1.0, 3)

    monkeypatch.setattr(net.NetLearner, "fit", nothing)
    points, memory = data(3), InMemory()
    state = run(tmp_path / "run", method(name), points, rounds=2, memory=memory)[-1].state
    assert torch.equal(state.values, initial().values)
    assert all(torch.equal(personal(method(name), state, c, points, memory), initial().values) for c in points)


@pytest.mark.parametrize("name", NAMES)
def test_somebody_new_gets_a_model_and_changes_nobody_elses(name: str, tmp_path: Path) -> None:
    points, memory = data(3), InMemory()
    last = run(tmp_path / "run", method(name), points, rounds=2, memory=memory)[-1]
    before = everything(name, [last], points, memory)
    everybody = {**points, "new": data(5)["c04"]}
    new = method(name).newcomer(
        last.state, "new", learner=net.NetLearner(everybody), plan=last.plan, seeds=net.Seeds(3)
    )
    assert new.shape == last.state.values.shape
    assert torch.isfinite(new).all()
    assert same(before, everything(name, [last], points, memory))
    adapts = name in ("local", "ditto", "pfedme", "fedper", "fedrep", "fedavg-finetune")
    listens = name in ("embedding-similarity", "combined-similarity")
    assert torch.equal(new, last.state.values) == (not adapts and not listens)
    shared = net.LAYOUT.grouped("component").groups[0].slices[0]
    if name in ("fedper", "fedrep"):
        assert torch.equal(new[slice(*shared)], last.state.values[slice(*shared)])  # the body is everybody's


@pytest.mark.parametrize("name", NAMES)
def test_one_client_is_enough(name: str, tmp_path: Path) -> None:
    points, memory = data(1), InMemory()
    state = run(tmp_path / "run", method(name), points, rounds=2, memory=memory)[-1].state
    own = personal(method(name), state, "c00", points, memory)
    assert torch.isfinite(own).all()
    assert not torch.equal(own, initial().values)


@pytest.mark.parametrize(("name", "guard"), CASES)
def test_nobody_drawn_is_a_round_like_any_other(name: str, guard: str, tmp_path: Path) -> None:
    results = run(tmp_path / "run", method(name), data(3), rounds=1, rate=1e-9, **GUARDS[guard])
    assert results[-1].state.round == 1
    assert torch.isfinite(results[-1].state.values).all()
    assert len(read_ledger(tmp_path / "run" / "ledger.jsonl")[1]) == (name != "local")


@pytest.mark.parametrize("name", READS_EACH)
def test_single_uploads_without_noise_of_their_own_are_refused_with_the_remedy(name: str) -> None:
    with pytest.raises(ConfigError, match=r'set privacy.noised_by = "clients", or federated.method to "fedper"'):
        net.plan_of(method(name), clients=3, **GUARDS["server"])


@pytest.mark.parametrize("name", NAMES)
def test_options_that_fit_no_layout_are_refused(name: str) -> None:
    other = ParameterLayout.from_shapes([("encoder.weight", "encoder", (2, 2))])
    chosen = method(name)
    if hasattr(chosen, "personal_components"):
        with pytest.raises(ConfigError, match="personal_components = 'sd' is not known"):
            chosen.phases(other)
    else:
        assert chosen.phases(other)


def test_a_learner_without_a_penalty_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(net.NetLearner, "penalties", frozenset())
    with pytest.raises(ConfigError, match=r"set federated.method.embedding_penalty = 0"):
        run(tmp_path / "run", method("regularised-fedavg"), data(2), rounds=1)
    assert not hasattr(SpeechLearner, "penalties")


def test_a_model_without_embeddings_is_refused() -> None:
    with pytest.raises(ConfigError, match="expected a model that gives them"):
        method("embedding-similarity").phases(net.LAYOUT)


def test_local_only_sends_and_pays_nothing(tmp_path: Path) -> None:
    results = run(tmp_path / "run", method("local"), data(3), rounds=2, **GUARDS["server"])
    assert torch.equal(results[-1].state.values, initial().values)
    assert not read_ledger(tmp_path / "run" / "ledger.jsonl")[1]
    assert results[-1].telemetry.to_json()["bytes_up"] == 0
