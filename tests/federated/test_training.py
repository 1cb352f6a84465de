"""Local training of the real pocket model, against the same steps written out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sordino.data import FeatureStore, Utterance, write_audio
from sordino.federated import (
    InProcess,
    LocalOptions,
    Objective,
    Part,
    Proximal,
    ServerState,
    SpeechLearner,
    run_rounds,
)
from sordino.federated.methods.fedavg import FedAvg
from sordino.models import ModelOptions, SpeechLLM, load_model
from sordino.privacy import Ledger, NoiseSource, NonPrivate, Poisson, Terms
from sordino.seeds import Seeds

TEXTS = ("one", "two three", "nine", "four five six", "seven")
OPTIONS = LocalOptions(epochs=2, lr=1e-3, encoder_lr_multiplier=0.1, batch_size=2, weight_decay=0.01)


@pytest.fixture(scope="module")
def model() -> SpeechLLM:
    torch.set_num_threads(1)
    return load_model(ModelOptions(), seed=3)


@pytest.fixture(scope="module")
def utterances(tmp_path_factory: pytest.TempPathFactory) -> list[Utterance]:
    folder, generator = tmp_path_factory.mktemp("clips"), np.random.default_rng(0)
    clips = []
    for index, text in enumerate(TEXTS):
        path = folder / f"{index}.flac"
        write_audio(path, 0.1 * generator.standard_normal(16_000).astype(np.float32))
        clips.append(Utterance(audio=path, text=text, speaker="s", duration_s=1.0))
    return clips


@pytest.fixture
def learner(model: SpeechLLM, utterances: list[Utterance]) -> SpeechLearner:
    store = FeatureStore(model.num_mels, model.window_s)
    return SpeechLearner(model, store, {"a": utterances, "b": utterances[:1]}, OPTIONS)


def by_hand(
    model: SpeechLLM,
    store: FeatureStore,
    clips: list[Utterance],
    start: torch.Tensor,
    seeds: Seeds,
    *,
    part: str = "",
    mu: float = 0.0,
) -> torch.Tensor:
    """Plain AdamW over the model's own tensors, one group a component, with the cosine and the gradient clip."""
    model.flat.load(start)
    named = [(name, tensor) for name, tensor in model.named_parameters() if tensor.requires_grad and part in name]
    anchors = [tensor.detach().clone() for _, tensor in named]
    encoder = [tensor for name, tensor in named if name.startswith("encoder")]
    rest = [tensor for name, tensor in named if not name.startswith("encoder")]
    optimizer = torch.optim.AdamW(
        [{"params": encoder, "lr": OPTIONS.lr * 0.1}, {"params": rest, "lr": OPTIONS.lr}], weight_decay=0.01
    )
    peaks = [group["lr"] for group in optimizer.param_groups]
    batches = []
    for epoch in range(2):
        order = seeds.at("epoch", epoch).generator().permutation(len(clips))
        batches += [[clips[i] for i in order[first : first + 2]] for first in range(0, len(clips), 2)]
    model.train()
    for step, batch in enumerate(batches):
        for group, peak in zip(optimizer.param_groups, peaks, strict=True):
            group["lr"] = peak * 0.5 * (1 + math.cos(math.pi * step / len(batches)))
        model.zero_grad()
        model.loss(store.features(batch), [clip.text for clip in batch]).backward()
        for (_, tensor), anchor in zip(named, anchors, strict=True):
            if mu:
                tensor.grad.add_(tensor.detach() - anchor, alpha=mu)  # type: ignore[union-attr]
        torch.nn.utils.clip_grad_norm_(encoder + rest, OPTIONS.gradient_clip)
        optimizer.step()
    return model.flat.values - start


def close(update: torch.Tensor, expected: torch.Tensor) -> bool:
    """Equal up to rounding, which Adam's division by the root of the second moment magnifies where gradients vanish."""
    return float((update - expected).norm()) < 1e-3 * float(expected.norm())


def test_a_clients_update_is_what_plain_adamw_does(learner: SpeechLearner, utterances: list[Utterance]) -> None:
    start = learner.model.flat.values.clone()
    result = learner.fit("a", start, seeds=Seeds(1))
    expected = by_hand(learner.model, learner.features, utterances, start, Seeds(1))
    assert float(expected.norm()) > 1e-3
    assert close(result.update.values, expected)


@pytest.mark.parametrize("component", ["encoder", "decoder"])
def test_a_part_is_trained_as_if_the_rest_were_not_there(
    component: str, learner: SpeechLearner, utterances: list[Utterance]
) -> None:
    """What is frozen keeps its bits, weight decay or not, and does not count in the gradient's norm."""
    start, part = learner.model.flat.snapshot() + 0.01, Part.of(learner.layout, [component])
    result = learner.fit("a", start, seeds=Seeds(1), objective=Objective(part))
    expected = by_hand(learner.model, learner.features, utterances, start, Seeds(1), part=f"{component}.")
    assert not part.rest.take(result.update.values).any()
    assert float(expected.norm()) > 1e-3
    assert close(result.update.values, expected)


def test_a_part_may_be_some_of_a_component(learner: SpeechLearner) -> None:
    part = Part(learner.layout, frozenset(slot.name for slot in learner.layout.slots if "layers.0" in slot.name))
    result = learner.fit("a", learner.model.flat.snapshot(), seeds=Seeds(1), objective=Objective(part))
    assert not part.rest.take(result.update.values).any()
    assert part.take(result.update.values).any()


def test_a_proximal_penalty_is_its_gradient_in_every_step(learner: SpeechLearner, utterances: list[Utterance]) -> None:
    start = learner.model.flat.snapshot()
    objective = Objective(proximal=(Proximal(50.0, start),), epochs=2)
    result = learner.fit("a", start, seeds=Seeds(1), objective=objective)
    expected = by_hand(learner.model, learner.features, utterances, start, Seeds(1), mu=50.0)
    free = learner.fit("a", start, seeds=Seeds(1))
    assert close(result.update.values, expected)
    assert not close(result.update.values, free.update.values)
    assert (result.steps, learner.num_examples("a")) == (6, 5)


def test_an_objective_that_asks_for_nothing_is_plain_training(learner: SpeechLearner) -> None:
    start = learner.model.flat.snapshot()
    plain = learner.fit("a", start, seeds=Seeds(1))
    everything = Part(learner.layout, frozenset(slot.name for slot in learner.layout.slots))
    for objective in (Objective(), Objective(everything), Objective(epochs=2)):
        again = learner.fit("a", start, seeds=Seeds(1), objective=objective)
        assert torch.equal(again.update.values, plain.update.values)
    short = learner.fit("a", start, seeds=Seeds(1), objective=Objective(epochs=1))
    assert short.steps == 3


def test_a_frozen_encoder_is_computed_once_and_changes_no_loss(
    utterances: list[Utterance], monkeypatch: pytest.MonkeyPatch
) -> None:
    models = [load_model(ModelOptions(train_encoder=False), seed=3) for _ in range(2)]
    models[1].frozen_encoder = None  # computes the encoder in every step
    asked = [0, 0]
    for index, model in enumerate(models):
        forward = model.encoder.forward

        def counted(log_mels: torch.Tensor, index: int = index, forward: Any = forward) -> Any:
            asked[index] += len(log_mels)
            return forward(log_mels)

        monkeypatch.setattr(model.encoder, "forward", counted)
    start = models[0].flat.snapshot()
    losses: list[list[float]] = []
    for model in models:
        learner = SpeechLearner(model, FeatureStore(model.num_mels, model.window_s), {"a": utterances}, OPTIONS)
        steps: list[float] = []
        losses.append(steps)
        backward = SpeechLearner._backward
        monkeypatch.setattr(
            SpeechLearner, "_backward", lambda self, batch, to=steps, of=backward: to.append(of(self, batch)) or to[-1]
        )
        first = learner.fit("a", start, seeds=Seeds(1))
        again = learner.fit("a", start, seeds=Seeds(1))
        monkeypatch.undo() if model is models[1] else monkeypatch.setattr(SpeechLearner, "_backward", backward)
        assert torch.equal(first.update.values, again.update.values), "from memory or not is the same to the bit"
    assert len(losses[0]) == len(losses[1]) == 12
    assert max(abs(a - b) for a, b in zip(*losses, strict=True)) < 1e-5
    assert asked == [len(utterances), 4 * len(utterances)]


def test_clients_never_mix(learner: SpeechLearner) -> None:
    start = learner.model.flat.values.clone()
    alone = learner.fit("b", start, seeds=Seeds(1)).update.values
    learner.fit("a", start, seeds=Seeds(1))
    assert torch.equal(learner.fit("b", start, seeds=Seeds(1)).update.values, alone)


def test_training_changes_adapters_alone_and_not_where_it_started(learner: SpeechLearner) -> None:
    start = learner.model.flat.values.clone()
    kept = start.clone()
    frozen = {n: t.detach().clone() for n, t in learner.model.named_parameters() if not t.requires_grad}
    learner.fit("a", start, seeds=Seeds(1))
    assert torch.equal(start, kept)
    assert all(torch.equal(t, frozen[n]) for n, t in learner.model.named_parameters() if not t.requires_grad)


def test_more_epochs_lower_the_loss(learner: SpeechLearner) -> None:
    start = learner.model.flat.values.clone()
    short = learner.fit("a", start, seeds=Seeds(1)).loss
    long = replace(learner, options=replace(OPTIONS, epochs=12, lr=3e-3)).fit("a", start, seeds=Seeds(1)).loss
    assert long < 0.8 * short


@pytest.mark.parametrize("size", [1, 2, 3])
def test_micro_batches_give_the_gradient_of_the_whole_batch(
    learner: SpeechLearner, utterances: list[Utterance], size: int
) -> None:
    """Clips of very different lengths, so that a mean of the micro-batches' means would be another gradient."""
    model, gradients = learner.model, []
    for options in (LocalOptions(), LocalOptions(micro_batch_size=size)):
        model.flat.zero_gradient()
        loss = replace(learner, options=options)._backward(utterances)
        gradients.append((model.flat.gradient.clone(), loss))
    (whole, loss), (parts, summed) = gradients
    assert summed == pytest.approx(loss, rel=1e-5)
    assert float((parts - whole).norm()) < 1e-5 * float(whole.norm())


def test_micro_batches_train_the_same(learner: SpeechLearner) -> None:
    start = learner.model.flat.values.clone()
    whole = learner.fit("a", start, seeds=Seeds(1))
    parts = replace(learner, options=replace(OPTIONS, micro_batch_size=1)).fit("a", start, seeds=Seeds(1))
    assert close(parts.update.values, whole.update.values)
    assert parts.loss == pytest.approx(whole.loss, rel=1e-3)


def test_checkpointing_activations_changes_no_gradient(utterances: list[Utterance], learner: SpeechLearner) -> None:
    saving = load_model(ModelOptions(gradient_checkpointing=True), seed=3).train()
    usual = load_model(ModelOptions(), seed=3).train()
    features, texts = learner.features.features(utterances), [utterance.text for utterance in utterances]
    for model in (saving, usual):
        model.flat.load(model.flat.values + 0.01)
        model.loss(features, texts).backward()
    assert saving.encoder.layers[0].gradient_checkpointing
    assert saving.decoder.model.layers[0].gradient_checkpointing
    assert float(usual.flat.gradient.norm()) > 0
    assert torch.equal(saving.flat.gradient, usual.flat.gradient)


def test_an_encoder_multiplier_of_zero_leaves_the_encoders_adapters(learner: SpeechLearner) -> None:
    start = learner.model.flat.values.clone()
    still = replace(learner, options=replace(OPTIONS, encoder_lr_multiplier=0.0))
    update = still.fit("a", start, seeds=Seeds(1)).update.values
    for slot in learner.layout.slots:
        assert bool((update[slot.start : slot.stop] == 0).all()) == (slot.component == "encoder")


def test_one_client_one_round_equals_the_same_training_done_by_hand(
    learner: SpeechLearner, utterances: list[Utterance], tmp_path: Path
) -> None:
    start = learner.model.flat.values.clone()
    plan = NonPrivate(learner.layout, Poisson(rate=1.0), 1)
    about = Terms(unit="client", population=1, clients_per_speaker=1, delta=1e-5)
    with Ledger(tmp_path / "ledger.jsonl", terms=about) as ledger:
        (result,) = run_rounds(
            ServerState(0, start),
            plan,
            rounds=1,
            method=FedAvg(),
            backend=InProcess((learner,), ("a",)),
            ledger=ledger,
            noise=NoiseSource(),
            seeds=Seeds(9),
        )
    expected = by_hand(learner.model, learner.features, utterances, start, Seeds(9).at("round", 1, "a"))
    assert close(result.state.values - start, expected)


def test_workers_side_by_side_give_the_same_sum_to_the_bit(
    learner: SpeechLearner, utterances: list[Utterance], tmp_path: Path
) -> None:
    clients = {f"c{index}": utterances[index : index + 2] for index in range(4)}
    copies = [
        replace(learner, clients=clients),
        replace(learner, clients=clients, model=load_model(ModelOptions(), seed=3)),
    ]
    start = learner.model.flat.values.clone()
    ends = []
    for number in (1, 2):
        plan = NonPrivate(learner.layout, Poisson(rate=1.0), 4)
        about = Terms(unit="client", population=4, clients_per_speaker=1, delta=1e-5)
        with Ledger(tmp_path / f"{number}.jsonl", terms=about) as ledger:
            *_, last = run_rounds(
                ServerState(0, start),
                plan,
                rounds=2,
                method=FedAvg(),
                backend=InProcess(tuple(copies[:number]), tuple(clients)),
                ledger=ledger,
                noise=NoiseSource(),
                seeds=Seeds(9),
            )
        ends.append(last.state.values)
    assert not torch.equal(ends[0], start)
    assert torch.equal(ends[0], ends[1])
