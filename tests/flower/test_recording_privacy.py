"""Guarantees for single recordings over Flower's nodes: who charges what and when, and what nodes refuse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from comparing import Watched, at_sites, charges, measured, settings_of, simulated, sites, small, topic_of
from flwr.app import Message

from sordino.errors import ConfigError, PrivacyError
from sordino.experiments.loading import load_experiment
from sordino.experiments.on_flower.app import open_site, serve
from sordino.experiments.on_flower.holding import Holding
from sordino.experiments.personalised import run_personalised
from sordino.experiments.personalised.equipment import Equipment
from sordino.experiments.personalised.speakers import Speaker
from sordino.federated import ClientFailed
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.methods.embedding_similarity import EmbeddingSimilarity
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.methods.fedper import FedPer
from sordino.federated.methods.fine_tuned import FedAvgFineTuned
from sordino.federated.methods.parameter_similarity import ParameterSimilarity
from sordino.flower import FlowerSettings
from sordino.privacy import NoiseSource, PoissonGaussian, guaranteed, read_ledger, statement_of_run
from sordino.privacy.noise import Stream
from sordino.seeds import Seeds

PRIVATE = (
    "recording_privacy.noise_multiplier=3",
    "recording_privacy.rate=0.5",
    "start.corpus.speakers=1",
    "privacy.population=3",
)
FRESH = "simulation.seeded=false"
STEP = PoissonGaussian(noise_multiplier=3.0, rate=0.5)


@dataclass
class Audited(Watched):
    """Keeps how much the server had charged, on disk, when a topic's first message left."""

    folder: Path = Path()
    charged: dict[str, int] = field(default_factory=dict)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        messages = list(messages)
        for topic in filter(None, map(topic_of, messages)):
            self.charged.setdefault(topic, len(charges(self.folder)))
        return super().push_messages(messages)


def on_disk(folder: Path) -> list[int]:
    """How many steps each node has charged."""
    return [len(read_ledger(path)[1]) for path in sorted((folder / "nodes").glob("*.jsonl"))]


def test_the_results_are_those_of_one_process_and_every_step_is_charged_twice_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = {"fedavg": FedAvg(), "fine-tuned": FedAvgFineTuned(epochs=1), "similarity": ParameterSimilarity()}
    options, tried, write = small(*PRIVATE, **methods), list[torch.Tensor](), Equipment.write

    def kept(self: Equipment, speaker: Speaker, values: torch.Tensor, **by: Any) -> Any:
        tried.append(values.clone())
        return write(self, speaker, values, **by)

    monkeypatch.setattr(Equipment, "write", kept)
    run_personalised(options, tmp_path / "here")
    settings = settings_of(options, tmp_path / "there")
    grid, stream, noised = Audited(simulated(settings).nodes, folder=tmp_path / "there"), NoiseSource.stream, [0]

    def watched(self: NoiseSource, *place: str | int) -> Stream:
        if place[:2] == ("noise", "training"):
            noised[0] += 1
            assert sum(on_disk(tmp_path / "there")) == noised[0], "a step is charged before its noise is drawn"
        return stream(self, *place)

    monkeypatch.setattr(NoiseSource, "stream", watched)
    serve(grid, settings)
    here, there = tried[:12], tried[12:]
    assert len(there) == 12, "the untouched start and three methods, for three speakers"
    assert all(map(torch.equal, here, there))
    assert len({model.sum().item() for model in here}) == 1 + 1 + 3 + 3
    assert measured(tmp_path / "there") == measured(tmp_path / "here")
    assert charges(tmp_path / "there") == charges(tmp_path / "here") == 3 * [(STEP, step) for step in (1, 2, 3, 4)]
    assert grid.charged == {"start-seed0": 0, "fedavg-seed0": 4, "fine-tuned-seed0": 8, "similarity-seed0": 12}
    assert on_disk(tmp_path / "there") == [12, 12, 12]
    assert noised == [36]
    paths = sorted((tmp_path / "there" / "nodes").iterdir())
    assert [path.name for path in paths] == [
        f"{part}-{name}.jsonl" for part, name in enumerate(measured(tmp_path / "there")["speakers"])
    ]
    node = statement_of_run(paths[0])
    assert "for each recording" in node.words
    assert "of the 12 steps" in node.words
    losses = [answer.content["said"]["loss"] for answer in grid.answered if "loss" in answer.content.get("said", {})]
    assert set(losses) == {0.0}, "a loss has no noise"


@pytest.mark.parametrize("fresh", [True, False])
def test_a_method_that_is_done_again_is_charged_again_unless_it_is_a_replay(fresh: bool, tmp_path: Path) -> None:
    options = small(*PRIVATE, *([FRESH] if fresh else []), "federated.passes=1", fedavg=FedAvg(), fedper=FedPer())
    settings = settings_of(options, tmp_path / "run")
    grid = Watched(simulated(settings).nodes, breaks_at="fedper-seed0")
    with pytest.raises(KeyboardInterrupt):
        serve(grid, settings)
    assert (len(charges(tmp_path / "run")), on_disk(tmp_path / "run")) == (4, [2, 2, 2])
    settings = replace(settings, resume=True)
    serve(simulated(settings), settings)
    assert len(charges(tmp_path / "run")) == (6 if fresh else 4)
    assert on_disk(tmp_path / "run") == [4, 4, 4]
    assert f"of the {6 if fresh else 4} steps" in measured(tmp_path / "run")["statement"]


def test_a_sites_ledger_lasts_over_runs_and_holds_its_operators_limit(tmp_path: Path) -> None:
    configs, _ = sites(tmp_path)
    config = {**configs[0], "ledger": str(tmp_path / "own.jsonl")}
    options = small(*PRIVATE, FRESH, "federated.passes=1", fedavg=FedAvg())
    settings = settings_of(options, tmp_path / "first", own_recordings=True)
    serve(at_sites(settings, config), settings)
    words = measured(tmp_path / "first")["statement"]
    assert "of the 2 steps" in words
    assert "a recording that lies at several nodes counts once" in words
    assert "a person whose recordings lie at several nodes" not in words
    assert [charge.event for charge in read_ledger(tmp_path / "own.jsonl")[1]] == [STEP] * 2

    weaker = replace(STEP, noise_multiplier=2.0)
    three = guaranteed([STEP] * 2 + [weaker] * 3, delta=1e-3).value
    assert three is not None
    config |= {"epsilon": three, "delta": 1e-3}
    options = small(*PRIVATE, FRESH, "recording_privacy.noise_multiplier=2", tuned=FedAvgFineTuned(epochs=1))
    settings = settings_of(options, tmp_path / "second", own_recordings=True)
    with pytest.raises(
        ClientFailed, match=r"speakers did not try .* such as 'node-40' \(another step would bring the node"
    ):
        serve(at_sites(settings, config), settings)
    terms, taken = read_ledger(tmp_path / "own.jsonl")
    assert [charge.event for charge in taken] == [STEP] * 2 + [weaker] * 3, "the round, and one step of the last model"
    assert (terms.unit, terms.seeded, terms.budget) == ("recording", False, None)
    assert len(charges(tmp_path / "second")) == 4, "the server cannot see where a node stops"


@pytest.mark.parametrize(
    ("changes", "config", "words"),
    [
        ((*PRIVATE, FRESH), {}, 'this node keeps no ledger: .* ledger="/path/to/node.jsonl"'),
        ((FRESH,), {"ledger": 8}, "ledger = 8 .*: expected the path of a file"),
        ((*PRIVATE, FRESH), {"ledger": "absent/own.jsonl"}, r"cannot be written \(No such file or directory\)"),
        (PRIVATE, {"ledger": "own.jsonl"}, "set simulation.seeded = false"),
        ((FRESH,), {"ledger": "own.jsonl"}, "the run's steps have no noise"),
        ((*PRIVATE, FRESH), {"ledger": "own.jsonl", "epsilon": 8.0}, "has epsilon: expected ledger, epsilon and delta"),
        ((*PRIVATE, FRESH), {"epsilon": 8.0, "delta": 1e-5}, "has epsilon and delta: expected ledger"),
        ((*PRIVATE, FRESH), {"ledger": "own.jsonl", "epsilon": "8", "delta": 1e-5}, "epsilon = '8': expected a finite"),
        ((*PRIVATE, FRESH), {"ledger": "own.jsonl", "epsilon": 8, "delta": 0.5}, r"0.5 is not below 1 / \d"),
    ],
)
def test_a_node_that_could_not_keep_its_book_takes_no_part(
    changes: tuple[str, ...], config: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_of(small(*changes), tmp_path / "run", own_recordings=True)
    with pytest.raises(ConfigError, match=words) as refused:
        open_site(settings, {**sites(tmp_path)[0][0], **config})
    assert str(tmp_path) not in str(refused.value), "where a node keeps what is nobody else's business"


def test_the_server_is_told_before_anything_is_made(tmp_path: Path) -> None:
    settings = settings_of(small(*PRIVATE, FRESH, "privacy.population=1"), tmp_path / "run", own_recordings=True)
    with pytest.raises(ClientFailed, match="no node can take part: this node keeps no ledger"):
        serve(at_sites(settings, sites(tmp_path)[0][0]), settings)
    assert not (tmp_path / "run").exists()


def test_a_speech_llm_is_refused_by_a_node_that_charges_every_step(tmp_path: Path) -> None:
    config = {"manifest": str(tmp_path / "m.jsonl"), "ledger": str(tmp_path / "own.jsonl")}
    settings = settings_of(load_experiment(None, []), tmp_path / "run", own_recordings=True)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="the run's steps have no noise"):
        open_site(settings, config)


def test_a_message_cannot_have_a_node_train_without_noise_nor_embed(tmp_path: Path) -> None:
    options = small(*PRIVATE, similarity=ParameterSimilarity(), asks=EmbeddingSimilarity())
    settings, dealt = settings_of(options, tmp_path), {"partition-id": 0, "num-partitions": 3}
    for topic in ("", "start-seed0"):
        assert open_site(settings, dealt, topic).learner.clients == {}
    with pytest.raises(ConfigError, match=r"methods.asks asks each client for its embedding"):
        open_site(settings, dealt, "asks-seed0")
    learner = open_site(settings, dealt, "similarity-seed0").learner
    assert isinstance(learner, CtcLearner)
    (client,) = learner.clients
    with pytest.raises(PrivacyError, match="an embedding is outside the steps"):
        learner.embed(client, learner.recogniser.flat.snapshot(), fraction=1.0, seeds=Seeds(0))


def test_names_that_are_alike_in_letters_have_books_of_their_own(tmp_path: Path) -> None:
    settings = FlowerSettings(experiment="", out=str(tmp_path))
    names = ["a b", "a/b", "../b", "", "\ud800", "long" * 100]
    parts = [Holding.of(settings, {"partition-id": part, "num-partitions": len(names)}) for part in range(len(names))]
    paths = [part.ledger_of(name) for part, name in zip(parts, names, strict=True)]
    assert len({str(path) for path in paths}) == len(names)
    for path in paths:
        assert path.parent == tmp_path / "nodes"
        path.parent.mkdir(exist_ok=True)
        path.touch()
