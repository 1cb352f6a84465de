"""The existing round loop on Flower's nodes: the same tensors and charges, and what faulty nodes cannot do."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from pathlib import Path

import fake
import numpy as np
import pytest
import torch
from fake import FakeGrid, dealt, node
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, MessageType, RecordDict
from flwr.supercore.run import RunNotRunningException
from toy import LAYOUT, ToyLearner, learner
from toy import backend as in_process

from sordino.errors import ConfigError
from sordino.federated import Backend, ClientFailed, RoundResult, ServerState, run_rounds
from sordino.federated.methods.fedavg import FedAvg
from sordino.flower import DrawnAtNodes, Site
from sordino.flower.codec import Answer, decode_assignment, encode_answer
from sordino.privacy import (
    ALLOCATIONS,
    Ledger,
    NoiseShares,
    NoiseSource,
    NonPrivate,
    Parcel,
    Plan,
    Poisson,
    PrivacyPlan,
    Terms,
    Tracking,
    read_ledger,
)
from sordino.seeds import Seeds

SEEDED = NoiseSource(Seeds(5))
ZERO = ServerState(0, torch.zeros(LAYOUT.size))
TERMS = Terms(unit="client", population=8, clients_per_speaker=1, delta=1e-5, seeded=True)


def run(
    path: Path, plan: Plan, backend: Backend, *, rounds: int = 3, noise: NoiseSource = SEEDED,
    state: ServerState = ZERO,
) -> list[RoundResult]:  # fmt: skip
    path.mkdir(exist_ok=True)
    with Ledger(path / "ledger.jsonl", terms=replace(TERMS, seeded=noise.seeded)) as ledger:
        return list(
            run_rounds(
                state,
                plan,
                rounds=rounds,
                method=FedAvg(),
                backend=backend,
                ledger=ledger,
                noise=noise,
                seeds=Seeds(1),
            )
        )


def private(*, rate: float = 1.0, z: float = 0.0, **options: object) -> PrivacyPlan:
    plan = PrivacyPlan(LAYOUT, Poisson(rate=rate), 8, clip_norm=1.0, noise_multiplier=z)
    return replace(plan, **options)  # type: ignore[arg-type]


def charges(path: Path) -> list[tuple[int, object]]:
    return [(charge.round, charge.event) for charge in read_ledger(path / "ledger.jsonl")[1]]


def by_hand(toy: ToyLearner, plan: Plan, *clients: str) -> torch.Tensor:
    """The sum of these clients' clipped first updates, over the declared cohort."""
    seeds = Seeds(1)
    updates = [toy.fit(c, ZERO.values, seeds=seeds.at("round", 1, c)).update for c in clients]
    return sum(plan.clip(update).values.double() for update in updates) / plan.expected_cohort  # type: ignore


@pytest.mark.parametrize("name", ALLOCATIONS.names())
def test_the_same_run_as_in_process(name: str, tmp_path: Path) -> None:
    toy = learner(8, jitter=0.1)
    plan = private(rate=0.5, z=0.3, allocation=ALLOCATIONS.get(name)(), tracking=Tracking(quantile=0.4))
    here = run(tmp_path / "here", plan, in_process(toy))
    there = run(tmp_path / "there", plan, fake.backend(FakeGrid(dealt(toy)), toy))
    assert there[-1].state.values.allclose(here[-1].state.values, rtol=0, atol=1e-6)
    assert there[-1].plan.learned.clip_norm == pytest.approx(here[-1].plan.learned.clip_norm)
    assert charges(tmp_path / "there") == charges(tmp_path / "here")


def test_debug_telemetry_and_drop_outs_are_those_of_the_process(tmp_path: Path) -> None:
    toy = learner(8, jitter=0.1)
    plan = private(rate=0.7, z=0.3, watched=LAYOUT.groups)
    here = run(tmp_path / "here", plan, in_process(toy, dropout_rate=0.3))
    grid = FakeGrid(dealt(toy))
    there = run(tmp_path / "there", plan, fake.backend(grid, toy, measured=True, dropout_rate=0.3))
    for a, b in zip(here, there, strict=True):
        first, second = a.telemetry.to_json(), b.telemetry.to_json()
        assert second["replies"] == first["replies"] < first["drawn"]
        assert second["components"] == pytest.approx(first["components"])
        assert second["loss"] == first["loss"] == 1.0
        assert [block["clip_rate"] for block in second["blocks"]] == [block["clip_rate"] for block in first["blocks"]]


def test_private_telemetry_lets_neither_loss_nor_norm_onto_the_wire(tmp_path: Path) -> None:
    toy, plan = learner(4), private()
    nodes, seen = dealt(toy), []

    def listening(inner: fake.Node) -> fake.Node:
        def answer(message: Message) -> Message | None:
            reply = inner(message)
            assert reply is not None
            seen.append(reply)
            return reply

        return answer

    run(tmp_path, plan, fake.backend(FakeGrid({i: listening(n) for i, n in nodes.items()}), toy), rounds=1)
    answers = [m for m in seen if m.metadata.message_type == MessageType.TRAIN]
    assert [sorted(m.content["said"]) for m in answers] == [["digest", "indicators"]] * 4
    assert all(list(m.content) == ["said", "values"] for m in answers)


def test_availability_moves_neither_divisor_nor_charge(tmp_path: Path) -> None:
    toy, plan = learner(8), private(z=0.0)
    grid = FakeGrid(dealt(toy))
    there = fake.backend(grid, toy)
    first = run(tmp_path, plan, there, rounds=1)[-1]
    grid.online = {900, 893}  # all but the first two leave
    state = ServerState(1, ZERO.values)
    result = run(tmp_path, plan, there, rounds=2, state=state)[-1]
    expected = sum(
        plan.clip(toy.fit(c, ZERO.values, seeds=Seeds(1)).update).values for c in ("c000", "c001")  # type: ignore
    )  # fmt: skip
    assert torch.allclose(result.state.values, (expected / 8).float(), atol=1e-7)
    assert not torch.allclose(result.state.values, first.state.values)
    assert len(charges(tmp_path)) == 2


def lost(message: Message) -> Message | None:
    return None


def away(message: Message) -> Message:
    return Message(Error(code=5, reason="away"), reply_to=message)


def raises(message: Message) -> Message:
    return Message(Error(code=2, reason="bang"), reply_to=message)


def sends(values: torch.Tensor | None = None, **changes: object) -> fake.Node:
    def answer(message: Message) -> Message:
        assignment = decode_assignment(message.content)
        ones = torch.ones(assignment.task.bounding.clipper.size)
        digest = str(changes.get("digest", LAYOUT.digest))
        parcel = Parcel(ones if values is None else values, digest, tuple(changes.get("indicators", ())))  # type: ignore
        return Message(encode_answer(Answer(parcel=parcel)), reply_to=message)

    return answer


def unreadable(message: Message) -> Message:
    raise KeyError("arraychunk_ids")  # where Flower puts together what a node has taken apart wrongly


def huge(message: Message) -> Message:
    records = sends()(message).content
    records["values"] = ArrayRecord([np.zeros((LAYOUT.size, 100), np.float32)])
    return Message(records, reply_to=message)


def nonsense(message: Message) -> Message:
    records = RecordDict({"said": ConfigRecord({"digest": 7}), "values": ArrayRecord()})
    return Message(records, reply_to=message)


def trained_by(faulty: fake.Node, honest: fake.Node) -> fake.Node:
    """Greets as it should, and answers training in its own way."""
    return lambda message: (faulty if message.metadata.message_type == MessageType.TRAIN else honest)(message)


FAULTS = {
    "lost": lost,
    "away": away,
    "raises": raises,
    "shape": sends(torch.ones(3)),
    "layout": sends(digest="feedfacefeedface"),
    "indicators": sends(indicators=(1.0, 1.0)),
    "nonsense": nonsense,
    "unreadable": unreadable,
    "huge": huge,
    "not-a-number": sends(torch.full((LAYOUT.size,), math.nan)),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("measured", [False, True])
def test_a_faulty_node_counts_as_nothing_and_the_round_goes_on(fault: str, measured: bool, tmp_path: Path) -> None:
    toy, plan, notes = learner(3), private(), []
    nodes = dealt(toy)
    nodes[893] = trained_by(FAULTS[fault], nodes[893])
    there = fake.backend(FakeGrid(nodes), toy, notes=notes, measured=measured)
    result = run(tmp_path, plan, there, rounds=1)[-1]
    assert torch.allclose(result.state.values, by_hand(toy, plan, "c000", "c002").float(), atol=1e-7)
    assert len(charges(tmp_path)) == 1
    silent = fault in ("lost", "away") or (fault == "not-a-number" and not measured)
    assert len(notes) == (not silent)
    assert ("c001" in "".join(notes)) == (measured and not silent)


def test_too_large_an_update_is_clipped_again(tmp_path: Path) -> None:
    toy, plan = learner(2), private()
    nodes = dealt(toy)
    nodes[893] = trained_by(sends(torch.full((LAYOUT.size,), 1e9)), nodes[893])
    result = run(tmp_path, plan, fake.backend(FakeGrid(nodes), toy), rounds=1)[-1]
    hostile = result.state.values.double() * 8 - by_hand(toy, plan, "c000") * 8
    assert 0.999 < float(hostile.norm()) <= 1 + 1e-6


def test_under_private_telemetry_a_reason_is_told_once_and_not_whose_it_is(tmp_path: Path) -> None:
    toy, notes = learner(3), []
    nodes = dealt(toy)
    for name in (900, 893):
        nodes[name] = trained_by(raises, nodes[name])
    run(tmp_path, private(), fake.backend(FakeGrid(nodes), toy, notes=notes), rounds=3)
    assert notes == ["a client failed: bang"]


def test_a_round_that_nobody_answers_is_noise_alone_and_is_charged(tmp_path: Path) -> None:
    toy = learner(3)
    nodes = {name: trained_by(lost, honest) for name, honest in dealt(toy).items()}
    (silent,) = run(tmp_path, private(z=0.7), fake.backend(FakeGrid(nodes), toy), rounds=1)
    (drawn_nobody,) = run(tmp_path / "empty", private(rate=1e-9, z=0.7), fake.backend(FakeGrid(nodes), toy), rounds=1)
    assert float(silent.state.values.std()) == pytest.approx(0.7 / 8, rel=0.5)
    assert drawn_nobody.telemetry.to_json()["drawn"] == 0
    assert len(charges(tmp_path)) == len(charges(tmp_path / "empty")) == 1


def says(reason: str) -> fake.Node:
    return lambda message: Message(Error(code=2, reason=reason), reply_to=message)


@pytest.mark.parametrize(
    "hostile", [says("a\nsordino: error: b\r\x1b[2K" + 10_000 * "c"), sends(digest="a\nb" * 10_000)]
)
def test_what_a_node_says_is_one_short_line_of_the_log(hostile: fake.Node, tmp_path: Path) -> None:
    toy, notes = learner(2), []
    nodes = dealt(toy)
    nodes[893] = trained_by(hostile, nodes[893])
    run(tmp_path, private(), fake.backend(FakeGrid(nodes), toy, notes=notes), rounds=1)
    (note,) = notes
    assert note.isprintable()
    assert len(note) < 500


def test_if_everybody_fails_at_once_the_run_stops_uncharged(tmp_path: Path) -> None:
    toy = learner(3)
    nodes = {name: trained_by(raises, honest) for name, honest in dealt(toy).items()}
    with pytest.raises(ClientFailed, match="every client that answered has failed: bang"):
        run(tmp_path, private(), fake.backend(FakeGrid(nodes), toy))
    assert charges(tmp_path) == []


def test_memory_holds_one_answer_however_many_nodes_there_are(tmp_path: Path) -> None:
    toy = learner(50)
    grid = FakeGrid(dealt(toy))
    run(tmp_path, NonPrivate(LAYOUT, Poisson(rate=1.0), 50), fake.backend(grid, toy), rounds=1)
    assert sum(grid.pulled) == 100  # a greeting and an answer each
    assert max(grid.pulled) == 1
    assert max(grid.pushed) <= 8
    adapters = {id(m.content["values"]) for m in grid.sent if m.metadata.message_type == MessageType.TRAIN}
    assert len(adapters) == 1


def test_answers_to_an_earlier_round_or_given_twice_are_never_seen(tmp_path: Path) -> None:
    toy, plan = learner(2), private()
    nodes, late = dealt(toy), []

    def slow(message: Message) -> Message | None:
        """In the second round it gives what it owes for the first, and then that again."""
        if message.metadata.message_type != MessageType.TRAIN:
            return nodes[893](message)
        late.append(sends()(message))
        return late[0] if len(late) > 1 else None

    grid = FakeGrid({**nodes, 893: slow})
    results = run(tmp_path, plan, fake.backend(grid, toy), rounds=3)
    assert [done.telemetry.to_json()["replies"] for done in results] == [1, 1, 1]
    assert len(late) == 3


def test_what_flower_itself_says_ends_the_run_uncharged(tmp_path: Path) -> None:
    toy = learner(2)
    grid = FakeGrid(dealt(toy))

    def stopped(message: Message) -> Message:
        raise RunNotRunningException

    grid.nodes = {name: trained_by(stopped, honest) for name, honest in grid.nodes.items()}
    with pytest.raises(RunNotRunningException):
        run(tmp_path, private(), fake.backend(grid, toy))
    assert charges(tmp_path) == []


# --- nodes -------------------------------------------------------------------------------------------------------------


def test_too_few_nodes_is_one_sentence(tmp_path: Path) -> None:
    toy = learner(2)
    with pytest.raises(ConfigError, match=r"2 nodes came within 0\.05 s: expected at least 3"):
        run(tmp_path, private(), fake.backend(FakeGrid(own(toy)), toy, own=True, enough=3, wait_s=0.05))
    with pytest.raises(ConfigError, match="0 nodes came"):
        run(tmp_path, private(), fake.backend(FakeGrid({}), toy, wait_s=0.05))
    assert charges(tmp_path) == []


def test_a_node_that_never_answers_its_greeting_holds_nobody_up(tmp_path: Path) -> None:
    toy, notes = learner(3), []
    nodes = own(toy)
    honest, nodes[1] = nodes[1], lost
    grid = FakeGrid(nodes)
    there = fake.backend(grid, toy, own=True, wait_s=0.05, notes=notes)
    assert list(there.clients()) == ["node-0", "node-2"]
    begun = time.monotonic()
    for _ in range(20):
        assert list(there.clients()) == ["node-0", "node-2"]
    assert time.monotonic() - begun < 1  # not for the whole of a greeting's time in each of them
    grid.nodes[1] = honest
    time.sleep(0.25)  # the greeting has expired
    assert [list(there.clients()) for _ in range(3)][-1] == ["node-0", "node-1", "node-2"]
    assert notes == []


def test_a_node_that_was_away_when_greeted_is_greeted_again() -> None:
    toy, notes, asked = learner(2), [], []
    nodes = own(toy)
    honest = nodes[1]

    def comes_back(message: Message) -> Message | None:
        asked.append(message)
        return away(message) if len(asked) < 3 else honest(message)

    there = fake.backend(FakeGrid({**nodes, 1: comes_back}), toy, own=True, enough=2, wait_s=5, notes=notes)
    assert list(there.clients()) == ["node-0", "node-1"]
    assert len(asked) == 3
    assert notes == []


def own(toy: ToyLearner) -> dict[int, fake.Node]:
    return {index: node(toy, name) for index, name in enumerate(sorted(toy.targets))}


def test_a_node_with_another_model_is_left_out(tmp_path: Path) -> None:
    toy, notes = learner(3), []
    nodes = own(toy)
    other = ToyLearner({"c": torch.zeros(4)}, layout=LAYOUT.select(["connector.weight"]))
    nodes[1] = node(other, "c")
    there = fake.backend(FakeGrid(nodes), toy, own=True, notes=notes)
    assert list(there.clients()) == ["node-0", "node-2"]
    assert "node 1 is left out: it has a model of layout" in notes[0]
    assert list(there.clients()) == ["node-0", "node-2"]
    assert len(notes) == 1


def test_what_is_wrong_with_a_setting_is_told_and_nothing_else() -> None:
    toy, notes = learner(1), []

    def broken(settings: object, config: object, topic: str) -> Site:
        raise ConfigError("there is no manifest; name one.")

    def leaking(settings: object, config: object, topic: str) -> Site:
        raise ValueError("anna said: my number is 7")

    grid = FakeGrid({1: fake.serving(broken), 2: fake.serving(leaking), 3: node(toy, "c000")})
    assert list(fake.backend(grid, toy, own=True, notes=notes).clients()) == ["node-3"]
    assert sorted(notes)[0] == "node 1 is left out: there is no manifest; name one."
    assert sorted(notes)[1] == "node 2 is left out: ValueError; the node's own log says more"


def test_if_no_node_can_take_part_the_reason_is_the_error() -> None:
    toy = learner(2)
    with pytest.raises(ClientFailed, match=r"no node can take part: .*set own_recordings to match"):
        fake.backend(FakeGrid(own(toy)), toy).clients()


def test_several_clients_are_not_clipped_as_one(tmp_path: Path) -> None:
    toy = learner(3)
    grid = FakeGrid({1: node(toy, *sorted(toy.targets))})
    with pytest.raises(ClientFailed, match="3 clients, and the server draws nodes"):
        run(tmp_path, private(), fake.backend(grid, toy, own=True))


# --- drawn at the nodes ------------------------------------------------------------------------------------------------


def test_a_site_sends_the_sum_of_those_that_it_drew(tmp_path: Path) -> None:
    toy = learner(8)
    plan = private(cohort=DrawnAtNodes(Poisson(rate=1.0)))
    grid = FakeGrid({1: node(toy, "c000", "c001", "c002"), 2: node(toy, "c003")})
    result = run(tmp_path, plan, fake.backend(grid, toy, own=True, rate=1.0), rounds=1)[-1]
    expected = by_hand(toy, plan, "c000", "c001", "c002", "c003")
    assert torch.allclose(result.state.values, expected.float(), atol=1e-6)


def test_sites_bring_shares_of_the_noise_and_the_server_the_rest(tmp_path: Path) -> None:
    toy = ToyLearner({f"c{i}": torch.zeros(LAYOUT.size) for i in range(6)}, rate=0.0)
    shares = NoiseShares(parties=3, tolerated=1)
    plan = private(cohort=DrawnAtNodes(Poisson(rate=0.5), nodes=3), z=1.0, shares=shares)
    seen = []

    def listening(message: Message) -> Message:
        answer = node(toy, "c4", "c5")(message)
        if message.metadata.message_type == MessageType.TRAIN:
            seen.append(answer.content.array_records["values"]["values"].numpy().copy())
        return answer

    def faulty(message: Message) -> Message:
        return node(toy, "c2", "c3")(message) if random.random() < 0.5 else Message(Error(1, "no"), reply_to=message)

    random = Seeds(3).generator()
    grid = FakeGrid({1: node(toy, "c0", "c1"), 2: faulty, 3: listening})
    rounds = run(tmp_path, plan, fake.backend(grid, toy, own=True, rate=0.5), rounds=200, noise=NoiseSource())
    steps = torch.stack([ZERO.values, *(one.state.values for one in rounds)]).diff(dim=0)
    assert float(steps.std()) == pytest.approx(math.sqrt(3 / 2) / plan.expected_cohort, rel=0.03)
    assert np.std(seen) == pytest.approx(math.sqrt(1 / 2), rel=0.03)


def test_sites_draw_at_the_plans_rate_and_the_charge_is_that_of_poisson(tmp_path: Path) -> None:
    toy = learner(20)
    names = sorted(toy.targets)
    plan = private(rate=0.3, z=0.7)
    at_sites = replace(plan, cohort=DrawnAtNodes(Poisson(rate=0.3)))
    grid = FakeGrid({1: node(toy, *names[:12]), 2: node(toy, *names[12:])})
    run(tmp_path, at_sites, fake.backend(grid, toy, own=True, rate=0.3), rounds=40, noise=NoiseSource())
    assert 0.3 * 800 - 4 * 13 < len(toy.asked) < 0.3 * 800 + 4 * 13  # four standard deviations
    assert {toy.asked.count(name) for name in names} - {0, 40}
    assert charges(tmp_path)[0][1] == plan.event()
    assert at_sites.expected_cohort == plan.expected_cohort


def test_a_hostile_site_weighs_no_more_than_its_clients(tmp_path: Path) -> None:
    toy = learner(8)
    plan = private(cohort=DrawnAtNodes(Poisson(rate=1.0)))
    honest = node(toy, "c000", "c001", "c002")
    grid = FakeGrid({1: trained_by(sends(torch.full((LAYOUT.size,), 1e9)), honest)})
    result = run(tmp_path, plan, fake.backend(grid, toy, own=True, rate=1.0), rounds=1)[-1]
    assert 2.99 < float(result.state.values.double().norm() * 8) <= 3


def test_an_answer_of_a_site_does_not_say_how_many_took_part(tmp_path: Path) -> None:
    toy = learner(3)
    answers = []

    def listening(message: Message) -> Message | None:
        answers.append(node(toy, "c000", "c001")(message))
        return answers[-1]

    plan = private(cohort=DrawnAtNodes(Poisson(rate=0.5)), tracking=Tracking())
    run(tmp_path, plan, fake.backend(FakeGrid({1: listening}), toy, own=True, rate=0.5), rounds=5)
    said = [m.content["said"] for m in answers[1:]]
    assert [sorted(record) for record in said] == [["digest", "indicators"]] * 5
    assert all(len(json.dumps(record["indicators"])) < 60 for record in said)
