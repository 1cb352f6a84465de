"""The page of a comparison says what ``comparison.json`` says, shows what failed, and is harmless whatever a name holds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reading_back import Page, assert_sound

from sordino.errors import ConfigError, DataError
from sordino.evaluation import Interval, SignFlip
from sordino.reporting import read_run, write_report
from sordino.reporting.comparison import Comparison
from sordino.reporting.comparison_folder import holds_comparison, read_comparison
from sordino.reporting.comparison_table import comparison_table
from sordino.reporting.comparison_view import ComparisonView
from sordino.reporting.differences import Difference, PairedTest
from sordino.reporting.formatting import rounded_up
from sordino.reporting.tables import Cell

WEAK = "alpha-split, z = 0.2"
BROKEN = "<b>broke</b> & $x_1$"


@pytest.fixture(scope="module")
def table(comparison: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((comparison / "comparison.json").read_text())
    return content


@pytest.fixture(scope="module")
def read(comparison: Path) -> Comparison:
    return read_comparison(comparison)


def rate(fraction: float) -> str:
    return f"{100 * fraction:.1f}"


def signed(fraction: float) -> str:
    return f"{100 * fraction:+.1f}".replace("-", "−")


def test_it_is_read_as_it_was_written(read: Comparison, table: dict[str, Any]) -> None:
    assert (read.reference, list(read.seeds), read.test_is) == ("flat", [0, 1], "held-out voices")
    assert [variant.label for variant in read.variants] == ["flat", WEAK, BROKEN]
    for variant in read.finished:
        row = table["allocations"][variant.label]
        assert variant.rate_after is not None
        assert (variant.rate_after.wer, list(variant.rate_after.ci95 or ())) == (row["wer"], row["ci95"])
        assert variant.difference.points == row["difference"]
        test = row["difference_test"]
        assert (variant.difference.test is None) == (test is None) == (variant.label == "flat")
        if variant.difference.test and test:
            assert (variant.difference.test.p_holm, variant.difference.test.flips.least_p) == (test["p_holm"], 0.25)
        assert {str(seed): wer for seed, wer in variant.by_seed.items()} == row["by_seed"]
        assert variant.epsilon == row["epsilon"]["pld"]
        assert {run.result.seconds for run in variant.runs.values() if run.result} == set(row["seconds"])
    assert read.rate_before is not None
    assert read.rate_before.wer == table["allocations"]["flat"]["before"]
    broken = read.variants[2]
    assert (broken.runs, broken.rate_after, broken.guarantee, broken.epsilon) == ({}, None, None, None)
    assert [failure.seed for failure in broken.failures] == [0, 1]


def test_rates_over_the_rounds_are_means_over_the_seeds(read: Comparison) -> None:
    variant = read.variants[1]
    singles = [dict(run.rates) for run in variant.runs.values()]
    assert [number for number, _ in variant.rates] == [0, 1, 2, 3]
    for number, mean in variant.rates:
        assert mean.wer == pytest.approx(sum(rates[number].wer for rates in singles) / 2)
    assert variant.rates[-1][1] == variant.rate_after


def test_the_page_holds_every_figure_of_the_records(table: dict[str, Any], page: Callable[..., Page]) -> None:
    found = page("comparison")
    for name, row in table["allocations"].items():
        assert name in found.text
        if row["wer"] is None:
            continue
        for value in (row, row["seen"]):
            assert f"{rate(value['wer'])} ({rate(value['ci95'][0])} to {rate(value['ci95'][1])})" in found.text
        assert ", ".join(rate(wer) for wer in row["by_seed"].values()) in found.text
        assert all(text in found.text for text in row["overrides"])
    weak = table["allocations"][WEAK]
    low, high = weak["difference_ci95"]
    assert f"{signed(weak['difference'])} ({signed(low)} to {signed(high)})" in found.text
    assert f"before adapting{rate(table['allocations']['flat']['before'])}" in found.text
    assert "which is outside the guarantee" in found.text
    assert "in name only" in found.text
    assert "Debug telemetry." in found.text


def test_what_failed_is_shown_with_its_reason_and_its_name_is_text(page: Callable[..., Page]) -> None:
    found = page("comparison")
    assert f"Failed: {BROKEN}, seeds 0, 1. BudgetExhausted: one round costs epsilon" in found.text
    assert f"{BROKEN}failed" in found.text  # in the table
    assert found.tags["b"] == len(found.figures)  # the captions' own
    assert any("failed" in drawn for drawn in found.drawn)


def test_every_figure_is_there_and_says_what_it_needs(page: Callable[..., Page]) -> None:
    titles = [figure["figcaption"].split(".")[0] for figure in page("comparison").figures]
    assert titles == [
        "Word error rate by variant", "Word error rate by round", "Word error rate against epsilon",
        "Update norms by part", "Clipping dynamics by variant", "Component norm ratio by round",
        "Signal to noise by part and variant", "Effective noise by share",
    ]  # fmt: skip
    captions = {figure["figcaption"].split(".")[0]: figure["figcaption"] for figure in page("comparison").figures}
    assert "only the joint epsilon is a guarantee" in captions["Effective noise by share"]
    assert "held-out voices" in captions["Word error rate by variant"]


def test_figures_and_tables_are_written_beside_it(written: Callable[..., Path], read: Comparison) -> None:
    folder = written("comparison").parent / "figures"
    names = {path.name for path in folder.iterdir()}
    assert {"table.tex", "table.md", "wer-by-variant.svg", "wer-by-variant.pdf", "effective-noise.pdf"} <= names
    assert (folder / "table.tex").read_text() == comparison_table(read).latex()
    assert (folder / "table.md").read_text() == comparison_table(read).markdown()


def cells(comparison: Comparison, label: str) -> dict[str, Cell]:
    table = comparison_table(comparison)
    row = next(row for row in table.rows if row[0].text == label)
    return {column.title: cell for column, cell in zip(table.columns, row, strict=True)}


@pytest.mark.parametrize(("bounds", "clear"), [((0.05, 0.2), True), ((-0.2, -0.05), True), ((-0.05, 0.2), False)])
def test_a_clear_difference_stands_out(bounds: tuple[float, float], clear: bool, read: Comparison) -> None:
    shown = dataclasses.replace(read.variants[1], difference=Difference(points=0.1, interval=Interval(bounds)))
    cell = cells(dataclasses.replace(read, variants=[read.variants[0], shown]), WEAK)["points to flat"]
    assert (cell.text, cell.strong) == ("+10.0", clear)


@pytest.mark.parametrize(
    ("speakers", "num_tests", "shown", "said"),
    [
        (6, 1, ("0.031", ""), ""),
        (6, 2, ("0.062", "cannot reject"), "no result could have a p below 0.062"),
        (7, 2, ("0.031", "alone 0.016"), "Holm's correction for 2 variants"),
    ],
)
def test_a_test_that_cannot_reject_says_so(
    speakers: int, num_tests: int, shown: tuple[str, str], said: str, read: Comparison
) -> None:
    flips = SignFlip(2.0 ** (1 - speakers), speakers)
    test = PairedTest(p_holm=num_tests * flips.p, flips=flips, num_tests=num_tests)
    variant = dataclasses.replace(
        read.variants[1], difference=dataclasses.replace(read.variants[1].difference, test=test)
    )
    comparison = dataclasses.replace(read, variants=[read.variants[0], variant])
    cell = cells(comparison, WEAK)["p, corrected"]
    assert (cell.text, cell.detail) == shown
    assert said in comparison_table(comparison).note
    assert ("no sign of equality" in comparison_table(comparison).note) == (shown[1] == "cannot reject")


def test_comparisons_made_before_there_were_tests_are_shown(copied_comparison: Path) -> None:
    path = copied_comparison / "comparison.json"
    content = json.loads(path.read_text())
    for row in content["allocations"].values():
        del row["difference_test"]
    path.write_text(json.dumps(content))
    assert "p, corrected" not in cells(read_comparison(copied_comparison), WEAK)


def test_seeds_that_cost_differently_are_charged_the_most(read: Comparison, runs: dict[str, Path]) -> None:
    for second, said in (("weak", "in name only"), ("none", "")):
        both = {0: read_run(runs["sound"]), 1: read_run(runs[second])}
        variant = dataclasses.replace(read.variants[1], runs=both)
        cell = cells(dataclasses.replace(read, variants=[read.variants[0], variant]), WEAK)["epsilon for each speaker"]
        assert variant.epsilon == both[1].epsilon
        assert cell.detail == said
        assert variant.guarantee is not None
        assert not variant.guarantee.sound
        assert cell.text == ("none" if second == "none" else rounded_up(both[1].epsilon or 0))


def test_private_telemetry_leaves_no_diagnosis(copied_comparison: Path, tmp_path: Path) -> None:
    for path in copied_comparison.glob("*/rounds.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps({**line, "telemetry": None}) + "\n" for line in lines))
    write_report([copied_comparison], tmp_path / "report.html")
    found = Page(tmp_path / "report.html")
    assert_sound(found)
    assert "Diagnosis" not in found.text
    assert len(found.figures) == 3


def test_older_records_without_ratios_are_shown_without_them(copied_comparison: Path) -> None:
    for path in copied_comparison.glob("*/rounds.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for telemetry in (line["telemetry"] for line in lines if line.get("telemetry")):
            for part in (*telemetry["blocks"], *telemetry["groups"]):
                part.pop("clip_ratio", None)
                part.pop("snr", None)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    names = {plate.name for plate in ComparisonView(read_comparison(copied_comparison)).plates}
    assert "norms-by-group" in names
    assert not {"clipping-dynamics", "signal-to-noise"} & names


def test_a_failed_reference_and_missing_differences(copied_comparison: Path, tmp_path: Path) -> None:
    path = copied_comparison / "comparison.json"
    content = json.loads(path.read_text())
    for row in content["allocations"].values():
        row["difference"] = row["difference_ci95"] = None
    path.write_text(json.dumps({**content, "reference": BROKEN}))
    write_report([copied_comparison], tmp_path / "report.html")
    found = Page(tmp_path / "report.html")
    assert_sound(found)
    assert "It failed, so there are no differences." in found.text
    assert f"{WEAK}: no difference is given" in found.text


@pytest.mark.parametrize(
    "content", ["nonsense", "[1]", '{"reference": "x", "allocations": {}}', '{"reference": "flat"}']
)
def test_a_damaged_file_is_named(content: str, copied_comparison: Path, tmp_path: Path) -> None:
    (copied_comparison / "comparison.json").write_text(content)
    with pytest.raises(DataError, match=r"comparison\.json"):
        write_report([copied_comparison], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_what_is_no_finished_comparison_is_told_apart(copied_comparison: Path, runs: dict[str, Path]) -> None:
    assert holds_comparison(copied_comparison)
    assert not holds_comparison(runs["sound"])
    with pytest.raises(ConfigError, match="page of its own"):
        write_report([runs["sound"], copied_comparison], copied_comparison / "report.html")
    (copied_comparison / "comparison.json").unlink()
    with pytest.raises(ConfigError, match="has not ended"):
        holds_comparison(copied_comparison)
