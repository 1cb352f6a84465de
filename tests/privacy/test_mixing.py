"""Everybody's own noisy sum: what one client can move in all of them together, and how much noise that takes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sordino.errors import PrivacyError
from sordino.layout import ParameterLayout
from sordino.privacy import ALLOCATIONS, Ledger, NoiseSource, Poisson, PrivacyPlan, Terms, Update
from sordino.privacy.mixing import MixedSum, Mixing
from sordino.seeds import Seeds

LAYOUT = ParameterLayout.from_shapes([("a", "encoder", (3,)), ("b", "decoder", (2, 2)), ("c", "decoder", (5,))])
TERMS = Terms(unit="client", population=8, clients_per_speaker=1, delta=1e-5, seeded=True)


def plan(*, z: float = 0.0, clip_norm: float = 1.0, **options: object) -> PrivacyPlan:
    return PrivacyPlan(LAYOUT, Poisson(rate=0.5), 8, noise_multiplier=z, clip_norm=clip_norm, **options)  # type: ignore[arg-type]


def outputs(
    folder: Path, of: PrivacyPlan, mixing: Mixing, updates: dict[str, np.ndarray], *, seed: int = 0
) -> dict[str, torch.Tensor]:
    total = MixedSum(mixing, of)
    for client, values in updates.items():
        total.add(client, of.clip(Update(torch.from_numpy(values))))
    with Ledger(folder / f"{len(list(folder.iterdir()))}.jsonl", terms=TERMS) as ledger:
        receipt = ledger.charge(of.event(), round=1)
        released = total.release(receipt=receipt, noise=NoiseSource(Seeds(seed)), place=(1,))
    return {client: each.values for client, each in released.items()}


NUMBERS = st.floats(-100, 100, width=32)


@given(st.data(), st.integers(1, 5), st.floats(0.1, 10))
@settings(max_examples=60)
def test_one_client_moves_all_outputs_together_by_no_more_than_claimed(
    tmp_path_factory: pytest.TempPathFactory, drawn: st.DataObject, m: int, clip_norm: float
) -> None:
    folder = tmp_path_factory.mktemp("ledgers")
    clients = tuple(f"c{i}" for i in range(m))
    mixing = Mixing(clients, drawn.draw(arrays(np.float64, (m, m), elements=st.floats(-3, 3))))
    updates = {c: drawn.draw(arrays(np.float32, LAYOUT.size, elements=NUMBERS)) for c in clients}
    without = drawn.draw(st.sampled_from(clients))
    of = plan(clip_norm=clip_norm)
    everybody = outputs(folder, of, mixing, updates)
    others = outputs(folder, of, mixing, {c: u for c, u in updates.items() if c != without})
    moved = math.hypot(*(float((everybody[c] - others[c]).double().norm()) for c in clients)) * of.expected_cohort
    assert moved <= clip_norm * mixing.sensitivity * (1 + 1e-5) + 1e-5
    column = float(np.linalg.norm(mixing.weights[:, clients.index(without)]))
    assert moved <= clip_norm * column * (1 + 1e-5) + 1e-5


@pytest.mark.parametrize("shape", ["isotropic", "component-aware"])
def test_the_noise_of_every_output_is_that_times_the_plans(shape: str, tmp_path: Path) -> None:
    clients = ("a", "b", "c")
    mixing = Mixing(clients, np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]))
    assert mixing.sensitivity == 3.0
    of = plan(z=2.0, noise_shape=shape, allocation=ALLOCATIONS.get("alpha-split")())
    draws = [outputs(tmp_path, of, mixing, {}, seed=seed) for seed in range(80)]
    noise = torch.stack([torch.stack([draw[c] for c in clients]) for draw in draws])  # [draws, clients, size]
    for block, std in zip(of.clipper.bounds.blocks, of.noise_stds, strict=True):
        (start, stop) = block.slices[0]
        measured = float(noise[:, :, start:stop].std()) * of.expected_cohort
        assert measured == pytest.approx(3.0 * std, rel=0.1)
    flat = noise.flatten(1)
    cross = (flat.T @ flat / len(flat) / flat.std(dim=0)[:, None] / flat.std(dim=0)[None]).fill_diagonal_(0)
    assert float(cross.abs().max()) < 0.6  # every output has noise of its own


def test_weights_of_one_are_the_plain_release_to_the_bit(tmp_path: Path) -> None:
    clients, generator = ("a", "b", "c"), np.random.default_rng(0)
    updates = {c: generator.normal(size=LAYOUT.size).astype(np.float32) for c in clients}
    of = plan()
    total = of.empty_sum()
    for values in updates.values():
        total.add(of.clip(Update(torch.from_numpy(values))))
    with Ledger(tmp_path / "plain", terms=TERMS) as ledger:
        receipt = ledger.charge(of.event(), round=1)
        mean = of.release(total, receipt=receipt, noise=NoiseSource(Seeds(0)), place=(1,)).values
    mixed = outputs(tmp_path, of, Mixing(clients, np.ones((3, 3))), updates)
    assert all(torch.equal(each, mean) for each in mixed.values())


def test_a_client_that_nobody_listens_to_takes_no_noise() -> None:
    assert Mixing(("a", "b"), np.array([[0.0, 1.0], [0.0, 0.0]])).sensitivity == 1.0
    assert Mixing((), np.zeros((0, 0))).sensitivity == 0.0


def test_a_mixture_is_paid_for_and_used_up(tmp_path: Path) -> None:
    of = plan(z=1.0)
    total = MixedSum(Mixing(("a",), np.ones((1, 1))), of)
    with Ledger(tmp_path / "ledger", terms=TERMS) as ledger:
        receipt = ledger.charge(of.event(), round=1)
        total.release(receipt=receipt, noise=NoiseSource(Seeds(0)), place=(1,))
        with pytest.raises(PrivacyError, match="has paid for a release already"):
            total.release(receipt=receipt, noise=NoiseSource(Seeds(0)), place=(1,))
        with pytest.raises(PrivacyError, match="was released already"):
            total.add("a", of.clip(Update(torch.ones(LAYOUT.size))))


def test_an_update_under_other_bounds_is_refused() -> None:
    total = MixedSum(Mixing(("a",), np.ones((1, 1))), plan())
    with pytest.raises(PrivacyError, match="clipped to other bounds"):
        total.add("a", plan(clip_norm=5.0).clip(Update(torch.ones(LAYOUT.size))))


@pytest.mark.parametrize("weights", [np.ones((2, 3)), np.array([[1.0, np.nan], [0.0, 1.0]])])
def test_weights_that_are_none_are_refused(weights: np.ndarray) -> None:
    with pytest.raises(PrivacyError, match="expected 2 x 2 finite numbers"):
        Mixing(("a", "b"), weights)
