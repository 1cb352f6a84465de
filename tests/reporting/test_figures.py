"""Every figure has axes with units and a caption; whatever is in the records, it can be drawn."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib as mpl
import pytest

from sordino.evaluation import Sample
from sordino.reporting import Run, read_run, read_runs
from sordino.reporting.figures import (
    Plate,
    clip_rates,
    epsilon_by_round,
    norms_by_group,
    norms_by_round,
    training_loss,
    wer_against_epsilon,
    wer_by_group,
    wer_by_round,
)
from sordino.reporting.figures.style import WIDTH_IN
from sordino.reporting.groups import by_language, by_speaker


@pytest.fixture(scope="module")
def plates(runs: dict[str, Path]) -> list[Plate]:
    three = read_runs([runs["sound"], runs["weak"], runs["none"]])
    weak = three[1]
    drawn = [
        wer_by_round(three[:1]), wer_by_round(three), wer_against_epsilon(three), epsilon_by_round(three[:1]),
        epsilon_by_round(three), wer_by_group(by_speaker(weak), kind="speaker", resampled="clips"),
        wer_by_group(by_language(many(weak, 5)), kind="language", resampled="speakers"), clip_rates(weak),
        norms_by_round(three[0]), norms_by_group(weak), training_loss(weak),
    ]  # fmt: skip
    assert all(plate is not None for plate in drawn)
    return [plate for plate in drawn if plate is not None]


def many(run: Run, speakers: int) -> Run:
    """The run with so many speakers in as many languages."""
    before = [
        Sample(
            key=f"{speaker}/{clip}",
            speaker=f"speaker {speaker}",
            language=f"l{speaker}",
            reference="a b",
            hypothesis="a",
        )
        for speaker in range(speakers)
        for clip in range(2)
    ]
    return dataclasses.replace(run, before=before, after=before)


def test_axes_units_and_captions(plates: list[Plate]) -> None:
    for plate in plates:
        axes = plate.figure.axes[0]
        assert axes.get_xlabel(), plate.name
        assert axes.get_ylabel() or axes.get_yticklabels(), plate.name
        assert len(plate.caption) > 60, plate.name
        assert plate.caption.endswith("."), plate.name
        labels = axes.get_xlabel() + axes.get_ylabel()
        if "rate" in plate.name or "wer" in plate.name:
            assert "(%)" in labels, plate.name
        assert plate.figure.get_figwidth() == WIDTH_IN


def test_nothing_sticks_out_of_the_figure(plates: list[Plate]) -> None:
    for plate in plates:
        plate.inline()
        width, height = plate.figure.bbox.size
        box = plate.figure.get_tightbbox().transformed(plate.figure.dpi_scale_trans)
        assert box.x0 > -3, plate.name
        assert box.y0 > -3, plate.name
        assert box.x1 < width + 3, plate.name
        assert box.y1 < height + 3, plate.name


def test_files_are_svg_and_pdf_and_ids_are_the_figures_own(plates: list[Plate], tmp_path: Path) -> None:
    svg, pdf = plates[0].write(tmp_path)
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert b"<text" not in svg.read_bytes()  # outlines: no font is needed to look at it
    assert pdf.read_bytes().startswith(b"%PDF")
    assert b"CreationDate" not in pdf.read_bytes()
    for plate in plates:
        root = ElementTree.fromstring(plate.inline())
        assert all(element.get("id", plate.name).startswith(plate.name) for element in root.iter())


def test_many_speakers_stay_one_figure(runs: dict[str, Path]) -> None:
    for speakers in (2, 30, 60, 61, 400):
        plate = wer_by_group(by_speaker(many(read_run(runs["sound"]), speakers)), kind="speaker", resampled="clips")
        assert plate is not None
        assert plate.figure.get_figheight() < 9.5
        names = [label.get_text() for label in plate.figure.axes[0].get_yticklabels()]
        assert len(names) == (speakers if speakers <= 60 else 0)


def test_records_without_anything_to_show_give_no_figure(runs: dict[str, Path]) -> None:
    private, none = read_run(runs["private"]), read_run(runs["none"])
    bare = dataclasses.replace(private, rounds=[], result=None, before=(), after=())
    assert wer_by_round([bare]) is None
    assert epsilon_by_round([none]) is None
    assert wer_by_group(by_speaker(bare), kind="speaker", resampled="clips") is None
    assert wer_against_epsilon([private]) is None
    assert (training_loss(private), clip_rates(private), norms_by_round(private), norms_by_group(private)) == (
        None,
    ) * 4


def test_the_style_stays_ours(plates: list[Plate]) -> None:
    assert mpl.rcParams["font.size"] == mpl.rcParamsDefault["font.size"]
    assert plates
