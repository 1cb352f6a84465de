"""``sordino compare`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from calling import sordino


def test_a_comparison_prints_its_table_and_its_json(small: Path, tmp_path: Path) -> None:
    arguments = [
        "compare",
        small,
        "--allocations",
        "flat,pooled",
        "--set",
        "federated.rounds=1",
        "--out",
        tmp_path / "c",
    ]
    done = sordino(*arguments, "--json")
    rows = json.loads(done.stdout)["allocations"]
    assert list(rows) == ["flat", "pooled"]
    assert {"wer", "ci95", "difference_ci95", "epsilon"} <= rows["pooled"].keys()
    assert "run 2 of 2: pooled, seed 0" in done.stderr
    again = sordino(*arguments)
    assert "pooled" in again.stdout
    assert f"{100 * rows['pooled']['wer']:.1f}" in again.stdout
    assert "p cannot be below 0.250 with so few test speakers" in again.stdout
    assert "run 2 of 2" not in again.stderr, "finished runs are not run again"


def test_a_failed_run_is_told_by_the_exit_code(small: Path, tmp_path: Path) -> None:
    done = sordino(
        "compare",
        small,
        "--vary",
        "privacy.epsilon=0.001,1000",
        "--set",
        "federated.rounds=1",
        "--out",
        tmp_path / "c",
        check=1,
    )
    assert "epsilon = 0.001, seed 0, failed: BudgetExhausted" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--allocations", "flat"], "at least two"),
        (["--allocations", "flat,dmi"], "did you mean 'dim'"),
        (["--vary", "model.train_encoder"], "expected KEY=VALUE,VALUE"),
        (["--vary", "model.train_encodr=true,false"], "train_encodr"),
        (["--allocations", "flat,dim", "--seeds", "0,0"], "different whole numbers"),
        (["--allocations", "flat,dim", "--seeds", "x"], "different whole numbers"),
        (["--allocations", "flat,dim", "--reference", "uniform"], "--reference"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: list[str], said: str, small: Path, tmp_path: Path) -> None:
    done = sordino("compare", small, *arguments, "--out", tmp_path / "c", check=2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "c").exists()


def test_methods_are_for_experiments_that_compare_them(small: Path, tmp_path: Path) -> None:
    arguments = ("compare", small, "--methods", "fedavg", "--out", tmp_path / "c")
    assert 'expected an experiment with task = "personalised"' in sordino(*arguments, check=2).stderr
    assert "compare one thing at a time" in sordino(*arguments, "--allocations", "flat", check=2).stderr
    assert not (tmp_path / "c").exists()


PERSONALISED = Path(__file__).parents[2] / "examples" / "personalised.toml"
IN_SMALL = {
    "data.corpus.speakers": 1,
    "data.corpus.utterances_per_speaker": 6,
    "data.corpus.test_utterances_per_speaker": 3,
    "start.corpus.speakers": 1,
    "start.corpus.utterances_per_speaker": 6,
    "start.local.epochs": 1,
    "federated.passes": 1,
    "simulation.workers": 1,
    "model.layers": 2,
}


def test_a_sweep_of_what_methods_have_in_common_says_what_development_chooses(tmp_path: Path) -> None:
    settings = [part for key, value in IN_SMALL.items() for part in ("--set", f"{key}={value}")]
    out = tmp_path / "s"
    arguments = ["compare", PERSONALISED, "--methods", "fedavg", "--vary", "model.split=1,2", *settings, "--out", out]
    done = sordino(*arguments, "--json")
    result = json.loads(done.stdout)
    assert list(result["settings"]) == ["model.split = 1", "model.split = 2"]
    chosen = result["best_on_development"]["setting"]
    rates = {name: one["methods"]["fedavg"]["development_wer"] for name, one in result["settings"].items()}
    assert rates[chosen] == min(rates.values())
    assert f"Chosen by the development utterances: fedavg with {chosen}." in done.stderr
    assert "No privacy guarantee" in done.stderr
    assert {path.name for path in out.iterdir()} == {"model.split-1", "model.split-2", "sweep.json", "report.html"}
    ledger = (out / "model.split-1" / "ledger.jsonl").read_bytes()
    again = json.loads(sordino(*arguments, "--json").stdout)
    assert {**again, "seconds": 0} == {**result, "seconds": 0}
    assert (out / "model.split-1" / "ledger.jsonl").read_bytes() == ledger, "finished runs are not run again"
    beside = sordino("compare", PERSONALISED, "--allocations", "flat,dim", "--out", tmp_path / "no", check=2).stderr
    assert "compare one thing at a time" in beside
