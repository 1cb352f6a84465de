"""Rounds in phases over Flower: the tensors of the process, uploads that carry their noise, and nodes that remember."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import fake
import net
import pytest
import torch
from flwr.app import ArrayRecord, Message, MessageType, RecordDict
from net import LAYOUT, NetLearner, data, initial, method

from sordino.errors import ConfigError
from sordino.federated import METHODS, InMemory, RoundResult, Task, run_rounds
from sordino.flower import DrawnAtNodes, FlowerGrid, Site
from sordino.flower.codec import Assignment
from sordino.flower.context_memory import ContextMemory
from sordino.flower.nodes import Nodes
from sordino.privacy import Ledger, NoiseSource, Poisson, read_ledger
from sordino.seeds import Seeds

SEEDED = NoiseSource(Seeds(5))
GUARDS: dict[str, dict[str, Any]] = {
    "none": {"mechanism": "none"},
    "clients": {"mechanism": "gaussian", "noise_multiplier": 0.5, "noised_by": "clients"},
}


def nodes_of(name: str, points: net.Data) -> dict[int, fake.Node]:
    """One node a client; node ids say nothing about the order."""

    def node(index: int, client: str) -> fake.Node:
        site = Site(
            learner=NetLearner(points), method=method(name), clients=(client,), noise=SEEDED, partition=index,
            partitions=len(points),
        )  # fmt: skip
        return fake.serving(lambda *_: site)

    return {900 - 7 * index: node(index, client) for index, client in enumerate(points)}


def grid_of(grid: fake.FakeGrid, points: net.Data, *, rate: float | None = None, measured: bool = False) -> FlowerGrid:
    nodes = Nodes(grid, digest=LAYOUT.digest, dealt=True, enough=1, wait_s=0.2, timeout_s=0.2, note=print, poll_s=0.001)
    return FlowerGrid(nodes, names=tuple(points), rate=rate, measured=measured, timeout_s=0.2, note=print)


def over_flower(
    folder: Path, name: str, grid: fake.FakeGrid, points: net.Data, *, measured: bool = False, **guard: Any
) -> list[RoundResult[Any]]:
    folder.mkdir(exist_ok=True)
    plan = net.plan_of(method(name), clients=len(points), rate=0.8, **guard)
    with Ledger(folder / "ledger.jsonl", terms=net.terms_of(points)) as ledger:
        return list(
            run_rounds(
                initial(), plan, rounds=3, method=method(name), backend=grid_of(grid, points, measured=measured),
                ledger=ledger, noise=SEEDED, seeds=Seeds(1),
            )
        )  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("name", METHODS.names())
def test_the_same_run_as_in_process(name: str, guard: str, tmp_path: Path) -> None:
    points, memory = data(3), InMemory()
    here = net.run(tmp_path / "here", method(name), points, rate=0.8, memory=memory, **GUARDS[guard])
    there = over_flower(tmp_path / "there", name, fake.FakeGrid(nodes_of(name, points)), points, **GUARDS[guard])
    first, second = here[-1].state, there[-1].state
    assert second.values.allclose(first.values, rtol=0, atol=1e-6)
    for table, other in ((first.models, second.models), (first.embeddings, second.embeddings)):
        assert table.keys() == other.keys()
        assert all(other[client].allclose(table[client], rtol=0, atol=1e-6) for client in table)
    charges = [read_ledger(tmp_path / side / "ledger.jsonl")[1] for side in ("here", "there")]
    assert [charge.event for charge in charges[0]] == [charge.event for charge in charges[1]]


def test_debug_telemetry_counts_steps_and_bytes_as_in_process(tmp_path: Path) -> None:
    points = data(4)
    here = net.run(tmp_path / "here", method("ditto"), points, rate=0.8)[-1].telemetry.to_json()
    grid = fake.FakeGrid(nodes_of("ditto", points))
    there = over_flower(tmp_path / "there", "ditto", grid, points, measured=True, mechanism="none")[
        -1
    ].telemetry.to_json()
    assert {key: there[key] for key in ("replies", "steps", "bytes_up")} == {
        key: here[key] for key in ("replies", "steps", "bytes_up")
    }
    assert there["loss"] == pytest.approx(here["loss"])


def test_what_is_kept_and_what_is_frozen_stays_at_the_node(tmp_path: Path) -> None:
    points, seen = data(3), []

    def listening(inner: fake.Node) -> fake.Node:
        def answer(message: Message) -> Message | None:
            reply = inner(message)
            assert reply is not None
            seen.append((message, reply))
            return reply

        return answer

    nodes = {node: listening(inner) for node, inner in nodes_of("local", points).items()}
    over_flower(tmp_path, "local", fake.FakeGrid(nodes), points, mechanism="none")
    trained = [reply for asked, reply in seen if asked.metadata.message_type == MessageType.TRAIN]
    assert trained
    assert all(len(reply.content["values"]["values"].numpy()) == 0 for reply in trained)
    assert all(sorted(reply.content["said"]) == ["digest", "indicators"] for reply in trained)


def test_uploads_carry_their_noise_before_they_leave_the_node() -> None:
    points = data(1)
    plan = net.plan_of(method("fedavg"), clients=1, **{**GUARDS["clients"], "noise_multiplier": 50.0}).steps[0].plan
    site = Site(learner=NetLearner(points), method=method("fedavg"), clients=("c00",), noise=NoiseSource())
    task = Task("", initial().values, plan.bounding, Seeds(1))
    quiet, loud = (
        site.answer(Assignment(task=task, rate=None, measured=False, stds=stds)).parcel.values
        for stds in (None, plan.noise_stds)
    )
    assert float(quiet.norm()) <= 1.0
    assert float(loud.std()) == pytest.approx(50.0, rel=0.3)


def test_a_node_that_sends_no_vector_of_the_phase_is_a_drop_out(tmp_path: Path) -> None:
    points = data(3)
    nodes = nodes_of("parameter-similarity", points)
    honest = nodes[900]

    def short(message: Message) -> Message | None:
        reply = honest(message)
        assert reply is not None
        if message.metadata.message_type == MessageType.TRAIN:
            values = reply.content["values"]["values"].numpy()[:-1]
            reply.content["values"] = ArrayRecord([values])
        return reply

    grid = fake.FakeGrid({**nodes, 900: short})
    results = over_flower(tmp_path, "parameter-similarity", grid, points, **GUARDS["clients"])
    assert torch.isfinite(results[-1].state.values).all()
    assert results[-1].telemetry.to_json()["replies"] < 3


def test_nodes_that_draw_their_own_clients_cannot_do_phases(tmp_path: Path) -> None:
    points = data(2)
    grid = fake.FakeGrid(nodes_of("local", points))
    plan = net.plan_of(method("local"), clients=2)
    (step,) = plan.steps
    drawn = replace(plan, steps=(replace(step, plan=replace(step.plan, cohort=DrawnAtNodes(Poisson(rate=0.5)))),))
    with (
        Ledger(tmp_path / "ledger.jsonl", terms=net.terms_of(points)) as ledger,
        pytest.raises(ConfigError, match="use as many nodes as clients"),
    ):
        list(
            run_rounds(
                initial(), drawn, rounds=1, method=method("local"), backend=grid_of(grid, points, rate=0.5),
                ledger=ledger, noise=SEEDED, seeds=Seeds(1),
            )
        )  # fmt: skip


def test_a_nodes_state_keeps_two_rounds_and_survives_the_wire() -> None:
    state = RecordDict()
    for number in range(1, 6):
        ContextMemory(state).of("a", (number, 0)).keep(model=torch.full((3,), float(number)))
        state = fake.carried(state)
    memory = ContextMemory(state)
    assert memory.of("a", (6, 0)).recall("model", torch.zeros(3)).tolist() == [5, 5, 5]
    assert memory.of("a", (5, 0)).recall("model", torch.zeros(3)).tolist() == [4, 4, 4]
    assert len(state) == 4
    with pytest.raises(ConfigError, match="is forgotten"):
        memory.of("a", (3, 0)).recall("model", torch.zeros(3))
