"""The page's example, run on an app that knows nothing of sordino: the same steps and charges as by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fake import FakeGrid, Node
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MessageType, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

from sordino.errors import BudgetExhausted
from sordino.flower.existing import PrivateStrategy, clip_by_component, layout_of
from sordino.privacy import ALLOCATIONS, Ledger, NoiseSource, Poisson, PrivacyPlan, Terms, Update, read_ledger
from sordino.seeds import Seeds

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "existing-flower-app.md"
INITIAL = ArrayRecord(
    {
        "encoder.weight": Array(np.ones((3, 4), np.float32)),
        "encoder.steps": Array(np.array(7)),  # an int64 counter
        "decoder.weight": Array(np.zeros((2, 2), np.float64)),
    }
)
LAYOUT = layout_of(INITIAL, component=lambda name: name.split(".")[0])


def trained(arrays: ArrayRecord, number: int) -> dict[str, np.ndarray[Any, Any]]:
    generator = np.random.default_rng(number)
    return {
        name: np.asarray(array.numpy() + generator.normal(size=array.shape)).astype(array.dtype)
        for name, array in arrays.items()
    }


def node(number: int, *, mods: bool = True, fails: bool = False) -> Node:
    """An app of somebody's own, which answers with its parameters and a metric."""
    app = ClientApp(mods=[clip_by_component] if mods else [])

    @app.train()
    def train(message: Message, context: Context) -> Message:
        assert ("sordino" in message.content) != mods  # the app never sees what the mod reads
        new = ArrayRecord({name: Array(a) for name, a in trained(message.content["arrays"], number).items()})
        return Message(RecordDict({"arrays": new, "metrics": MetricRecord({"loss": 3.0})}), reply_to=message)

    context = Context(run_id=1, node_id=number, node_config={}, state=RecordDict(), run_config={})
    if fails:
        return lambda message: Message(Error(code=2, reason="bang"), reply_to=message)
    return lambda message: app(message, context)


def strategy_of(folder: Path, plan: PrivacyPlan, *, budget: float | None = None) -> PrivateStrategy:
    terms = Terms(
        unit="client", population=plan.population, clients_per_speaker=1, delta=1e-5, seeded=True, budget=budget
    )
    ledger = Ledger(folder / "ledger.jsonl", terms=terms)
    return PrivateStrategy(FedAvg(fraction_evaluate=0.0), plan=plan, ledger=ledger, noise=NoiseSource(Seeds(0)))


def plan_of(*, rate: float = 1.0, z: float = 0.0, population: int = 4) -> PrivacyPlan:
    allocation = ALLOCATIONS.get("uniform")()
    return PrivacyPlan(LAYOUT, Poisson(rate=rate), population, noise_multiplier=z, allocation=allocation)


def flat(arrays: dict[str, Any]) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([np.float32(arrays[slot.name]).reshape(-1) for slot in LAYOUT.slots]))


def step_of(result: ArrayRecord | None) -> torch.Tensor:
    assert result is not None
    return flat({name: a.numpy() for name, a in result.items()}) - flat({n: a.numpy() for n, a in INITIAL.items()})


def test_the_step_is_the_mean_of_updates_clipped_by_component(tmp_path: Path) -> None:
    plan = plan_of()
    grid = FakeGrid({n: node(n) for n in (1, 2)} | {3: node(3, fails=True), 4: node(4, mods=False)})
    with (strategy := strategy_of(tmp_path, plan)).ledger:
        result = strategy.start(grid, INITIAL, num_rounds=1).arrays
    start = flat({name: array.numpy() for name, array in INITIAL.items()})
    updates = [Update(flat(trained(INITIAL, n)) - start) for n in (1, 2)]
    expected = sum(plan.clip(update).values for update in updates) / 4  # type: ignore[attr-defined]
    assert torch.allclose(step_of(result), expected, atol=1e-6)
    assert result["encoder.steps"].numpy() == 7
    assert [array.dtype for array in result.values()] == [array.dtype for array in INITIAL.values()]
    assert len(read_ledger(tmp_path / "ledger.jsonl")[1]) == 1


def test_nothing_but_the_clipped_update_leaves_the_client() -> None:
    bounds = plan_of().bounding
    from sordino.flower.codec import encode_bounding

    content = RecordDict(
        {
            "arrays": INITIAL,
            "config": ConfigRecord({}),
            "sordino": ConfigRecord({"bounding": encode_bounding(bounds)}),
        }
    )
    answer = node(1)(Message(content, 1, MessageType.TRAIN))
    assert answer is not None
    assert sorted(answer.content) == ["said", "values"]
    assert sorted(answer.content["said"]) == ["digest", "indicators"]


def test_a_client_counts_once_and_the_budget_ends_the_run(tmp_path: Path) -> None:
    plan = plan_of(z=1.0, rate=0.5)
    grid = FakeGrid({n: node(n) for n in range(1, 5)})
    with (strategy := strategy_of(tmp_path, plan, budget=4.9)).ledger, pytest.raises(BudgetExhausted):
        strategy.start(grid, INITIAL, num_rounds=50)
    paid = len(read_ledger(tmp_path / "ledger.jsonl")[1])
    assert 1 <= paid < 50
    asked = len(grid.sent)

    (tmp_path / "twice").mkdir()
    plan = plan_of()
    with (strategy := strategy_of(tmp_path / "twice", plan)).ledger:
        messages = list(strategy.configure_train(1, INITIAL, ConfigRecord(), grid))[:1]
        (reply,) = grid.send_and_receive(messages)
        step = step_of(strategy.aggregate_train(1, [reply, reply, reply])[0])
    assert float(step.norm()) <= 1 / 4 + 1e-6
    assert len(grid.sent) == asked + 1


def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    match = re.search(r'```python title="private_app.py"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    assert match is not None
    names: dict[str, Any] = {}
    exec(compile(match[1], str(PAGE), "exec"), names)
    grid = FakeGrid({n: node(n) for n in range(1, 7)})
    result = names["train_privately"](grid, INITIAL, rounds=3, population=6, folder=tmp_path)
    assert float(step_of(result).norm()) > 0
    terms, paid = read_ledger(tmp_path / "ledger.jsonl")
    assert (terms.population, len(paid)) == (6, 3)
    assert paid[0].event.to_json() == {"kind": "poisson-gaussian", "noise_multiplier": 1.0, "rate": 0.5}
