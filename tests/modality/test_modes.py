"""Every way to withdraw a modality: what is charged, what is clipped, what stays the same to the bit."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from withdrawal import case, never_collected, withdraw, world

from sordino.errors import BudgetExhausted, ConfigError, PrivacyError
from sordino.modality import MODES, BackOff, Case, Incision, Mode, fingerprint, public_subspace, tier_parts
from sordino.modality.backoff import flat
from sordino.modality.modes.as_published import AsPublished
from sordino.modality.modes.delete import Delete
from sordino.modality.modes.dp import PrivateTraining
from sordino.modality.modes.surgery import Surgery
from sordino.models.emotion import BranchOptions
from sordino.privacy import Ledger, NoiseSource, make_statement
from sordino.privacy.events import PlainRelease
from sordino.seeds import Seeds

FREE = BackOff(max_loss=1e9)


@pytest.fixture(scope="module")
def made() -> Case:
    return case()


def modes() -> list[Mode]:
    return [MODES.get(name)() for name in MODES.names()]


@pytest.mark.parametrize("mode", modes(), ids=lambda mode: mode.name)
def test_what_stays_is_the_same_to_the_bit_unless_nothing_is_claimed(mode: Mode, made: Case, tmp_path: Path) -> None:
    withdrawal, ledger = withdraw(mode, made, tmp_path)
    heard = world().only(["voice"])
    alike = torch.equal(withdrawal.network(heard), made.kept(heard))
    assert alike == mode.needs_isolation
    statement = make_statement(ledger.terms, ledger.events)
    claims = not any(isinstance(event, PlainRelease) for event in ledger.events)
    assert claims == mode.needs_isolation
    assert statement.words.startswith("No privacy guarantee") != claims
    assert "anything but the face" in statement.words
    assert withdrawal.mechanism["kind"]
    assert withdrawal.mechanism["adjacency"]


@pytest.mark.parametrize("mode", [Surgery(epsilon=2.0), PrivateTraining(epsilon=2.0)], ids=lambda mode: mode.name)
def test_what_is_charged_stays_within_epsilon_and_noise_is_new_each_time(
    mode: Mode, made: Case, tmp_path: Path
) -> None:
    networks = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        withdrawal, ledger = withdraw(replace(mode, back_off=FREE), made, tmp_path / name)  # type: ignore[type-var]
        figure = make_statement(ledger.terms, ledger.events).epsilon["pld"]
        assert isinstance(figure, float)
        assert 1.9 < figure <= 2.0
        networks.append(fingerprint(withdrawal.network))
    assert networks[0] != networks[1]


def test_deletion_gives_the_never_exposed_network(made: Case, tmp_path: Path) -> None:
    withdrawal, ledger = withdraw(Delete(), made, tmp_path)
    assert ledger.events == []
    assert "face" not in withdrawal.network.modalities
    clips = world()
    assert torch.equal(withdrawal.network(clips), made.kept(clips.only(["voice"])))
    assert fingerprint(withdrawal.network) == fingerprint(case(clips=_faces_shuffled()).kept)


def _faces_shuffled():  # type: ignore[no-untyped-def]
    """A world in which the faces are others, and so is everything that was learnt from them."""
    clips = world()
    order = torch.randperm(len(clips), generator=torch.Generator().manual_seed(9))
    return replace(clips, vectors={**clips.vectors, "face": 7 * clips.vectors["face"][order]})


def incision(*, clip_norm: float, sensitivity: float, z: float, shape: list[float] | None = None) -> Incision:
    random = torch.Generator().manual_seed(0)
    subspace = public_subspace(torch.randn(30, 12, generator=random), dimensions=4)
    return Incision(
        name="features",
        subspace=subspace,
        shape=torch.tensor(shape or [1.0] * 4, dtype=torch.float64),
        clip_norm=clip_norm,
        sensitivity=sensitivity,
        noise_multiplier=z,
        neighbours="face collected or never",
    )


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1.0, 1e30, math.inf, math.nan])
@pytest.mark.parametrize("shape", [None, [0.1, 1.0, 3.0, 8.0]])
def test_a_difference_is_clipped_in_the_norm_of_the_noise(scale: float, shape: list[float] | None) -> None:
    cut = incision(clip_norm=0.5, sensitivity=0.5, z=1.0, shape=shape)
    random = torch.Generator().manual_seed(1)
    for _ in range(20):
        difference = torch.randn(12, generator=random) * scale
        clipped = cut.clip(difference)
        assert float(clipped.norm()) <= 0.5
        whitened = (cut.subspace.basis @ difference.double()) / cut.shape
        if float(whitened.norm()) <= 0.5:
            assert torch.equal(clipped, whitened)
        elif math.isfinite(scale):
            assert float(clipped.norm()) == pytest.approx(0.5)
            assert torch.allclose(clipped / clipped.norm(), whitened / whitened.norm())
        else:
            assert not clipped.any()


def test_noise_has_the_covariance_that_is_accounted_for(tmp_path: Path, made: Case) -> None:
    cut = incision(clip_norm=0.5, sensitivity=1.0, z=1.5, shape=[0.5, 1.0, 1.0, 2.0])
    terms = Surgery().terms(made, seeded=False)
    drawn = []
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger:
        for number in range(600):
            receipt = ledger.charge(cut.event(), round=number)
            released = cut.release(torch.zeros(12), receipt=receipt, noise=NoiseSource(), place=(number,))
            drawn.append((cut.subspace.basis @ released).numpy())
            with pytest.raises(PrivacyError):
                cut.release(torch.zeros(12), receipt=receipt, noise=NoiseSource(), place=(number,))
    covariance = np.cov(np.array(drawn).T)
    expected = np.diag((1.5 * np.array([0.5, 1.0, 1.0, 2.0])) ** 2)
    assert np.abs(covariance - expected).max() < 6 * expected.max() / math.sqrt(600)
    assert np.diag(covariance) == pytest.approx(np.diag(expected), rel=0.3)
    # D over the noise, in the norm that fits it, is 1 / z whatever the shape: the worst pair lies D apart after L^-1.
    assert cut.sensitivity / cut.noise_std == pytest.approx(1 / 1.5)


@pytest.mark.parametrize(("hides", "factor"), [("modality", 1), ("person", 2)])
def test_sensitivity_is_c_for_the_modality_and_2c_for_a_person(
    hides: str, factor: int, made: Case, tmp_path: Path
) -> None:
    mode = Surgery(hides=hides)  # type: ignore[arg-type]
    withdrawal, ledger = withdraw(mode, made, tmp_path)
    for part, event in zip(withdrawal.mechanism["parts"], ledger.events, strict=True):
        assert part["sensitivity"] == factor * part["clip_norm"]
        assert part["noise_std"] == pytest.approx(part["noise_multiplier"] * part["sensitivity"])
        assert event.noise_multiplier == part["noise_multiplier"]  # type: ignore[attr-defined]
    assert hides == "modality" or "one person's face" in withdrawal.mechanism["adjacency"]


def test_surgery_moves_the_reference_by_at_most_c_and_noise_and_within_the_subspace(made: Case, tmp_path: Path) -> None:
    mode = Surgery(epsilon=1e5, dimensions=12, back_off=FREE)
    withdrawal, _ = withdraw(mode, made, tmp_path)
    moved = flat(withdrawal.network.branch("face")) - flat(made.reference)
    bound = math.sqrt(
        sum(
            (part["clip_norm"] + 5 * part["noise_std"] * math.sqrt(part["dimensions"])) ** 2
            for part in withdrawal.mechanism["parts"]
        )
    )
    assert 0 < float(moved.norm()) <= bound
    wide = replace(mode, epsilon=1e8, clip=30.0, dimensions=64)
    (tmp_path / "wide").mkdir()
    closer, _ = withdraw(wide, made, tmp_path / "wide")
    aim = flat(made.exposed)
    assert (flat(closer.network.branch("face")) - aim).norm() < 0.9 * (flat(made.reference) - aim).norm()


def test_where_the_modality_was_never_collected_only_noise_is_released(made: Case, tmp_path: Path) -> None:
    never = never_collected(made)
    assert torch.equal(flat(never.exposed), flat(made.reference))
    withdrawal, _ = withdraw(Surgery(epsilon=1e6, back_off=FREE), never, tmp_path)
    moved = flat(withdrawal.network.branch("face")) - flat(made.reference)
    assert float(moved.norm()) < 0.05 * float((flat(made.exposed) - flat(made.reference)).norm())


def test_surgery_reads_nothing_private_but_the_difference(made: Case, tmp_path: Path) -> None:
    other = case(clips=_private_faces_changed())
    for name, one in (("a", made), ("b", other)):
        (tmp_path / name).mkdir()
        withdrawal, _ = withdraw(Surgery(parts="tiers", noise="correlated"), one, tmp_path / name)
        described = withdrawal.mechanism["parts"]
        if name == "a":
            first = described
    assert described == first
    assert [part["name"] for part in first] == ["tier-1", "tier-2", "tier-3"]
    assert {part["noise_shape"] for part in first} == {"correlated"}


def _private_faces_changed():  # type: ignore[no-untyped-def]
    clips = world()
    private = torch.tensor([name not in ("s4", "s5") for name in clips.speakers])
    faces = clips.vectors["face"].clone()
    faces[private] *= -3
    return replace(clips, vectors={**clips.vectors, "face": faces})


def test_tiers_divide_all_coordinates_by_importance() -> None:
    saliency = torch.tensor([0.1, 5.0, 0.2, 3.0, 0.0, 0.3])
    first, second, rest = tier_parts(saliency, (1 / 3, 1 / 6))
    assert (first.indices.tolist(), second.indices.tolist(), rest.indices.tolist()) == ([1, 3], [5], [0, 2, 4])
    with pytest.raises(ConfigError, match=r"modality\.mode\.tiers"):
        tier_parts(saliency, (0.5, 0.5))


def test_back_off_keeps_less_where_noise_would_do_harm(made: Case, tmp_path: Path) -> None:
    shares = {}
    for epsilon, strictness in ((0.001, 0.0), (0.001, 1e9)):
        folder = tmp_path / str(strictness)
        folder.mkdir()
        withdrawal, _ = withdraw(Surgery(epsilon=epsilon, back_off=BackOff(max_loss=strictness)), made, folder)
        kept = withdrawal.mechanism["kept"]
        shares[strictness] = kept["share"]
        assert kept["loss"] <= strictness
        assert list(kept["tried"])[-1] == f"{kept['share']:g}"
    assert shares[1e9] == 1
    assert shares[0.0] < 1  # half of so much noise, or less; the noise is fresh, and may be kind


def test_repeated_surgery_composes_in_one_ledger(made: Case, tmp_path: Path) -> None:
    mode = Surgery(epsilon=1.0)
    with Ledger(tmp_path / "ledger.jsonl", terms=mode.terms(made, seeded=False)) as ledger:
        figures = []
        for _ in range(3):
            mode.withdraw(made, ledger=ledger, noise=NoiseSource())
            figures.append(make_statement(ledger.terms, ledger.events).epsilon["pld"])
    once, twice, thrice = (float(figure) for figure in figures)  # type: ignore[arg-type]
    assert once <= 1.0
    assert 1.3 < twice < 2 < thrice + 0.5


@pytest.mark.parametrize(("unit", "population"), [("sequence", 80), ("speaker", 4)])
def test_private_training_protects_the_units_it_says(unit: str, population: int, made: Case, tmp_path: Path) -> None:
    mode = PrivateTraining(unit=unit, steps=3, rate=0.5, stages=("classification",))  # type: ignore[arg-type]
    withdrawal, ledger = withdraw(replace(mode, back_off=FREE), made, tmp_path)
    assert ledger.terms.population == population
    assert ledger.terms.unit == unit
    assert len(ledger.events) == 3
    branch = withdrawal.network.branch("face")
    assert torch.equal(branch.features.weight, made.reference.features.weight)
    assert not torch.equal(branch.classification.weight, made.reference.classification.weight)


def test_private_training_without_much_noise_learns(made: Case, tmp_path: Path) -> None:
    mode = PrivateTraining(epsilon=1e4, steps=8, lr=3.0, back_off=FREE)
    withdrawal, _ = withdraw(mode, made, tmp_path)
    clips = made.private
    losses = [
        float(torch.nn.functional.cross_entropy(network(clips), clips.targets).detach())
        for network in (made.with_branch(made.reference), withdrawal.network)
    ]
    assert losses[1] < losses[0] - 0.02


def test_private_training_stops_at_its_budget(made: Case, tmp_path: Path) -> None:
    mode = PrivateTraining(epsilon=2.0, steps=3)
    withdraw(mode, made, tmp_path)
    with pytest.raises(BudgetExhausted):
        withdraw(mode, made, tmp_path)


def test_a_seeded_simulation_repeats_itself_and_says_so(made: Case, tmp_path: Path) -> None:
    networks = []
    mode = Surgery(back_off=FREE)
    for name in ("a", "b"):
        with Ledger(tmp_path / f"{name}.jsonl", terms=mode.terms(made, seeded=True)) as ledger:
            withdrawal = mode.withdraw(made, ledger=ledger, noise=NoiseSource(Seeds(1)), place="x")
            networks.append(fingerprint(withdrawal.network))
            assert "seeded simulation" in make_statement(ledger.terms, ledger.events).words
    assert networks[0] == networks[1]


def test_the_published_recipe_guarantees_nothing_even_where_it_adds_no_noise(made: Case, tmp_path: Path) -> None:
    withdrawal, ledger = withdraw(AsPublished(), made, tmp_path)
    assert withdrawal.mechanism["claimed"] == {"epsilon": 1.0, "delta": 1e-5}
    assert make_statement(ledger.terms, ledger.events).epsilon["pld"] is None
    (tmp_path / "never").mkdir()
    twin, _ = withdraw(AsPublished(), never_collected(made), tmp_path / "never")
    # Without the modality nothing differs, so nothing is noised: whether there is noise says whether it was collected.
    assert twin.mechanism["noise_std"] == 0 < withdrawal.mechanism["noise_std"]


def test_a_lipschitz_bound_survives_every_mode(tmp_path: Path) -> None:
    bounded = case(branch=BranchOptions(hidden=6, lipschitz=2.0))
    for mode in (Surgery(epsilon=0.1, back_off=FREE), PrivateTraining(epsilon=0.1, back_off=FREE)):
        (tmp_path / mode.name).mkdir()
        branch = withdraw(mode, bounded, tmp_path / mode.name)[0].network.branch("face")
        norms = [float(torch.linalg.matrix_norm(layer.weight.detach().double(), ord=2)) for layer in branch.layers]
        assert math.prod(norms) <= 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": 65}, r"modality\.mode\.dimensions = 65: expected at most 64"),
        ({"epsilon": 0.0}, r"modality\.mode\.epsilon"),
        ({"tiers": (0.9, 0.2)}, r"modality\.mode\.tiers"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Surgery(**options)  # type: ignore[arg-type]
