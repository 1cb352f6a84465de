"""Split experiments end to end: the example with a server process, private runs, resuming, and what does not go together."""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from sordino.config import build
from sordino.errors import ConfigError, DataError
from sordino.experiments import load_experiment
from sordino.experiments.observer import Silent
from sordino.experiments.tasks.split import SplitExperiment
from sordino.privacy.ledger import read_ledger
from sordino.records import RunFolder
from sordino.reporting import write_report
from sordino.reporting.summaries import summarise

EXAMPLE = Path(__file__).parents[2] / "examples" / "split-text.toml"
SMALL = {
    "task": "split",
    "data": {"texts": {"method": "synthetic-notes", "count": 120}, "train": 32, "test": 24, "public": 20, "max_tokens": 24},
    "model": {"keep": 2, "reduction": 4, "calibration": 2},
    "training": {"epochs": 2},
    "privacy": {"noise": {"method": "gaussian", "noise_multiplier": 2.0}},
    "simulation": {"threads": 1},
}  # fmt: skip


def experiment(**changes: Any) -> SplitExperiment:
    made: SplitExperiment = build(SplitExperiment, {**SMALL, **changes})
    return made


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The shipped example on fewer texts; client and server are two processes."""
    torch.set_num_threads(1)
    fewer = ["data.train=60", "data.test=40", "data.public=40", "training.epochs=2", "attacks.tokens=300"]
    path = tmp_path_factory.mktemp("runs") / "example"
    return load_experiment(EXAMPLE, fewer).run(path), path


def test_the_example_says_what_a_method_gives_and_shows(example: tuple[dict[str, Any], Path]) -> None:
    result, path = example
    for name in ("hidden-echo", "zero-states", "noised-embeddings", "embedding-mean", "clean"):
        row = result["methods"][name]
        assert 0 <= row["accuracy"] <= 1
        assert row["auc_ci95"][0] <= row["auc"] <= row["auc_ci95"][1]
        assert row["empirical_privacy"] == {"nothing": 1.0, "clean": 0.0}.get(row["sees"], row["empirical_privacy"])
    assert result["methods"]["zero-states"]["bytes"] == {"up": 0, "down": 0}
    assert json.loads((path / "result.json").read_text(encoding="utf-8"))["methods"] == result["methods"]


def test_the_page_promises_for_a_token_and_says_what_is_not_covered(example: tuple[dict[str, Any], Path]) -> None:
    result, path = example
    page = path / "page.html"
    write_report([path], page)
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8"))).split())
    assert f"Epsilon for each token {math.ceil(100 * result['epsilon']['pld']) / 100:.2f}" in text
    assert "Not everything that was released is covered." in text
    assert "except one thing: which of two it was (one token replaced by another)" in text
    assert "One token of a text is hidden, whatever the others are." in text
    assert result["statement"] in text
    assert "recordings" not in text[: text.index("How this was made")]


def test_bytes_of_the_example_are_those_that_the_wire_counted(example: tuple[dict[str, Any], Path]) -> None:
    result, _ = example
    echo, last = (result["methods"][name]["bytes"] for name in ("hidden-echo", "noised-embeddings"))
    assert result["bytes"] == result["wire"]["payload"]
    assert result["bytes"] == {way: echo[way] + last[way] for way in ("up", "down")}
    assert result["wire"]["message"]["up"] > result["bytes"]["up"]


def test_the_example_pays_once_and_states_both_units(example: tuple[dict[str, Any], Path]) -> None:
    result, path = example
    _, charges = read_ledger(path / "ledger.jsonl")
    assert len(charges) == result["draws"] == 1
    assert result["epsilon"]["pld"] == pytest.approx(13.21, abs=0.01)
    token, sequence = (result["guarantees"][unit] for unit in ("token", "sequence"))
    assert token["epsilon"] == result["epsilon"]["pld"]
    assert sequence["epsilon"] > 100
    assert "in name only" in sequence["words"]
    assert "in name only" not in token["words"]
    assert "how many tokens each has" in result["statement"]


def test_attacks_of_the_example_are_in_order(example: tuple[dict[str, Any], Path]) -> None:
    attacks = example[0]["attacks"]
    assert attacks["clean"]["success"] == 1.0
    assert attacks["repeated-16"]["success"] > attacks["nearest-cosine"]["success"]
    for name in ("nearest-l2", "nearest-cosine", "learned"):
        assert attacks[name]["empirical_privacy_as_published"] > attacks[name]["empirical_privacy"]


def test_the_example_is_summed_up(example: tuple[dict[str, Any], Path]) -> None:
    summary = summarise(RunFolder.open(example[1]))
    assert [table.name for table in summary.tables] == ["split-methods", "split-attacks", "split-costs"]
    words = " ".join(summary.sentences)
    assert "Against the same network without the server" in words
    assert "calls over the wire" in words


GRADIENTS = {"epochs": 3, "batch_size": 8, "lora": True}


@pytest.mark.parametrize("mode", ["as-published", "accounted"])
def test_what_gradients_give_away_and_cost(mode: str, tmp_path: Path) -> None:
    """As published, one text of each label gives all labels away; noise that is charged leaves chance, and no use."""
    result = experiment(
        telemetry="debug", methods=["hidden-echo", "no-reducer"], training={"method": mode, **GRADIENTS},
        attacks={"repeats": [4], "learned": False},
    ).run(tmp_path / "run")  # fmt: skip
    labels, tokens = (result["attacks"][f"gradient-{name}"] for name in ("labels", "tokens"))
    assert labels["tried"] == 30
    if mode == "as-published":
        assert labels["success"] == 1.0
        assert result["statement"].startswith("No privacy guarantee")
    else:
        assert labels["success"] < 0.9
        assert result["epsilon"]["pld"] is not None
    assert "That is of the embeddings alone; the statement counts" in result["guarantees"]["token"]["words"]
    echo, full = (result["methods"][name] for name in ("hidden-echo", "no-reducer"))
    assert echo["empirical_privacy"] <= tokens["empirical_privacy"] == 1 - tokens["success"]
    # What all methods sent, each counted as if it were alone, is what went: they share nothing here.
    assert result["bytes"] == {way: echo["bytes"][way] + full["bytes"][way] for way in ("up", "down")}


def test_every_ablation_and_baseline_runs(tmp_path: Path) -> None:
    names = ["gan-dp", "no-residual", "fixed-layers"]
    result = experiment(telemetry="debug", methods=names, attacks={"learned": False}).run(tmp_path / "run")
    assert list(result["methods"]) == names
    assert {row["empirical_privacy"] for row in result["methods"].values()} == {
        1 - max(result["attacks"][name]["success"] for name in ("nearest-l2", "nearest-cosine", "generated"))
    }
    assert {table.name for table in summarise(RunFolder.open(tmp_path / "run")).tables} >= {"split-attacks"}


def test_a_private_run_measures_nothing_on_private_texts(tmp_path: Path) -> None:
    result = experiment().run(tmp_path / "run", observer=Silent())
    assert result["methods"] == result["attacks"] == {}
    assert (tmp_path / "run" / "model" / "corrector.safetensors").is_file()
    assert summarise(RunFolder.open(tmp_path / "run")).tables == []
    text = (tmp_path / "run" / "result.json").read_text(encoding="utf-8")
    assert not any(word in text for word in ('"auc"', '"accuracy"', '"success"'))


def test_a_run_that_goes_on_draws_and_asks_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, path = experiment(), tmp_path / "run"
    with monkeypatch.context() as crash:
        crash.setattr("sordino.experiments.split.running.save_corrector", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            options.run(path)
    kept = {file: file.read_bytes() for file in (path / "exchange").rglob("*.safetensors")}
    assert len(kept) == 3  # two draws, and the states of the training texts
    result = options.run(path, resume=True)
    assert result["draws"] == 1
    assert min(result["bytes"].values()) > 0  # those of the process that broke off
    assert all(file.read_bytes() == content for file, content in kept.items())
    with pytest.raises(ConfigError, match="not an empty folder"):
        options.run(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"methods": []}, "at least one"),
        ({"methods": ["hidden-echo", "hidden-echo"]}, "name each once"),
        ({"server": {"place": "remote"}}, "expected an address"),
        ({"server": {"address": "x:1"}}, "expected an address"),
        ({"server": {"place": "remote", "address": "x:1"}}, r"expected model\.layers"),
        ({"server": {"place": "spawned"}, "training": "as-published"}, "no gradient goes over the wire"),
        ({"privacy": {"noise": "d-chy"}}, "did you mean 'd-chi'"),
        ({"privacy": {"delta": 1.0}}, r"privacy\.delta"),
    ],
)
def test_options_that_do_not_go_together(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        experiment(**changes)


def test_a_model_that_is_not_there_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.source"):
        experiment(model={**SMALL["model"], "source": str(tmp_path)}).run(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("model", [{"layers": [1, 7]}, {"layers": []}, {"reduction": 7}])
def test_blocks_that_the_model_does_not_have_leave_no_folder(tmp_path: Path, model: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"expected (different blocks between 1 and 6|a divisor of the width 64)"):
        experiment(model={**SMALL["model"], **model}).run(tmp_path / "run")  # type: ignore[dict-item]
    assert not (tmp_path / "run").exists()


def test_texts_that_do_not_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="different texts are left"):
        experiment(data={**SMALL["data"], "train": 500}).run(tmp_path / "a")
    lines = tmp_path / "own.jsonl"
    lines.write_text("".join(f'{{"text": "text {n}", "label": "same"}}\n' for n in range(90)), encoding="utf-8")
    data = {**SMALL["data"], "texts": {"method": "jsonl", "path": str(lines)}}
    with pytest.raises(ConfigError, match="at least two labels"):
        experiment(data=data).run(tmp_path / "b")
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
