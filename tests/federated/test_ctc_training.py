"""Local training of a CTC recogniser, in part and under penalties, on clips that are made here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from sordino.data import Utterance, write_audio
from sordino.data.clips import ClipStore
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.learner import Counts, Embeds
from sordino.federated.objective import Objective, Proximal, Reference
from sordino.federated.options import LocalOptions
from sordino.federated.part import Part
from sordino.models.ctc import CtcOptions, Frames, load_recogniser
from sordino.seeds import Seeds

SEEDS = Seeds(3)


@pytest.fixture(scope="module")
def utterances(tmp_path_factory: pytest.TempPathFactory) -> list[Utterance]:
    """Six clips of noise, none as long as another."""
    folder, rng = tmp_path_factory.mktemp("clips"), np.random.default_rng(1)
    made = []
    for index in range(6):
        path = folder / f"{index}.flac"
        seconds = write_audio(path, rng.uniform(-0.3, 0.3, 4000 + 900 * index).astype(np.float32))
        made.append(Utterance(audio=path, text=("one", "two")[index % 2], speaker="s", duration_s=seconds))
    return made


@pytest.fixture
def make(utterances: list[Utterance]) -> Callable[..., CtcLearner]:
    torch.set_num_threads(1)
    recogniser = load_recogniser(CtcOptions(units="words", vocabulary=("one", "two"), layers=2))
    clips = ClipStore(recogniser.hear, num_mels=recogniser.front.num_mels, window_s=8.0)

    def make(**options: float) -> CtcLearner:
        local = LocalOptions(**({"epochs": 2, "batch_size": 4, "lr": 1e-3} | options))
        return CtcLearner(recogniser, clips, {"s": utterances, "t": utterances[:2]}, local)

    return make


def test_what_is_not_trained_keeps_its_bits_and_the_rest_moves(make: Callable[..., CtcLearner]) -> None:
    learner = make()
    start = learner.recogniser.flat.snapshot()
    for component in ("si", "sd"):
        part = Part.of(learner.layout, [component])
        update = learner.fit("s", start, seeds=SEEDS, objective=Objective(trained=part)).update.values
        assert not part.rest.take(update).any()
        assert float(part.take(update).abs().mean()) > 1e-5
    assert learner.work.steps == 2 * 2 * 2
    assert learner.work.passes == 2 * 2 * 6


def test_training_learns_and_is_the_same_whoever_was_trained_before(make: Callable[..., CtcLearner]) -> None:
    learner = make(epochs=8)
    start = learner.recogniser.flat.snapshot()
    kept = start.clone()
    first = learner.fit("s", start, seeds=SEEDS)
    learner.fit("t", start, seeds=SEEDS.at("other"))
    again = learner.fit("s", start, seeds=SEEDS)
    assert torch.equal(first.update.values, again.update.values)
    assert torch.equal(start, kept)
    trained = learner.fit("s", start + first.update.values, seeds=SEEDS, objective=Objective(epochs=1))
    assert trained.loss < 0.7 * first.loss  # a mean over the whole way down


def test_gradients_do_not_depend_on_how_many_are_computed_at_once(make: Callable[..., CtcLearner]) -> None:
    start = make().recogniser.flat.snapshot()
    reference = Objective(reference=Reference(start + 0.01, embedding=0.1, output=0.1))
    whole, parts = (
        make(micro_batch_size=size, epochs=1).fit("s", start, seeds=SEEDS, objective=reference).update.values
        for size in (0, 1)
    )
    # AdamW's first steps are signs: where a gradient is near zero, its last bits decide.
    assert float((whole - parts).norm() / whole.norm()) < 0.05


def test_penalties_keep_what_they_name_near(make: Callable[..., CtcLearner], utterances: list[Utterance]) -> None:
    learner = make(epochs=6, gradient_clip=1e9)
    start = learner.recogniser.flat.snapshot()
    frames = Frames.of([learner.clips.clip(utterance) for utterance in utterances])

    def drift(**objective: object) -> tuple[float, float, float]:
        update = learner.fit("s", start, seeds=SEEDS, objective=Objective(**objective)).update.values  # type: ignore[arg-type]
        found = []
        for values in (start, start + update):
            learner.recogniser.flat.load(values)
            with torch.no_grad():
                found.append(learner.recogniser.eval().outputs(frames))
        before, after = found
        moved = (after.embeddings - before.embeddings).norm()
        divergence = (before.log_probs.exp() * (before.log_probs - after.log_probs))[frames.inside].sum(dim=-1).mean()
        return float(update.norm()), float(moved), float(divergence)

    free = drift()
    assert drift(proximal=(Proximal(100.0, start),))[0] < 0.8 * free[0]
    assert drift(reference=Reference(start, embedding=10.0))[1] < 0.3 * free[1]
    assert drift(reference=Reference(start, output=10.0))[2] < 0.3 * free[2]
    assert drift(reference=Reference(start)) == free


def test_it_says_how_a_client_sounds(make: Callable[..., CtcLearner], utterances: list[Utterance]) -> None:
    learner = make()
    assert isinstance(learner, Embeds)
    assert isinstance(learner, Counts)
    assert learner.num_examples("t") == 2
    values = learner.recogniser.flat.snapshot()
    whole = learner.embed("s", values, fraction=1.0, seeds=SEEDS)
    alone = [
        learner.recogniser.eval().embeddings(Frames.of([learner.clips.clip(utterance)]))[0].detach()
        for utterance in utterances
    ]
    assert whole.shape == (learner.embedding_size,)
    assert torch.allclose(whole, torch.stack(alone).mean(dim=0), atol=1e-5)
    some = learner.embed("s", values, fraction=0.2, seeds=SEEDS)
    assert min(float((some - one).abs().max()) for one in alone) < 1e-5
    assert not torch.equal(some, learner.embed("s", values, fraction=0.2, seeds=SEEDS.at("other")))
