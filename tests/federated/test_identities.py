"""Methods that must be one another when an option is turned off: to the bit, with the same seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import net
import numpy as np
import pytest
import torch
from net import data, initial, method, personal, run
from torch.nn import functional as F

from sordino.errors import ConfigError
from sordino.federated import InMemory, Objective, Part, Proximal
from sordino.federated.methods.two_part import TwoPart
from sordino.layout import ParameterLayout
from sordino.privacy import NonPrivate, Poisson
from sordino.seeds import Seeds

OFF = {"parameter_penalty": 0.0, "embedding_penalty": 0.0}
ALL = {"personal_components": ("si", "sd")}
GUARDS: list[dict[str, Any]] = [
    {"mechanism": "none"},
    {"mechanism": "gaussian", "noise_multiplier": 0.3},
    {"mechanism": "gaussian", "noise_multiplier": 0.3, "noised_by": "clients"},
]


@pytest.mark.parametrize("guard", GUARDS, ids=["none", "server", "clients"])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fedprox", {"mu": 0.0}),
        ("fedper", {"personal_components": ()}),
        ("ditto", {"strength": 0.0}),
        ("fedavg-finetune", {}),
        ("regularised-fedavg", {"parameter_penalty": 0.0, "embedding_penalty": 0.0, "output_penalty": 0.0}),
    ],
)
def test_it_is_fedavg(name: str, options: dict[str, Any], guard: dict[str, Any], tmp_path: Path) -> None:
    points = data(5)
    plain = run(tmp_path / "a", method("fedavg"), points, rate=0.7, **guard)[-1].state
    other = run(tmp_path / "b", method(name, **options), points, rate=0.7, **guard)[-1].state
    assert torch.equal(other.values, plain.values)
    assert not torch.equal(plain.values, initial().values)


def test_a_plain_plan_and_a_phased_one_are_the_same_fedavg(tmp_path: Path) -> None:
    points = data(5)
    phased = run(tmp_path / "a", method("fedavg"), points, rate=0.7)[-1]
    plain = run(tmp_path / "b", method("fedavg"), points, plan=NonPrivate(net.LAYOUT, Poisson(rate=0.7), 5))[-1]
    assert torch.equal(phased.state.values, plain.state.values)
    assert phased.telemetry.to_json() == plain.telemetry.to_json()


def test_ditto_without_its_penalty_is_local_training(tmp_path: Path) -> None:
    points, kept = data(4), (InMemory(), InMemory())
    ditto = run(tmp_path / "a", method("ditto", strength=0.0), points, memory=kept[0])[-1].state
    local = run(tmp_path / "b", method("local"), points, memory=kept[1])[-1].state
    for client in points:
        own = personal(method("ditto"), ditto, client, points, kept[0])
        assert torch.equal(own, personal(method("local"), local, client, points, kept[1]))
        assert not torch.equal(own, initial().values)


@pytest.mark.parametrize("rate", [1.0, 0.6])
@pytest.mark.parametrize("name", ["parameter-similarity", "embedding-similarity"])
def test_beta_zero_is_fedavg_on_the_personal_part(name: str, rate: float, tmp_path: Path) -> None:
    """With everything personal and nothing to compare, the only phase is FedAvg's, under the same seeds."""
    points = data(5)
    control = method(name, beta=0.0, weights="uniform", **ALL, **OFF)
    plain = run(tmp_path / "a", method("fedavg"), points, rate=rate)[-1].state
    blended = run(tmp_path / "b", control, points, rate=rate)[-1].state
    assert torch.equal(blended.values, plain.values)
    assert all(torch.equal(model, plain.values) for model in blended.models.values())


def test_beta_zero_is_fedavg_on_the_personal_part_though_updates_are_compared(tmp_path: Path) -> None:
    points = data(5)
    plain = run(tmp_path / "a", method("fedavg"), points, rate=0.6)[-1].state
    blended = run(tmp_path / "b", method("parameter-similarity", beta=0.0, **ALL, **OFF), points, rate=0.6)[-1].state
    assert all(torch.equal(model, plain.values) for model in blended.models.values())


def test_beta_zero_behind_a_shared_part_averages_what_the_frozen_training_gives(tmp_path: Path) -> None:
    """One round by hand: the shared part averaged first, then the personal part trained over it and averaged."""
    points, start = data(4), initial().values
    learner, part = net.NetLearner(points), Part.of(net.LAYOUT, ["sd"])
    state = run(tmp_path / "run", method("parameter-similarity", beta=0.0, **OFF), points, rounds=1)[-1].state

    def mean(trained: Part, given: torch.Tensor, phase: str) -> torch.Tensor:
        total = torch.zeros(trained.size, dtype=torch.float64)
        for client in points:
            seeds = Seeds(1).at("round", 1, phase, client)
            total += trained.take(
                learner.fit(client, given, seeds=seeds, objective=Objective(trained)).update.values
            ).double()
        return (total / 4).float()

    shared = part.rest.add(mean(part.rest, start, "shared"), to=start)
    expected = part.add(mean(part, shared, "personal"), to=shared)
    assert torch.equal(state.values, expected)
    assert all(torch.equal(part.put(model, into=state.values), expected) for model in state.models.values())


def test_similarity_that_says_nothing_is_the_uniform_control(tmp_path: Path) -> None:
    """At an endless temperature everybody is as near as everybody else."""
    points, options = data(4), {**ALL, **OFF}
    blind = run(tmp_path / "a", method("parameter-similarity", temperature=1e300, **options), points)[-1].state
    control = run(tmp_path / "b", method("parameter-similarity", weights="uniform", **options), points)[-1].state
    assert torch.equal(blind.values, control.values)
    assert all(torch.equal(blind.models[client], control.models[client]) for client in points)


def test_embeddings_that_say_nothing_are_the_uniform_control(tmp_path: Path) -> None:
    points, clients = data(4), tuple(data(4))
    chosen = method("embedding-similarity", temperature=1e300)
    state = run(tmp_path / "run", chosen, points, rounds=1)[-1].state
    control = method("embedding-similarity", weights="uniform")
    assert isinstance(chosen, TwoPart)
    assert isinstance(control, TwoPart)
    assert set(state.embeddings) == set(clients)
    assert (chosen.blending(state, clients, None) == control.blending(state, clients, None)).all()
    sharp = method("embedding-similarity", temperature=0.01, centred=True)
    assert isinstance(sharp, TwoPart)
    assert (np.diag(sharp.blending(state, clients, None)) > 1.5).all()


def test_weights_by_examples_ask_how_many_there_are(tmp_path: Path) -> None:
    points = data(3)
    chosen = method("parameter-similarity", weights="examples", beta=1.0)
    state = run(tmp_path / "run", chosen, points, rounds=1)[-1].state
    assert isinstance(chosen, TwoPart)
    assert {client: float(count) for client, count in state.counts.items()} == {"c00": 4.0, "c01": 6.0, "c02": 8.0}
    assert chosen.blending(state, tuple(points), None)[0] / 3 == pytest.approx([4 / 18, 6 / 18, 8 / 18])


def test_a_new_speaker_is_given_the_model_of_whom_he_sounds_like(tmp_path: Path) -> None:
    points, part = data(4), Part.of(net.LAYOUT, ["sd"])
    chosen = method("embedding-similarity", temperature=1e-4, embedding_clip_norm=10.0)
    state = run(tmp_path / "run", chosen, points)[-1].state
    new = chosen.cold_start(state, state.embeddings["c02"], net.LAYOUT)
    assert torch.allclose(part.take(new), state.models["c02"], atol=1e-6)
    assert torch.equal(part.rest.take(new), part.rest.take(state.values))
    with pytest.raises(ConfigError, match="no client has released an embedding"):
        chosen.cold_start(initial(), state.embeddings["c02"], net.LAYOUT)
    with pytest.raises(ConfigError, match='use "embedding-similarity"'):
        method("fedavg").cold_start(state, state.embeddings["c02"], net.LAYOUT)


def test_a_new_speakers_embedding_is_clipped_like_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = data(3)
    chosen = method("embedding-similarity", temperature=0.1, centred=True, embedding_clip_norm=0.5)
    last = run(tmp_path / "run", chosen, points, mechanism="gaussian", noise_multiplier=0.1)[-1]

    def welcomed(size: float) -> torch.Tensor:
        heard = size * F.normalize(torch.arange(6.0), dim=0)
        monkeypatch.setattr(net.NetLearner, "embed", lambda *_, **__: heard)
        return chosen.newcomer(last.state, "new", learner=net.NetLearner(points), plan=last.plan, seeds=net.Seeds(1))

    assert torch.allclose(welcomed(7.0), welcomed(0.5), atol=1e-7)
    assert not torch.allclose(welcomed(0.5), welcomed(0.05), atol=1e-4)


def test_fedrep_changes_one_part_at_a_time(tmp_path: Path) -> None:
    points, memory, part = data(2), InMemory(), Part.of(net.LAYOUT, ["sd"])
    state = run(tmp_path / "run", method("fedrep"), points, rounds=1, memory=memory)[-1].state
    assert torch.equal(part.take(state.values), part.take(initial().values))  # heads never leave
    for client in points:
        own = personal(method("fedrep"), state, client, points, memory)
        assert torch.equal(part.rest.take(own), part.rest.take(state.values))
        assert not torch.equal(part.take(own), part.take(initial().values))


def test_fednova_scales_by_its_own_steps(tmp_path: Path) -> None:
    points = data(2)
    learner = net.NetLearner(points)
    state = run(tmp_path / "run", method("fednova", tau_eff=6.0), points, rounds=1)[-1].state
    results = [learner.fit(c, initial().values, seeds=Seeds(1).at("round", 1, c)) for c in points]
    assert [result.steps for result in results] == [2, 3]
    expected = sum((6.0 / r.steps) * r.update.values.double() for r in results) / 2
    assert torch.allclose(state.values, initial().values + expected.float(), atol=1e-7)


def test_fednova_needs_to_know_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = net.NetLearner.fit
    monkeypatch.setattr(net.NetLearner, "fit", lambda *a, **k: replace(fit(*a, **k), steps=0))
    with pytest.raises(ConfigError, match="expected a model that tells how many it took"):
        run(tmp_path / "run", method("fednova"), data(1), rounds=1)


def test_pfedme_goes_part_of_the_way_to_its_personal_model(tmp_path: Path) -> None:
    points, memory, start = data(1), InMemory(), initial().values
    chosen = method("pfedme", strength=2.0, step=0.25, local_rounds=1)
    state = run(tmp_path / "run", chosen, points, rounds=1, memory=memory)[-1].state
    inner = net.NetLearner(points).fit(
        "c00",
        start,
        seeds=Seeds(1).at("round", 1, "c00", "inner", 0),
        objective=Objective(proximal=(Proximal(2.0, start),)),
    )
    assert torch.equal(personal(chosen, state, "c00", points, memory), start + inner.update.values)
    assert torch.allclose(state.values, start + 0.25 * inner.update.values, atol=1e-7)


def test_fedamp_without_attention_is_everybody_by_himself(tmp_path: Path) -> None:
    points = data(3)
    far = run(tmp_path / "a", method("fedamp", sigma=1e-9, mu=0.0), points, rounds=2)[-1].state
    for client in points:
        alone = run(tmp_path / client, method("fedamp", mu=0.0), {client: points[client]}, rounds=2)[-1].state
        assert torch.equal(far.models[client], alone.models[client])


def test_a_proximal_penalty_acts_on_its_part_alone() -> None:
    layout = ParameterLayout.from_shapes([("a", "si", (2,)), ("b", "sd", (3,))])
    gradient, values = torch.zeros(5), torch.arange(5.0)
    Proximal(0.5, torch.ones(5), Part.of(layout, ["sd"])).add_gradient(values, into=gradient)
    assert gradient.tolist() == [0, 0, 0.5, 1.0, 1.5]


def test_penalties_hold_clients_near_the_global_model(tmp_path: Path) -> None:
    points = data(3)
    moved = {}
    for name, options in {
        "fedavg": {},
        "fedprox": {"mu": 3.0},
        "regularised-fedavg": {"parameter_penalty": 0.0, "embedding_penalty": 1.0, "output_penalty": 1.0},
    }.items():
        state = run(tmp_path / name, method(name, **options), points, rounds=1)[-1].state
        moved[name] = float((state.values - initial().values).norm())
    assert moved["fedprox"] < 0.9 * moved["fedavg"]
    assert moved["regularised-fedavg"] < 0.95 * moved["fedavg"]


def test_a_blend_by_updates_is_the_published_formula_layer_by_layer(tmp_path: Path) -> None:
    """The second round, in which models differ already: ``theta_i = sum_j ((1 - beta) / m + beta S_ij,l) theta_j'``."""
    points, beta = data(4), 0.7
    chosen = method("parameter-similarity", beta=beta, temperature=0.2, **ALL, **OFF)
    first, second = (result.state for result in run(tmp_path / "run", chosen, points, rounds=2))
    learner = net.NetLearner(points)
    updates = torch.stack(
        [learner.fit(c, first.models[c], seeds=Seeds(1).at("round", 2, c)).update.values for c in points]
    )
    trained = (torch.stack([first.models[c] for c in points]) + updates).double()
    slices = {"si": (0, 30), "sd.layers.0": (30, 65), "sd.head": (65, 83)}
    assert [group.name for group in net.LAYOUT.grouped("layer").groups] == list(slices)
    for start, stop in slices.values():
        u = updates[:, start:stop].double()
        cosine = torch.nn.functional.cosine_similarity(u[:, None], u[None], dim=-1)
        weights = (1 - beta) / 4 + beta * torch.softmax(cosine / 0.2, dim=1)
        expected = (weights @ trained[:, start:stop]).float()
        for row, client in zip(expected, points, strict=True):
            assert torch.allclose(second.models[client][start:stop], row, atol=1e-6)
    assert torch.allclose(second.values, torch.stack(list(second.models.values())).mean(dim=0), atol=1e-6)


def test_a_blend_by_embeddings_is_the_published_formula(tmp_path: Path) -> None:
    points, beta, part = data(4), 0.7, Part.of(net.LAYOUT, ["sd"])
    chosen = method("embedding-similarity", beta=beta, temperature=0.2, **OFF)
    first, second = (result.state for result in run(tmp_path / "run", chosen, points, rounds=2))
    learner, trained = net.NetLearner(points), []
    for client in points:
        start = part.put(first.models[client], into=second.values)  # the shared part is this round's already
        seeds = Seeds(1).at("round", 2, "personal", client)
        trained.append(
            part.take(start + learner.fit(client, start, seeds=seeds, objective=Objective(part)).update.values)
        )
    heard = torch.stack([second.embeddings[client] for client in points])
    cosine = torch.nn.functional.cosine_similarity(heard[:, None], heard[None], dim=-1)
    weights = (1 - beta) / 4 + beta * torch.softmax(cosine / 0.2, dim=1)
    for row, client in zip(weights @ torch.stack(trained), points, strict=True):
        assert torch.allclose(second.models[client], row, atol=1e-6)


def test_fedamp_passes_messages_by_distance(tmp_path: Path) -> None:
    points = data(3)
    chosen = method("fedamp", alpha=0.3, sigma=2.0)
    state = run(tmp_path / "run", chosen, points, rounds=1)[-1].state
    models = torch.stack([state.models[client] for client in points])
    distance = (models[:, None] - models[None]).square().sum(dim=-1)
    attention = (0.15 * torch.exp(-distance / 2.0)).fill_diagonal_(0)
    for i, client in enumerate(points):
        expected = (1 - attention[i].sum()) * models[i] + attention[i] @ models
        assert torch.allclose(chosen.start(state, client, net.LAYOUT), expected, atol=1e-6)


def test_fine_tuning_trains_for_as_long_as_it_is_told(tmp_path: Path) -> None:
    points, chosen = data(2), method("fedavg-finetune", epochs=3)
    state = run(tmp_path / "run", chosen, points, rounds=1)[-1].state
    tuned = net.NetLearner(points).fit("c01", state.values, seeds=Seeds(9), objective=Objective(epochs=3))
    own = personal(chosen, state, "c01", points, InMemory())
    assert torch.equal(own, state.values + tuned.update.values)
    assert tuned.steps == 9


def test_a_parameter_penalty_is_the_squared_distance(tmp_path: Path) -> None:
    """``a ||theta - theta_g||**2`` is FedProx with mu = 2 a."""
    points = data(3)
    off = {"embedding_penalty": 0.0, "output_penalty": 0.0}
    squared = run(tmp_path / "a", method("regularised-fedavg", parameter_penalty=0.2, **off), points)[-1].state
    proximal = run(tmp_path / "b", method("fedprox", mu=0.4), points)[-1].state
    assert torch.equal(squared.values, proximal.values)
