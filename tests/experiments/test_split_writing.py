"""Split experiments in which the client writes: the example with a server process, what it costs, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sordino.config import build
from sordino.errors import ConfigError
from sordino.experiments import load_experiment
from sordino.experiments.split import predict_split, predict_split_writing
from sordino.experiments.tasks.split_writing import SplitWritingExperiment
from sordino.privacy import GaussianRelease, epsilon
from sordino.privacy.ledger import read_ledger
from sordino.records import RunFolder
from sordino.reporting.summaries import summarise

EXAMPLE = Path(__file__).parents[2] / "examples" / "split-writing.toml"
SMALL = {
    "task": "split-writing",
    "data": {
        "texts": {"method": "synthetic-notes", "count": 60}, "train": 12, "test": 6, "public": 12, "max_tokens": 24,
        "max_written": 4,
    },
    "model": {"layers": [2], "reduction": 4},
    "training": {"epochs": 1},
    "simulation": {"threads": 1},
}  # fmt: skip


def experiment(**changes: Any) -> SplitWritingExperiment:
    made: SplitWritingExperiment = build(SplitWritingExperiment, {**SMALL, **changes})
    return made


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The shipped example on fewer texts; client and server are two processes."""
    torch.set_num_threads(1)
    fewer = [
        "data.train=60", "data.test=10", "data.public=40", "training.epochs=12", "training.batch_size=8",
        "attacks.tokens=100", 'methods=["hidden-echo", "zero-states"]',
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("runs") / "example"
    return load_experiment(EXAMPLE, fewer).run(path), path


def test_methods_are_scored_and_compared(example: tuple[dict[str, Any], Path]) -> None:
    methods = example[0]["methods"]
    assert list(methods) == ["hidden-echo", "zero-states"]
    for row in methods.values():
        assert row["bleu_ci95"][0] <= row["bleu"] <= row["bleu_ci95"][1]
        assert row["empirical_privacy"] == {"nothing": 1.0, "clean": 0.0}.get(row["sees"], row["empirical_privacy"])
    assert methods["zero-states"]["bleu"] > 3  # it has learned how such lines go
    assert methods["hidden-echo"]["against_zero-states"]["bleu"] == pytest.approx(
        methods["hidden-echo"]["bleu"] - methods["zero-states"]["bleu"]
    )
    tables = summarise(RunFolder.open(example[1])).tables
    assert [table.name for table in tables] == ["split-methods", "split-attacks", "split-costs"]


def test_bytes_are_those_that_the_wire_counted(example: tuple[dict[str, Any], Path]) -> None:
    result, _ = example
    assert result["bytes"] == result["wire"]["payload"] == result["methods"]["hidden-echo"]["bytes"]
    assert result["methods"]["zero-states"]["bytes"] == {"up": 0, "down": 0}


def test_every_written_token_is_paid_for(example: tuple[dict[str, Any], Path]) -> None:
    """By one method alone: the control writes without the server."""
    result, path = example
    _, charges = read_ledger(path / "ledger.jsonl")
    draw, *written = [charge.event for charge in charges]
    assert result["draws"] == 1
    assert isinstance(draw, GaussianRelease)
    tokens = sum((draw.noise_multiplier / event.noise_multiplier) ** 2 for event in written)
    assert 10 <= tokens <= 10 * 15  # of ten texts, each of at most 16 tokens, the last of which need not be sent
    assert result["written"] == pytest.approx(tokens)
    assert result["epsilon"]["pld"] == pytest.approx(
        epsilon([draw] * (1 + result["written"]), delta=1e-5).value, rel=1e-3
    )
    assert result["guarantees"]["token"]["epsilon"] == pytest.approx(result["epsilon"]["pld"], rel=1e-3)
    assert "Not covered: when the writing after a text ends" in result["statement"]


def test_a_private_run_writes_nothing(tmp_path: Path) -> None:
    result = experiment().run(tmp_path / "run")
    assert result["methods"] == result["attacks"] == {}
    assert (result["draws"], result["written"]) == (1, 0)
    assert summarise(RunFolder.open(tmp_path / "run")).tables == []


def test_a_finished_run_writes_of_new_texts_and_pays(tmp_path: Path) -> None:
    path = tmp_path / "run"
    experiment().run(path)
    before, texts = read_ledger(path / "ledger.jsonl")[1], ["anna from graz had no pain", "ivo felt dizzy"]
    result = predict_split_writing(path, texts)
    assert [one["text"] for one in result["predictions"]] == texts
    added = [charge.event for charge in read_ledger(path / "ledger.jsonl")[1][len(before) :]]
    assert added[0] == before[0].event  # one draw on the new texts
    assert all(isinstance(event, GaussianRelease) and "wrote" in event.what for event in added[1:])
    assert 0 < result["written"] <= 2 * 3
    assert result["guarantees"]["token"]["epsilon"] == pytest.approx(
        epsilon([before[0].event] * (1 + result["written"]), delta=1e-5).value, rel=1e-3
    )
    with pytest.raises(ConfigError, match='of task = "split"'):
        predict_split(path, texts)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"privacy": {"noise": "d-chi"}}, "follows the text in leaps"),
        ({"methods": ["hidden-echo", "snd"]}, "cannot write"),
        ({"training": "accounted"}, "do not grow at a server that learns"),
        ({"data": {**SMALL["data"], "max_written": 1}}, r"data\.max_written"),
    ],
)
def test_options_that_do_not_go_together(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        experiment(**changes)


def test_texts_without_anything_to_write(tmp_path: Path) -> None:
    lines = tmp_path / "own.jsonl"
    lines.write_text("".join(f'{{"text": "text {n}", "label": "same"}}\n' for n in range(90)), encoding="utf-8")
    with pytest.raises(ConfigError, match="something to write"):
        experiment(data={**SMALL["data"], "texts": {"method": "jsonl", "path": str(lines)}}).run(tmp_path / "run")
    assert not (tmp_path / "run").exists()
