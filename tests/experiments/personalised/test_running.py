"""The whole experiment, small: what it measures, what it keeps, what it says about privacy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sordino.errors import ConfigError
from sordino.experiments.personalised import run_personalised
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated.methods.embedding_similarity import EmbeddingSimilarity
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.methods.fedper import FedPer
from sordino.federated.methods.local import LocalOnly
from sordino.federated.methods.parameter_similarity import ParameterSimilarity
from sordino.privacy import PoissonGaussian, read_ledger
from sordino.records import RunFolder
from sordino.reporting.summaries import summarise

Small = Callable[..., PersonalisedExperiment]


@pytest.fixture(scope="module")
def done(small: Small, tmp_path_factory: pytest.TempPathFactory) -> tuple[PersonalisedExperiment, Path, dict[str, Any]]:
    options, path = small("simulation.seeded=true"), tmp_path_factory.mktemp("runs") / "run"
    return options, path, run_personalised(options, path)


def test_every_method_is_measured_on_the_same_utterances(
    done: tuple[PersonalisedExperiment, Path, dict[str, Any]],
) -> None:
    options, path, result = done
    assert list(result["methods"]) == ["start", "central", *options.methods]
    assert result["task"] == "personalised"
    for name, row in result["methods"].items():
        lines = RunFolder.open(path).read_lines(path / "transcripts" / f"{name}-seed0.jsonl")
        assert [line["key"] for line in lines] == [
            line["key"] for line in RunFolder.open(path).read_lines(path / "transcripts" / "start-seed0.jsonl")
        ]
        assert list(row["by_group"]) == ["mild", "moderate", "severe"]
        assert set(row["by_speaker"]) == set(result["speakers"])
        assert row["worst_speaker"]["wer"] == max(row["by_speaker"].values())
        assert row["development_wer"] is not None
    assert result["tests"]["baseline"] == "fedavg"
    assert not result["tests"]["sign_flip_can_reject"]  # three speakers never can
    assert result["best_on_development"] in options.methods


def test_nobody_may_spend_more_than_the_others(done: tuple[PersonalisedExperiment, Path, dict[str, Any]]) -> None:
    rows = done[2]["methods"]
    assert {name: row["rounds"] for name, row in rows.items() if row["method"]} == {
        "fedavg": 3, "local": 3, "fine-tuned": 1, "fedper": 3, "ditto": 1, "similarity": 1, "uniform": 1,
    }  # fmt: skip
    assert all(row["passes"] <= 3 for row in rows.values())
    assert {row["examples"] for name, row in rows.items() if name in ("fedavg", "local", "central", "fedper")} == {
        3 * 3 * 4
    }
    assert rows["local"]["bytes_up"] == rows["start"]["bytes_up"] == 0
    model = rows["fedavg"]["bytes_up"] / (3 * 3)  # three clients, three rounds
    assert 0 < rows["fedper"]["bytes_up"] / (3 * 3) < model
    assert rows["similarity"]["bytes_up"] / 3 == model  # both parts, one round
    assert rows["similarity"]["heard"] > 0 == rows["fedavg"]["heard"]


def test_without_privacy_the_statement_says_so(done: tuple[PersonalisedExperiment, Path, dict[str, Any]]) -> None:
    _, path, result = done
    assert "No privacy guarantee" in result["statement"]
    assert result["epsilon"]["pld"] is None
    assert all(row["epsilon"] is None for row in result["methods"].values())
    charges = read_ledger(path / "ledger.jsonl")[1]
    assert len(charges) == 1 + sum(row["rounds"] for name, row in result["methods"].items() if name != "local")
    assert json.loads((path / "privacy.json").read_text(encoding="utf-8"))["words"] == result["statement"]


def test_an_interrupted_run_does_the_rest_alike_and_counts_once(
    done: tuple[PersonalisedExperiment, Path, dict[str, Any]],
) -> None:
    options, path, result = done
    charged = (path / "ledger.jsonl").read_bytes()
    for name in ("uniform", "similarity"):
        (path / "methods" / f"{name}-seed0.json").unlink()
    (path / "result.json").unlink()
    again = run_personalised(options, path, resume=True)
    for name, row in again["methods"].items():
        assert {**row, "cpu_s": 0} == {**result["methods"][name], "cpu_s": 0}
    assert (path / "ledger.jsonl").read_bytes() == charged
    assert summarise(RunFolder.open(path)).tables


def test_the_summary_shows_every_method_and_who_gained(
    done: tuple[PersonalisedExperiment, Path, dict[str, Any]],
) -> None:
    options, path, _ = done
    summary = summarise(RunFolder.open(path))
    rates, differences, costs = summary.tables
    assert len(rates.rows) == len(costs.rows) == len(options.methods) + 2
    assert len(differences.rows) == len(options.methods) + 1
    assert [plate.name for plate in summary.plates] == ["gains-by-speaker"]
    assert "<svg" in summary.plates[0].inline()
    assert any("none can reject" in sentence for sentence in summary.sentences)


def test_who_never_trained_gets_a_model_by_each_methods_rule(small: Small, tmp_path: Path) -> None:
    options = small(
        "data.new_speakers=1", "data.new_utterances=2", "federated.passes=2", "simulation.seeded=true",
        "start.corpus.speakers=1", 'evaluation.references=["start", "sd-adapters"]', "evaluation.adapter_width=4",
    )  # fmt: skip
    methods = {"fedavg": FedAvg(), "fedper": FedPer(), "embedding": EmbeddingSimilarity()}
    options = replace(options, methods=methods)
    path = tmp_path / "run"
    result = run_personalised(options, path)
    ((name, group),) = result["new_speakers"].items()
    assert len(result["speakers"]) == 2
    assert name not in result["speakers"]
    for row in result["methods"].values():
        new = row["new_speakers"]
        assert list(new["by_speaker"]) == [name]
        assert list(new["by_group"]) == [group]
        assert new["wer"] == new["by_speaker"][name]
        assert name not in row["by_speaker"]
    took = {name: row["new_speakers"]["passes"] for name, row in result["methods"].items()}
    assert took == {"start": 0, "sd-adapters": 1, "fedavg": 0, "fedper": 2, "embedding": 0}
    assert result["methods"]["fedavg"]["examples"] == 2 * 2 * 4  # of those who train, and nobody else
    lines = RunFolder.open(path).read_lines(path / "transcripts" / "fedper-seed0-new.jsonl")
    assert {line["speaker"] for line in lines} == {name}
    table = summarise(RunFolder.open(path)).tables[1]
    assert [row[0].text for row in table.rows] == [
        "start, untouched", "sd-adapters: pooled, then each speaker's adapters", *methods,
    ]  # fmt: skip
    assert result["methods"]["sd-adapters"]["passes"] == 2
    assert "2 utterances of their own at most" in table.note
    (path / "result.json").unlink()
    assert run_personalised(options, path, resume=True)["methods"]["fedper"] == result["methods"]["fedper"]


def test_noise_at_the_clients_is_charged_by_method_and_together(small: Small, tmp_path: Path) -> None:
    options = small(
        "privacy.mechanism=gaussian", "privacy.noised_by=clients", "privacy.noise_multiplier=4", "privacy.delta=1e-3",
        'evaluation.references=["start"]', "federated.passes=2", "start.corpus.speakers=1",
    )  # fmt: skip
    options = replace(options, methods={"similarity": ParameterSimilarity(), "fedavg": FedAvg(), "local": LocalOnly()})
    result = run_personalised(options, tmp_path / "run")
    alone = {name: result["methods"][name]["epsilon"] for name in options.methods}
    assert alone["local"] == 0
    assert 0 < alone["similarity"] < alone["fedavg"]  # one round against two
    assert result["epsilon"]["pld"] > alone["fedavg"]  # everybody took part in both
    assert "every speaker's errors" in result["statement"]


def test_noise_of_the_server_is_refused_where_single_updates_are_read(small: Small, tmp_path: Path) -> None:
    options = small("privacy.mechanism=gaussian", "privacy.noise_multiplier=1", 'evaluation.references=["start"]')
    options = replace(options, methods={"fedavg": FedAvg(), "similarity": ParameterSimilarity()})
    with pytest.raises(ConfigError, match=r'privacy.noised_by = "clients"'):
        run_personalised(options, tmp_path / "run")
    assert not (tmp_path / "run").exists()  # no method has trained before another is found not to fit
    result = run_personalised(replace(options, methods={"fedper": FedPer()}), tmp_path / "other")
    assert result["methods"]["fedper"]["epsilon"] > 0


def test_recordings_are_hidden_by_noise_in_each_clients_training(small: Small, tmp_path: Path) -> None:
    options = small(
        "recording_privacy.noise_multiplier=3", "recording_privacy.rate=0.5", 'evaluation.references=["start"]',
        "federated.passes=2", "start.corpus.speakers=1", "simulation.workers=2",
    )  # fmt: skip
    options = replace(options, methods={"fedavg": FedAvg(), "similarity": ParameterSimilarity()})
    result = run_personalised(options, tmp_path / "run")
    terms, charges = read_ledger(tmp_path / "run" / "ledger.jsonl")
    assert (terms.unit, terms.population, terms.seeded) == ("recording", 3 * 4, False)
    assert {charge.event for charge in charges} == {PoissonGaussian(noise_multiplier=3.0, rate=0.5)}
    assert len(charges) == 2 * 2 * 2  # two methods, two passes of two steps, whichever client took them
    alone = {name: row["epsilon"] for name, row in result["methods"].items()}
    assert 0 < alone["fedavg"] == alone["similarity"] < result["epsilon"]["pld"]
    assert "for each recording: with one recording added or left out" in result["statement"]
    assert "Not covered: a speaker as a whole" in result["statement"]
    refused = replace(options, methods={"asks": EmbeddingSimilarity()})
    with pytest.raises(ConfigError, match=r"methods.asks asks each client for its embedding"):
        run_personalised(refused, tmp_path / "refused")


def test_a_budget_for_recordings_decides_the_noise(small: Small, tmp_path: Path) -> None:
    options = small(
        "recording_privacy.epsilon=2",
        'evaluation.references=["start"]',
        "federated.passes=1",
        "start.corpus.speakers=1",
    )
    result = run_personalised(replace(options, methods={"fedavg": FedAvg()}), tmp_path / "run")
    assert 1.9 < result["methods"]["fedavg"]["epsilon"] == result["epsilon"]["pld"] <= 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["recording_privacy.epsilon=2"], "evaluation.references"),
        (
            ["recording_privacy.epsilon=2", "privacy.mechanism=gaussian", "privacy.epsilon=8"],
            "recordings or one for speakers",
        ),
        (["recording_privacy.rate=0.5"], "recording_privacy.epsilon = None"),
    ],
)
def test_two_guarantees_at_once_are_refused(small: Small, changes: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        small(*changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("telemetry=private", 'set telemetry = "debug"'),
        ("methods.start=fedavg", "methods.start"),
        ('evaluation.references=["best"]', "evaluation.references"),
        ("evaluation.baseline=nothing", "evaluation.baseline"),
        ("data.development=1", "data.development"),
        ("federated.passes=0", "federated.passes"),
        ("methods.fedavg=fedavgg", "did you mean 'fedavg'"),
        (
            "methods.similarity.temperature=0",
            r"^methods.similarity.temperature = 0.0: .*; set methods.similarity.temperature to such a number",
        ),
        ("start.local.lr=-1", "^start.local.lr = -1.0: .*; set start.local.lr to such a number"),
        ("start.corpus.speakers=0", "^start.corpus.speakers = 0: .*; raise start.corpus.speakers"),
    ],
)
def test_mistakes_are_refused_before_anything_is_made(small: Small, change: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        small(change)


def test_what_fits_no_model_is_told_of_the_key_in_the_file(small: Small, tmp_path: Path) -> None:
    options = small(
        "methods.mine.method=fedper", "methods.mine.personal_components=['decoder']", "start.corpus.speakers=1"
    )
    with pytest.raises(ConfigError, match=r"^methods.mine.personal_components = 'decoder' is not known"):
        run_personalised(replace(options, methods={"mine": options.methods["mine"]}), tmp_path / "run")


def test_passes_that_pay_for_no_round_are_refused(small: Small, tmp_path: Path) -> None:
    options = small("federated.passes=1", "start.corpus.speakers=1")
    with pytest.raises(ConfigError, match=r"federated.passes = 1: methods.similarity takes 2 a round"):
        run_personalised(replace(options, methods={"similarity": ParameterSimilarity()}), tmp_path / "run")
