"""Settings that methods have in common: a run each, and a choice that the test has no say in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sordino.errors import ConfigError, DataError
from sordino.experiments.personalised.sweeping import settings_of, sweep
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.privacy import make_statement, read_ledger
from sordino.reporting import write_report
from sordino.reporting.sweep import read_sweep

EXAMPLE = Path(__file__).parents[3] / "examples" / "personalised.toml"


def test_keys_in_common_make_settings_and_options_of_a_method_make_methods() -> None:
    settings = settings_of(
        EXAMPLE,
        methods=["fedavg", "similarity"],
        vary={
            "model.split": ["1", "2"],
            "methods.similarity.beta": ["0", "0.8"],
            "federated.local.lr": ["1e-3", "2e-3"],
        },
        seeds=[0],
    )
    assert [setting.name for setting in settings][1] == "model.split = 1, federated.local.lr = 2e-3"
    assert [(s.options.model.split, s.options.federated.local.lr) for s in settings] == [
        (1, 1e-3), (1, 2e-3), (2, 1e-3), (2, 2e-3),
    ]  # fmt: skip
    assert all(list(s.options.methods) == ["fedavg", "similarity-beta-0", "similarity-beta-0.8"] for s in settings)
    (alone,) = settings_of(EXAMPLE, methods=["fedavg"], vary={}, seeds=[0])
    assert alone.name == ""


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ({"seed": ["0", "1"]}, "name the seeds with --seeds"),
        ({"model.splt": ["1", "2"]}, "did you mean 'split'"),
        ({"methods.ditto.strength": ["1"]}, "methods = 'ditto' is not known"),
    ],
)
def test_mistakes_are_refused(vary: dict[str, list[str]], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        settings_of(EXAMPLE, methods=["fedavg"], vary=vary, seeds=[0])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, str], tuple[float | None, float]]:
    """Runs that need no time: development and test error rate of a split and method; the ledgers are real."""
    rates: dict[tuple[int, str], tuple[float | None, float]] = {}

    def run(options: PersonalisedExperiment, out: Path, **_: Any) -> dict[str, Any]:
        out.mkdir(parents=True, exist_ok=True)
        terms = {"unit": "speaker", "population": 3, "clients_per_speaker": 1, "delta": 1e-3, "budget": None,
                 "seeded": False, "caveats": []}  # fmt: skip
        event = {"kind": "poisson-gaussian", "noise_multiplier": 4.0, "rate": 1.0}
        lines = [{"ledger": 1, "terms": terms}, {"charge": 1, "round": 1, "on": "2026-01-01", "event": event}]
        (out / "ledger.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        found = {name: rates[options.model.split, name] for name in options.methods}
        rows = {
            name: {"method": "x", "wer": test, "ci95": None, "development_wer": known, "rounds": 2, "epsilon": 1.0}
            for name, (known, test) in found.items()
        }
        start = {"method": None, "wer": 0.9, "ci95": None, "development_wer": 0.0, "rounds": 0, "epsilon": None}
        return {"test_is": "held-out utterances", "methods": {"start": start, **rows}}

    monkeypatch.setattr("sordino.experiments.personalised.sweeping.compare_methods", run)
    return rates


def test_development_chooses_and_the_guarantee_is_of_all_runs_together(
    measured: dict[tuple[int, str], tuple[float | None, float]], tmp_path: Path
) -> None:
    measured |= {
        (1, "fedavg"): (0.4, 0.1),
        (2, "fedavg"): (0.3, 0.5),
        (1, "ditto"): (0.2, 0.6),
        (2, "ditto"): (0.2, 0.2),
    }
    settings = settings_of(EXAMPLE, methods=["fedavg", "ditto"], vary={"model.split": ["1", "2"]}, seeds=[0])
    result = sweep(settings, tmp_path / "s")
    assert result["best_setting"] == {"fedavg": "model.split = 2", "ditto": "model.split = 1"}
    assert result["best_on_development"] == {"setting": "model.split = 1", "method": "ditto"}
    assert "start" not in result["settings"]["model.split = 1"]["methods"]
    alone = read_ledger(tmp_path / "s" / "model.split-1" / "ledger.jsonl")
    assert result["epsilon"]["pld"] > make_statement(alone[0], [charge.event for charge in alone[1]]).epsilon["pld"]
    assert "2 rounds" in result["statement"]
    read = read_sweep(tmp_path / "s")
    assert [[cell.text for cell in row][:4] for row in read.table.rows] == [
        ["ditto", "model.split = 1", "20.0\N{NO-BREAK SPACE}%", "chosen"],
        ["ditto", "model.split = 2", "20.0\N{NO-BREAK SPACE}%", ""],
        ["fedavg", "model.split = 1", "40.0\N{NO-BREAK SPACE}%", ""],
        ["fedavg", "model.split = 2", "30.0\N{NO-BREAK SPACE}%", "chosen"],
    ]
    assert read.choice == "Chosen by the development utterances: ditto with model.split = 1."
    write_report([tmp_path / "s"], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(words in page for words in (read.choice, "model.split-1", result["statement"].split(":")[0]))


def test_without_development_utterances_nothing_is_chosen(
    measured: dict[tuple[int, str], tuple[float | None, float]], tmp_path: Path
) -> None:
    measured |= {(1, "fedavg"): (None, 0.1), (2, "fedavg"): (None, 0.5)}
    settings = settings_of(EXAMPLE, methods=["fedavg"], vary={"model.split": ["1", "2"]}, seeds=[0])
    assert sweep(settings, tmp_path)["best_on_development"] is None
    assert "set data.development" in read_sweep(tmp_path).choice


def test_a_damaged_sweep_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_sweep(tmp_path)
    (tmp_path / "sweep.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match=r"sweep\.json"):
        read_sweep(tmp_path)
