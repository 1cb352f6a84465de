"""What the figures of a diagnosis show, against the formulas and the run's own plan."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from sordino.experiments import load_experiment
from sordino.experiments.planning import plan_report
from sordino.reporting import Run, read_run
from sordino.reporting.comparison import Comparison, Variant
from sordino.reporting.comparison_folder import read_comparison
from sordino.reporting.figures import (
    clipping_dynamics,
    effective_noise,
    norm_ratio,
    signal_to_noise,
    signal_to_noise_by_variant,
    wer_by_variant,
)
from sordino.reporting.figures.effective_noise import channels_of
from sordino.reporting.figures.style import WIDTH_IN
from sordino.reporting.series import clip_rates_by_component, clip_ratios_by_component, over_rounds
from sordino.reporting.telemetry import Group, Telemetry


@pytest.fixture(scope="module")
def read(comparison: Path) -> Comparison:
    return read_comparison(comparison)


@pytest.fixture(scope="module")
def split(read: Comparison) -> Variant:
    return read.variants[1]


def telemetry_of(run: Run) -> list[Telemetry]:
    return [telemetry for _, telemetry in run.observed]


def group(name: str, component: str, *, size: int, noise_std: float, snr: float | None) -> Group:
    return Group(name=name, component=component, size=size, mean_norm=1.0, noise_std=noise_std, snr=snr)


def test_signal_to_noise_of_a_component_is_that_of_its_coordinates() -> None:
    """Two groups of known vectors: 3 coordinates of 0.6 and 5 of 0.1, under noise of 0.2 and 0.05."""
    groups = (
        group("a", "encoder", size=3, noise_std=0.2, snr=0.6 / 0.2),
        group("b", "encoder", size=5, noise_std=0.05, snr=0.1 / 0.05),
        group("c", "decoder", size=4, noise_std=0.0, snr=None),
    )
    told = Telemetry(drawn=1, replies=1, not_finite=0, loss=0.0, blocks=(), groups=groups, components={})
    signal, noise = [0.6] * 3 + [0.1] * 5, [0.2] * 3 + [0.05] * 5
    assert told.signal_to_noise == {"encoder": pytest.approx(np.linalg.norm(signal) / np.linalg.norm(noise))}


def test_the_norm_ratio_is_the_rest_over_the_encoder() -> None:
    told = Telemetry(drawn=1, replies=1, not_finite=0, loss=0.0, blocks=(), groups=(), components={})
    parts = {"encoder": 2.0, "connector": 6.0, "decoder": 8.0}
    assert dataclasses.replace(told, components=parts).norm_ratio == 5.0
    assert told.norm_ratio is None
    assert dataclasses.replace(told, components={"encoder": 0.0, "decoder": 1.0}).norm_ratio is None
    assert dataclasses.replace(told, components={"encoder": 1.0}).norm_ratio is None


def test_means_are_over_blocks_seeds_and_rounds_in_which_somebody_took_part(split: Variant, comparison: Path) -> None:
    shares = over_rounds(split.runs.values(), clip_ratios_by_component)
    lines = [
        json.loads(line)["telemetry"]
        for seed in (0, 1)
        for line in (comparison / f"alpha-split-z-0.2-seed{seed}" / "rounds.jsonl").read_text().splitlines()
        if json.loads(line)["round"] == 2
    ]
    single = [
        np.mean([block["clip_ratio"] for block in line["blocks"] if block["name"].startswith("encoder.")])
        for line in lines
        if line["replies"]
    ]
    assert dict(shares["encoder"])[2] == pytest.approx(np.mean(single))
    run = next(iter(split.runs.values()))
    empty = [
        line if line.telemetry is None or line.number != 2 else dataclasses.replace(
            line, telemetry=dataclasses.replace(line.telemetry, drawn=0, replies=0)
        )
        for line in run.rounds
    ]  # fmt: skip
    without = over_rounds([dataclasses.replace(run, rounds=empty)], clip_rates_by_component)
    assert 2 not in dict(without["encoder"])


def test_effective_noise_is_that_of_the_plan(split: Variant, experiment: Path) -> None:
    assert split.first is not None
    channels = channels_of(split.first)
    planned = plan_report(load_experiment(experiment, list(split.overrides)))["z_eff"]["by_pool"]
    assert channels is not None
    assert channels.alpha == pytest.approx(0.05)
    assert channels.encoder == pytest.approx(planned["encoder"])
    assert channels.rest == pytest.approx(planned["rest"])
    assert channels.encoder == pytest.approx(0.2 / math.sqrt(0.05))


def changed(run: Run, *, louder: str, pooled: bool = False) -> Run:
    """The run with twice the noise on a component, and its blocks joined to an encoder pool and a rest if asked."""

    def change(told: Telemetry) -> Telemetry:
        groups = tuple(
            dataclasses.replace(part, noise_std=(1 + (part.component == louder)) * part.noise_std)
            for part in told.groups
        )
        sides = {
            "encoder": [block for block in told.blocks if block.component == "encoder"],
            "rest": [block for block in told.blocks if block.component != "encoder"],
        }
        pools = tuple(
            dataclasses.replace(blocks[0], name=name, clip_norm=math.hypot(*(block.clip_norm or 0 for block in blocks)))
            for name, blocks in sides.items()
        )
        return dataclasses.replace(told, groups=groups, blocks=pools if pooled else told.blocks)

    rounds = [
        line if line.telemetry is None else dataclasses.replace(line, telemetry=change(line.telemetry))
        for line in run.rounds
    ]
    return dataclasses.replace(run, rounds=rounds)


@pytest.mark.parametrize("pooled", [False, True])
def test_shaped_noise_is_read_from_the_noise_itself(pooled: bool, split: Variant) -> None:
    """Twice the noise on the encoder alone: its multiplier doubles, the rest's stays."""
    run = split.first
    assert run is not None
    before, after = channels_of(run), channels_of(changed(run, louder="encoder", pooled=pooled))
    assert before is not None
    assert after is not None
    assert (after.encoder, after.rest) == (pytest.approx(2 * before.encoder), pytest.approx(before.rest))


def test_every_block_counts_with_its_own_noise(split: Variant) -> None:
    """Twice the noise on the connector: the rest's signal to noise loses three quarters of the connector's part."""
    run = split.first
    assert run is not None
    before, after = channels_of(run), channels_of(changed(run, louder="connector"))
    assert before is not None
    assert after is not None
    squares = [(block.component, (block.clip_norm or 0) ** 2) for block in telemetry_of(run)[-1].blocks]
    connector = sum(square for component, square in squares if component == "connector")
    rest = sum(square for component, square in squares if component != "encoder")
    assert after.encoder == pytest.approx(before.encoder)
    assert after.rest == pytest.approx(before.rest * (1 - 0.75 * connector / rest) ** -0.5)


def test_one_joint_bound_has_no_channels(runs: dict[str, Path]) -> None:
    assert channels_of(read_run(runs["sound"])) is None
    assert channels_of(read_run(runs["none"])) is None
    assert channels_of(read_run(runs["private"])) is None


def test_the_dots_are_the_records(read: Comparison) -> None:
    plate = wer_by_variant(read)
    assert plate is not None
    rates, differences = plate.figure.axes
    drawn = {(round(float(x), 6), float(y)) for line in rates.lines for x, y in zip(*line.get_data(), strict=True)}
    for row, variant in enumerate(read.finished):
        assert variant.rate_after is not None
        assert (round(100 * variant.rate_after.wer, 6), row) in drawn
        for wer in variant.by_seed.values():
            assert (round(100 * wer, 6), row + 0.28) in drawn
    points = read.variants[1].difference.points
    assert points is not None
    assert any(list(line.get_xdata()) == [100 * points] for line in differences.lines)


@pytest.mark.parametrize("names", [2, 9])
def test_figures_fit_whatever_the_number_and_length_of_names(names: int, read: Comparison) -> None:
    long = "alpha-split, train_encoder = true, encoder_lr_multiplier = 0.05, epochs = "
    many = [
        dataclasses.replace(read.variants[index % 2], label=f"{long if index % 3 else 'flat '}{index}")
        for index in range(names)
    ]
    whole = dataclasses.replace(read, variants=many, reference=many[0].label)
    plates = [
        wer_by_variant(whole), clipping_dynamics(many), norm_ratio(many), signal_to_noise_by_variant(many),
        effective_noise(many),
    ]  # fmt: skip
    for plate in plates:
        assert plate is not None
        plate.inline()
        box = plate.figure.get_tightbbox()
        assert box.x0 > -0.03, plate.name
        assert box.x1 < WIDTH_IN + 0.03, plate.name
        assert box.y0 > -0.03, plate.name
        assert box.y1 < plate.figure.get_figheight() + 0.03, plate.name
        assert all(axes.get_position().height * plate.figure.get_figheight() > 0.3 for axes in plate.figure.axes)


def test_nothing_recorded_gives_no_figure(runs: dict[str, Path], read: Comparison) -> None:
    private = dataclasses.replace(read.variants[0], runs={0: read_run(runs["private"])})
    for figure in (clipping_dynamics, norm_ratio, signal_to_noise_by_variant, effective_noise):
        assert figure([private]) is None
    assert signal_to_noise(read_run(runs["none"])) is None
    failed = dataclasses.replace(read, variants=[read.variants[2]], reference=read.variants[2].label)
    assert wer_by_variant(failed) is None
