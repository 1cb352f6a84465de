"""An emotion network in the federated loop: the same updates whoever came before, parts that stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sordino.federated import InProcess, ServerState, run_rounds
from sordino.federated.emotion_training import EmotionLearner
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.objective import Objective, Proximal
from sordino.federated.options import LocalOptions
from sordino.federated.part import Part
from sordino.models.emotion import Branch, BranchOptions, Clips, EmotionNetwork
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyPlan, Terms
from sordino.seeds import Seeds

LOCAL = LocalOptions(epochs=2, lr=1e-2, batch_size=4)


def clips(seed: int) -> Clips:
    random = torch.Generator().manual_seed(seed)
    every = torch.arange(10)
    vectors = {"sound": torch.randn(10, 3, generator=random), "face": torch.randn(10, 2, generator=random)}
    return Clips(vectors, dict.fromkeys(vectors, every), torch.randint(2, (10,), generator=random), ("s",) * 10)


@pytest.fixture
def learner() -> EmotionLearner:
    network = EmotionNetwork(2)
    for seed, (name, width) in enumerate({"sound": 3, "face": 2}.items()):
        network = network.extended(name, Branch(width, 2, options=BranchOptions(hidden=4, lipschitz=5.0), seed=seed))
    return EmotionLearner(network, {"a": clips(1), "b": clips(2)}, LOCAL)


def test_modalities_are_components(learner: EmotionLearner) -> None:
    assert list(learner.layout.components) == ["sound", "face"]
    assert learner.layout.size == sum(tensor.numel() for tensor in learner.network.parameters())
    assert learner.num_examples("a") == 10


def test_an_update_is_the_same_whoever_was_trained_before(learner: EmotionLearner) -> None:
    start = learner.flat.snapshot()
    first = learner.fit("a", start, seeds=Seeds(1))
    learner.fit("b", start, seeds=Seeds(2))
    torch.rand(3)
    again = learner.fit("a", start, seeds=Seeds(1))
    assert torch.equal(first.update.values, again.update.values)
    assert first.steps == 6
    assert float(first.update.values.norm()) > 0
    assert not torch.equal(first.update.values, learner.fit("a", start, seeds=Seeds(3)).update.values)


def test_what_is_not_trained_keeps_its_bits_and_bounds_hold(learner: EmotionLearner) -> None:
    start = learner.flat.snapshot()
    face = Part.of(learner.layout, ["face"])
    update = learner.fit("a", start, seeds=Seeds(1), objective=Objective(trained=face, epochs=1)).update.values
    assert not face.rest.take(update).any()
    assert face.take(update).any()
    for name in learner.network.modalities:
        for layer in learner.network.branch(name).layers:
            assert float(torch.linalg.matrix_norm(layer.weight.detach().double(), ord=2)) <= 5 ** (1 / 3)


def test_a_strong_pull_keeps_the_update_small(learner: EmotionLearner) -> None:
    start = learner.flat.snapshot()
    free = learner.fit("a", start, seeds=Seeds(1)).update.values.norm()
    pulled = learner.fit("a", start, seeds=Seeds(1), objective=Objective(proximal=(Proximal(1e4, start),)))
    assert float(pulled.update.values.norm()) < 0.9 * float(free)


def test_one_client_without_noise_or_bound_is_local_training(learner: EmotionLearner, tmp_path: Path) -> None:
    start = learner.flat.snapshot()
    plan = PrivacyPlan(learner.layout, Poisson(rate=1.0), 1, clip_norm=1e6, noise_multiplier=0.0)
    terms = Terms(unit="speaker", population=1, clients_per_speaker=1, delta=1e-5, seeded=False)
    state, seeds = ServerState(0, start), Seeds(5)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger:
        results = list(
            run_rounds(
                state, plan, rounds=1, method=FedAvg(), backend=InProcess((learner,), ("a",)), ledger=ledger,
                noise=NoiseSource(), seeds=seeds,
            )
        )  # fmt: skip
    alone = learner.fit("a", start, seeds=seeds.at("round", 1, "a")).update.values
    assert torch.allclose(results[0].state.values, start + alone, atol=1e-6)
