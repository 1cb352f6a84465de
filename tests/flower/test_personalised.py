"""Comparisons of personal recognisers over Flower's nodes: the results of one process, and nothing else leaves a node."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from comparing import Watched, at_sites, charges, kind_of, measured, settings_of, simulated, sites, small, topic_of
from fake import FakeGrid
from flwr.app import MessageType

from sordino.errors import ConfigError
from sordino.experiments.on_flower.app import serve
from sordino.experiments.personalised import run_personalised
from sordino.federated import ClientFailed
from sordino.federated.methods.ditto import Ditto
from sordino.federated.methods.embedding_similarity import EmbeddingSimilarity
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.methods.fedper import FedPer
from sordino.federated.methods.fine_tuned import FedAvgFineTuned
from sordino.federated.methods.local import LocalOnly
from sordino.federated.methods.parameter_similarity import ParameterSimilarity
from sordino.records import RunFolder

METHODS = {
    "fedavg": FedAvg(),
    "fine-tuned": FedAvgFineTuned(epochs=1),
    "fedper": FedPer(),
    "ditto": Ditto(),
    "similarity": ParameterSimilarity(temperature=0.1, centred=True),
    "embedding": EmbeddingSimilarity(temperature=0.1, centred=True),
}


def test_the_results_are_those_of_one_process(tmp_path: Path) -> None:
    options = small("seeds=[0, 3]", "federated.cohort.method=poisson", "federated.cohort.rate=0.8", **METHODS)
    run_personalised(options, tmp_path / "here")
    settings = settings_of(options, tmp_path / "there")
    serve(simulated(settings), settings)
    assert measured(tmp_path / "there") == measured(tmp_path / "here")
    assert charges(tmp_path / "there") == charges(tmp_path / "here")
    assert (tmp_path / "there" / "report.html").is_file()
    here, there = (
        [
            [line["slots"] for line in RunFolder(folder).read_lines(folder / "methods" / f"{name}-seed{seed}.jsonl")]
            for name in ("start", *METHODS)
            for seed in (0, 3)
        ]
        for folder in (tmp_path / "here", tmp_path / "there")
    )
    assert there == here
    assert len({str(marks) for marks in there}) > len(METHODS)  # seeds and methods differ


def test_no_text_no_name_and_no_model_leaves_a_node(tmp_path: Path) -> None:
    options = small("federated.passes=1", local=LocalOnly())
    settings = settings_of(options, tmp_path / "run")
    grid = Watched(simulated(settings).nodes)
    serve(grid, settings)
    words = set(options.model.vocabulary) | set(measured(tmp_path / "run")["speakers"])
    for answer in grid.answered:
        kind, arrays = kind_of(answer), answer.content.array_records
        if kind != MessageType.EVALUATE:
            assert all(array.numpy().size == 0 for record in arrays.values() for array in record.values())
            continue
        assert not arrays
        said = answer.content["said"]
        assert sorted(said) == ["cpu_s", "development", "test", "work"]
        assert not any(word in str(dict(said)) for word in words)
    assert not (tmp_path / "run" / "transcripts").exists()


def test_sites_with_a_speaker_each_are_known_by_their_nodes(tmp_path: Path) -> None:
    configs, voices = sites(tmp_path)
    options = small(
        "federated.passes=1", "start.corpus.speakers=1", "privacy.population=3", "privacy.mechanism=gaussian",
        "privacy.noise_multiplier=1", "privacy.delta=1e-2", fedavg=FedAvg(), fedper=FedPer(),
    )  # fmt: skip
    settings = settings_of(options, tmp_path / "run", own_recordings=True, nodes=3)
    grid = at_sites(settings, *configs)
    serve(grid, settings)
    result = measured(tmp_path / "run")
    assert result["speakers"] == {"node-40": "mild", "node-41": "moderate", "node-42": "severe"}
    assert "cannot see" in result["statement"]
    assert "every speaker's errors" in result["statement"]
    assert result["methods"]["fedper"]["passes"] == 1
    assert result["methods"]["fedavg"]["epsilon"] > 0
    kept = [path.read_text(encoding="utf-8") for path in (tmp_path / "run").rglob("*.json*")]
    assert not any(voice in text for voice in voices for text in kept)
    others = FakeGrid({node + 10: answers for node, answers in grid.nodes.items()})
    with pytest.raises(ConfigError, match="3 speakers, 0 of whom are among the 3"):
        serve(others, replace(settings, resume=True))


def test_a_method_that_was_interrupted_starts_anew_and_the_others_are_kept(tmp_path: Path) -> None:
    options = small(fedavg=FedAvg(), ditto=Ditto(), fedper=FedPer())
    run_personalised(options, tmp_path / "whole")
    settings = settings_of(options, tmp_path / "run")
    grid = Watched(simulated(settings).nodes, breaks_at="fedper-seed0")
    with pytest.raises(KeyboardInterrupt):
        serve(grid, settings)
    again = Watched(simulated(settings).nodes)
    serve(again, replace(settings, resume=True))
    assert {topic_of(message) for message in again.sent} == {"", "fedper-seed0"}
    assert measured(tmp_path / "run") == measured(tmp_path / "whole")


def test_a_speaker_who_does_not_answer_ends_the_method_and_not_the_run(tmp_path: Path) -> None:
    options = small("federated.passes=1")
    settings = settings_of(options, tmp_path / "run", timeout_s=0.5)
    grid = Watched(simulated(settings).nodes, silent=999)
    with pytest.raises(ClientFailed, match=r"1 of 3 speakers did not try their models of start-seed0.*--resume"):
        serve(grid, settings)
    settings = replace(settings, resume=True, timeout_s=60)
    serve(simulated(settings), settings)
    assert "fedper" in measured(tmp_path / "run")["methods"]


@pytest.mark.parametrize(
    ("changes", "arrangement", "words"),
    [
        (['evaluation.references=["start", "central"]'], {}, r"evaluation.references = .* pools"),
        (["data.new_speakers=1"], {}, r"data.new_speakers = 1 on Flower"),
        ([], {"draw_at_nodes": True, "own_recordings": True}, "leave --draw-at-nodes out"),
        ([], {"own_recordings": True}, "privacy.population is missing"),
        (["privacy.population=3", "data.least_fraction=0.5"], {"own_recordings": True}, "set data.least_fraction = 1"),
    ],
)
def test_what_does_not_run_there_is_refused_before_anything_is_made(
    changes: list[str], arrangement: dict[str, Any], words: str, tmp_path: Path
) -> None:
    settings = settings_of(small(*changes), tmp_path / "run", **arrangement)
    with pytest.raises(ConfigError, match=words):
        serve(FakeGrid({}), settings)
    assert not (tmp_path / "run").exists()


def test_nodes_that_hold_several_speakers_are_refused(tmp_path: Path) -> None:
    settings = settings_of(small("start.corpus.speakers=1"), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"node-0 holds 2 speakers: expected 1.*set --nodes 3"):
        serve(simulated(settings, 2), settings)
    both = tmp_path / "both.jsonl"
    configs, _ = sites(tmp_path)
    both.write_text("".join(Path(config["manifest"]).read_text() for config in configs), encoding="utf-8")
    options = small("privacy.population=3", "data.held_out=0.3")
    settings = settings_of(options, tmp_path / "run", own_recordings=True)
    with pytest.raises(ConfigError, match=r"node-40 holds 3 speakers: expected 1.*a SuperNode for each speaker"):
        serve(at_sites(settings, {"manifest": str(both)}), settings)
    assert not (tmp_path / "run").exists()


def test_a_site_without_anything_to_test_on_is_told(tmp_path: Path) -> None:
    configs, _ = sites(tmp_path)
    settings = settings_of(small("privacy.population=3"), tmp_path / "run", own_recordings=True)
    with pytest.raises(ClientFailed, match="name test beside manifest"):
        serve(at_sites(settings, {"manifest": configs[0]["manifest"]}), settings)
