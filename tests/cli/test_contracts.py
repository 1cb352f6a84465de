"""What scripts rely on: nested JSON on stdout, words on stderr, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import sordino, spawn

from sordino import __version__


@pytest.mark.slow
def test_run_evaluate_privacy_and_resume(small: Path, tmp_path: Path) -> None:
    done = sordino("run", small, "--out", tmp_path / "run", "--json")
    result = json.loads(done.stdout)
    assert result["run"] == str(tmp_path / "run")
    assert result["wer"]["after"] >= 0
    assert result["wer"]["before"] >= 0
    low, high = result["wer"]["ci95"]
    assert low <= result["wer"]["after"] <= high
    assert result["epsilon"]["pld"] == pytest.approx(5.841, abs=1e-3)
    assert result["epsilon"]["pld"] < result["epsilon"]["rdp"]
    assert result["epsilon"]["delta"] == 1e-5
    assert result["rounds"] == 3
    assert result["seconds"] > 0
    assert "held-out voices" in done.stderr
    assert "round 3/3" in done.stderr

    measured = json.loads(sordino("evaluate", tmp_path / "run", "--json").stdout)
    assert measured["wer"] == result["wer"]["after"]
    assert measured["ci95"] == result["wer"]["ci95"]
    assert len(measured["by_speaker"]) == 3

    stated = json.loads(sordino("privacy", tmp_path / "run", "--json").stdout)
    assert stated == json.loads((tmp_path / "run" / "privacy.json").read_text())
    assert stated["epsilon"]["pld"] == result["epsilon"]["pld"]

    again = sordino("run", small, "--out", tmp_path / "run", check=2)
    assert "--resume" in again.stderr
    finished = sordino("run", "--resume", "--out", tmp_path / "run", "--json")
    assert json.loads(finished.stdout)["wer"] == result["wer"]


@pytest.mark.slow
def test_private_telemetry_writes_nothing_that_the_guarantee_does_not_cover(small: Path, tmp_path: Path) -> None:
    sordino("run", small, "--out", tmp_path / "private")
    lines = [json.loads(line) for line in (tmp_path / "private" / "rounds.jsonl").read_text().splitlines()]
    assert all(set(line) <= {"round", "wer", "epsilon"} for line in lines)
    sordino("run", small, "--out", tmp_path / "debug", "--set", "telemetry=debug")
    lines = [json.loads(line) for line in (tmp_path / "debug" / "rounds.jsonl").read_text().splitlines()]
    assert {"drawn", "replies", "loss", "blocks"} <= set(lines[1]["telemetry"])
    statement = json.loads((tmp_path / "debug" / "privacy.json").read_text())["words"]
    assert "Not covered: debug telemetry" in statement


def test_a_published_setting_is_planned_without_data_weights_or_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SORDINO_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    file = Path(__file__).parents[2] / "examples" / "paper" / "voxtral-mini.toml"
    report = json.loads(sordino("plan", file, "--json").stdout)
    assert report["parameters"] == {"encoder": 1_966_080, "connector": 25_165_824, "decoder": 2_703_360}
    assert report["epsilon"]["pld"] == pytest.approx(1251.16, rel=1e-3)
    assert report["outlook"]["noise_for_epsilon"]["8"] == pytest.approx(1.4, rel=5e-3)
    assert "SORDINO_DATA is not set" in sordino("run", file, check=2).stderr


def test_plan_needs_no_data_and_has_the_promised_keys(small: Path) -> None:
    report = json.loads(sordino("plan", small, "--set", "privacy.allocation.alpha=0.1", "--json").stdout)
    assert set(report["parameters"]) == {"encoder", "connector", "decoder"}
    assert all(isinstance(count, int) and count > 0 for count in report["parameters"].values())
    assert sum(norm**2 for norm in report["clip_norms"].values()) == pytest.approx(1.0)
    assert report["z_eff"]["by_pool"]["encoder"] == pytest.approx(0.1**-0.5)
    assert report["epsilon"]["pld"] == pytest.approx(5.841, abs=1e-3)
    assert report["epsilon"]["delta"] == 1e-5


def test_no_privacy_has_no_epsilon(small: Path) -> None:
    report = json.loads(sordino("plan", small, "--set", "privacy.mechanism=none", "--json").stdout)
    assert report["epsilon"]["pld"] is None
    assert "No privacy guarantee" in report["statement"]


def test_config_show_prints_a_file_that_means_the_same(small: Path, tmp_path: Path) -> None:
    shown = sordino("config", "show", small, "--set", "seed=3").stdout
    assert "seed = 3" in shown
    copy = tmp_path / "copy.toml"
    copy.write_text(shown)
    assert sordino("config", "show", copy).stdout == shown


def test_list_has_every_family_and_plugins_join_it(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(
        "from dataclasses import dataclass\n"
        "from sordino.privacy import ALLOCATIONS, Allocation\n"
        "@ALLOCATIONS.register('halves')\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class Halves(Allocation):\n"
        "    '''Half for the first block.'''\n"
        "    def shares(self, blocks, state):\n"
        "        return [1.0] + [1.0 / max(len(blocks) - 1, 1)] * (len(blocks) - 1)\n"
    )
    table = json.loads(spawn("list", "--plugin", "ours", "--json", cwd=tmp_path).stdout)
    assert table["privacy.allocation"]["halves"]["summary"] == "Half for the first block."
    assert table["privacy.allocation"]["alpha-split"]["options"]["alpha"] == "0.05"
    assert {"federated.cohort", "federated.method", "model.connector", "data.corpus", "data.partition"} <= set(table)


def test_version_and_help() -> None:
    assert spawn("--version").stdout == f"sordino {__version__}\n"
    for verb in ("run", "plan", "evaluate", "privacy", "list", "config", "data"):
        assert verb in sordino("--help").stdout
