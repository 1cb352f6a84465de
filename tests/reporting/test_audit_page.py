"""The page of an audit says what ``audit.json`` says, and is loud where a claim is refuted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reading_back import Page, assert_sound

from sordino.errors import ConfigError, DataError
from sordino.reporting import write_report
from sordino.reporting.audit import holds_audit, read_audit

RECORD: dict[str, Any] = {
    "simulation": "This audit is a simulation <b>.",
    "statement": "(1.00, 1e-06)-differential privacy for each client",
    "epsilon": {"claimed": 0.9991, "lower_bound": 0.1934, "delta": 1e-6, "confidence": 0.95, "refuted": False},
    "attacks": {
        "canaries": {"asks": "Did it take part?", "success": 0.537, "chance": 0.5, "ci95": [0.51, 0.56], "tried": 2000},
        "membership": {
            "asks": "Was <i>this</i> voice in?",
            "success": 0.5,
            "chance": 0.5,
            "ci95": [0.3, 0.7],
            "tried": 20,
        },
    },
    "evidence": {"kind": "all", "score": "likelihood", "guesses": 1000, "correct": 588, "attempts": 90},
    "cannot_see": ["A fault that touches fewer than 28 clients cannot be told from luck."],
    "size": {"canaries": 2000, "clients": 4, "rounds": 6},
    "seconds": 5.2,
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(**changes: Any) -> Path:
        folder = tmp_path / "audit"
        folder.mkdir(exist_ok=True)
        record = {**RECORD, "epsilon": {**RECORD["epsilon"], **changes}}
        (folder / "audit.json").write_text(json.dumps(record), encoding="utf-8")
        return folder

    return write


def page_of(folder: Path) -> Page:
    write_report([folder], folder / "report.html", figures=folder / "figures")
    page = Page(folder / "report.html")
    assert_sound(page)
    return page


def test_everything_recorded_is_shown(write: Callable[..., Path]) -> None:
    folder = write()
    text = page_of(folder).text.replace("\N{NO-BREAK SPACE}", " ")
    for part in ("1.00 at delta 1e-06", "0.19 at 95 % confidence", "The claim stands.", "53.7 %", "51.0 to 56.0 %", "2,000",
                 "588 of the 1000", "fewer than 28 clients", RECORD["statement"], RECORD["simulation"],
                 "Was <i>this</i> voice in?"):  # fmt: skip
        assert part in text
    assert "refuted" not in text
    assert "| canaries (Did it take part?) | **53.7" in (folder / "figures" / "attacks.md").read_text()


def test_a_refuted_claim_cannot_be_overlooked(write: Callable[..., Path]) -> None:
    text = page_of(write(lower_bound=2.5, refuted=True)).text
    assert text.count("The claim is refuted.") == 2
    assert "let nothing" in text


def test_without_a_claim_there_is_none_to_stand(write: Callable[..., Path]) -> None:
    text = page_of(write(claimed=None)).text
    assert "Nothing is claimed." in text
    assert "stands" not in text


def test_only_what_is_above_chance_stands_out(write: Callable[..., Path]) -> None:
    audit = read_audit(write())
    assert [row[1].strong for row in audit.table.rows] == [True, False]


def test_a_damaged_record_and_a_second_folder_are_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = write()
    assert holds_audit(folder)
    assert not holds_audit(tmp_path)
    with pytest.raises(ConfigError, match="holds an audit, which has a page of its own"):
        write_report([folder, tmp_path], tmp_path / "report.html")
    for content in ("{}", "[1]", '{"epsilon": 3}', "no"):
        (folder / "audit.json").write_text(content)
        with pytest.raises(DataError, match=r"audit\.json is not as sordino wrote it"):
            write_report([folder], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
