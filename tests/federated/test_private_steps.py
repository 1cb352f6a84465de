"""Steps that hide recordings: bounded influence, noise, draws; and that training sees nothing else of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sordino.data import Utterance, write_audio
from sordino.data.clips import ClipStore
from sordino.errors import PrivacyError
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.objective import Objective, Reference
from sordino.federated.options import LocalOptions
from sordino.federated.part import Part
from sordino.federated.private_steps import PrivateSteps
from sordino.layout import ParameterLayout
from sordino.models.ctc import CtcOptions, load_recogniser
from sordino.privacy import Ledger, NoiseSource
from sordino.privacy.parallel import ParallelReceipts
from sordino.privacy.recordings import RecordingPrivacy
from sordino.seeds import Seeds

LAYOUT = ParameterLayout.from_shapes([("a", "a", (60, 50))])
Make = Callable[..., PrivateSteps]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    opened: list[Ledger] = []

    def make(z: float = 1e-6, **options: float) -> PrivateSteps:
        chosen = RecordingPrivacy(noise_multiplier=z, **options)
        path = tmp_path / f"ledger{len(opened)}.jsonl"
        opened.append(Ledger(path, terms=chosen.terms(recordings=50, seeded=True)))
        return PrivateSteps(chosen, z, ParallelReceipts(opened[-1], chosen.event(z)), NoiseSource(Seeds(1)))

    yield make
    for ledger in opened:
        ledger.close()


def mean(steps: PrivateSteps, gradients: Sequence[torch.Tensor], *, lot: int = 4) -> torch.Tensor:
    return steps.mean(gradients, LAYOUT, client="c", lot=lot, place=("here",))


def test_each_recording_moves_the_mean_by_its_bound_at_most(make: Make) -> None:
    one, other = torch.randn(2, LAYOUT.size, generator=torch.Generator().manual_seed(0))
    small, huge, steps = 0.01 * one / one.norm(), 1e6 * other, make(clip_norm=0.5, rate=0.5)
    assert torch.allclose(mean(steps, [small, huge]), (small + 0.5 * other / other.norm()) / 4, atol=1e-6)
    assert torch.allclose(mean(steps, [small, torch.full_like(small, torch.nan)]), small / 4, atol=1e-6)
    assert float(mean(steps, []).norm()) < 1e-4


def test_noise_has_the_stated_size_and_is_made_anew(make: Make) -> None:
    steps = make(z=2.0, clip_norm=0.5, rate=0.5)
    first, second = (steps.mean([], LAYOUT, client="c", lot=4, place=("step", k)) for k in range(2))
    for noise in (first, second, (first - second) / 2**0.5):
        assert float(noise.std()) == pytest.approx(2.0 * 0.5 / 4, rel=0.05)  # 3,000 numbers: 1.3 % is a standard error


def test_lots_are_random_and_a_constant_number_of_them(make: Make) -> None:
    steps = make(rate=0.2)
    lots = list(steps.lots(range(40), passes=60, place=("x",)))
    assert len(lots) == 60 * 5
    sizes = [len(lot) for lot in lots]
    assert np.mean(sizes) == pytest.approx(8, abs=0.5)
    assert np.std(sizes) == pytest.approx((40 * 0.2 * 0.8) ** 0.5, rel=0.15)
    assert len(list(steps.lots([], passes=2, place=("y",)))) == 10


@pytest.fixture(scope="module")
def utterances(tmp_path_factory: pytest.TempPathFactory) -> list[Utterance]:
    folder, rng = tmp_path_factory.mktemp("clips"), np.random.default_rng(1)
    made = []
    for index in range(4):
        path = folder / f"{index}.flac"
        seconds = write_audio(path, rng.uniform(-0.3, 0.3, 4000 + 900 * index).astype(np.float32))
        made.append(Utterance(audio=path, text=("one", "two")[index % 2], speaker="s", duration_s=seconds))
    return made


def learner(utterances: list[Utterance], private: PrivateSteps | None) -> CtcLearner:
    torch.set_num_threads(1)
    recogniser = load_recogniser(CtcOptions(units="words", vocabulary=("one", "two"), layers=2))
    clips = ClipStore(recogniser.hear, num_mels=recogniser.front.num_mels, window_s=8.0)
    clients = {"s": utterances, "t": utterances[:2]}
    return CtcLearner(recogniser, clips, clients, LocalOptions(epochs=1, batch_size=4, lr=1e-3), private=private)


def test_training_sees_each_recording_through_its_own_gradient_alone(
    make: Make, utterances: list[Utterance], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[torch.Tensor]] = []

    def spy(self: PrivateSteps, gradients: Iterator[torch.Tensor], layout: ParameterLayout, **_: Any) -> torch.Tensor:
        seen.append([gradient.clone() for gradient in gradients])
        return torch.ones(layout.size)

    monkeypatch.setattr(PrivateSteps, "mean", spy)
    private = learner(utterances, make(rate=1.0))
    start, part = private.recogniser.flat.snapshot(), Part.of(private.layout, ["sd"])
    objective = Objective(trained=part, reference=Reference(start + 0.01, embedding=0.1, output=0.1), epochs=2)
    update = private.fit("s", start, seeds=Seeds(2), objective=objective).update.values
    moved = learner(utterances[::-1], make(rate=1.0)).fit("s", start, seeds=Seeds(2), objective=objective).update.values
    assert torch.equal(update, moved), "other recordings, the same means: nothing else of a recording is used"
    assert not part.rest.take(update).any()
    (first, _, backwards, _) = seen
    assert [gradient.shape for gradient in first] == [(part.size,)] * 4
    by_length = zip(first, reversed(backwards), strict=True)
    assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-6) for a, b in by_length), "whoever else was drawn"


def test_clients_side_by_side_pay_once_and_noise_ends_in_the_update(make: Make, utterances: list[Utterance]) -> None:
    steps = make(z=1.0, rate=0.5)
    private = learner(utterances, steps)
    start = private.recogniser.flat.snapshot()
    updates = [private.fit(client, start, seeds=Seeds(2)).update.values for client in ("s", "t")]
    assert len(steps.receipts._ledger.charges) == 2
    assert not torch.equal(*updates)
    result = private.fit("s", start, seeds=Seeds(3))
    assert len(steps.receipts._ledger.charges) == 4
    assert (result.steps, result.loss) == (2, 0.0), "a loss has no noise"
    with pytest.raises(PrivacyError, match="outside the steps"):
        private.embed("s", start, fraction=1.0, seeds=Seeds(3))
