"""``sordino report`` and ``sordino track``: where they write, what they print, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import sordino


@pytest.fixture(scope="module")
def finished(small_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (folder / "small.toml").write_text(small_text, encoding="utf-8")
    sordino("run", folder / "small.toml", "--set", "federated.rounds=1", "--out", folder / "run")
    return folder / "run"


def test_a_report_lies_in_its_run(finished: Path, tmp_path: Path) -> None:
    done = sordino("report", finished)
    assert str(finished / "report.html") in done.stdout
    assert (finished / "report.html").read_text().startswith("<!doctype html>")
    elsewhere = sordino("report", finished, "-o", tmp_path / "page.html", "--figures", tmp_path / "figures", "--json")
    table = json.loads(elsewhere.stdout)
    assert table["report"] == str(tmp_path / "page.html")
    assert table["runs"] == [str(finished)]
    assert {Path(file).suffix for file in table["figures"]} == {".svg", ".pdf"}
    assert all(Path(file).is_file() for file in table["figures"])
    assert (tmp_path / "page.html").read_bytes() == (finished / "report.html").read_bytes()


def test_a_run_that_has_a_report_still_resumes_and_evaluates(finished: Path) -> None:
    sordino("report", finished)
    sordino("evaluate", finished, "--json")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "nowhere"], ["nowhere is no run folder", "sordino run"]),
        (["report", "{run}", "{run}"], ["named twice"]),
        (["track", "nowhere"], ["nowhere is no run folder"]),
        (["track", "{run}", "--to", "tensorbord", "--dir", "{tmp}"], ["did you mean 'tensorboard'"]),
    ],
)
def test_mistakes(arguments: list[str], said: list[str], finished: Path, tmp_path: Path) -> None:
    done = sordino(*(argument.format(run=finished, tmp=tmp_path) for argument in arguments), check=2)
    assert done.stderr.count("\n") == 1
    for part in said:
        assert part in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_has_a_page_and_tables(finished: Path, tmp_path: Path) -> None:
    arguments = ["compare", finished.parent / "small.toml", "--allocations", "flat,pooled", "--out", tmp_path / "both"]
    rows = json.loads(sordino(*arguments, "--json").stdout)["allocations"]
    done = sordino("report", tmp_path / "both", "--figures", tmp_path / "figures", "--json")
    table = json.loads(done.stdout)
    assert table["report"] == str(tmp_path / "both" / "report.html")
    assert {Path(file).suffix for file in table["figures"]} == {".svg", ".pdf", ".tex", ".md"}
    assert all(f"{100 * row['wer']:.1f}" in (tmp_path / "figures" / "table.md").read_text() for row in rows.values())
    assert (
        sordino(*arguments, "--json").stdout
        == json.dumps(json.loads((tmp_path / "both" / "comparison.json").read_text()), indent=2, ensure_ascii=False)
        + "\n"
    )  # a report in the folder is in nobody's way
    (tmp_path / "both" / "comparison.json").unlink()
    assert "has not ended" in sordino("report", tmp_path / "both", check=2).stderr


def test_track_says_where_it_wrote(finished: Path, tmp_path: Path) -> None:
    table = json.loads(sordino("track", finished, "--dir", tmp_path, "--json").stdout)
    assert table == {"tracker": "tensorboard", "written": [str(tmp_path / "run")]}
    assert any((tmp_path / "run").iterdir())


def test_help_has_examples() -> None:
    for verb in ("report", "track"):
        assert f"sordino {verb} runs/first" in sordino(verb, "--help").stdout
