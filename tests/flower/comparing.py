"""Small comparisons of personal recognisers, run in one process or on a fake grid."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fake import FakeGrid, Node, serving
from flwr.app import Message, MessageType

from sordino.config import to_toml
from sordino.data import write_manifest
from sordino.experiments.loading import load_experiment
from sordino.experiments.on_flower.app import open_site
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated.methods.fedper import FedPer
from sordino.flower import FlowerSettings
from sordino.privacy import read_ledger

EXAMPLE = Path(__file__).parents[2] / "examples" / "personalised.toml"
SMALL = (
    "data.corpus.speakers=1", "data.corpus.utterances_per_speaker=6", "data.corpus.test_utterances_per_speaker=3",
    "start.corpus.speakers=2", "start.corpus.utterances_per_speaker=6", "start.local.epochs=1", "federated.passes=2",
    "simulation.workers=1", "simulation.seeded=true", "model.layers=2", 'evaluation.references=["start"]',
)  # fmt: skip


def small(*overrides: str, **methods: Any) -> PersonalisedExperiment:
    options = load_experiment(EXAMPLE, [*SMALL, *overrides])
    assert isinstance(options, PersonalisedExperiment)
    return replace(options, methods=methods or {"fedper": FedPer()})


def settings_of(options: PersonalisedExperiment, out: Path, **changes: Any) -> FlowerSettings:
    return replace(FlowerSettings(experiment=to_toml(options), out=str(out), wait_s=1, timeout_s=60), **changes)


def simulated(settings: FlowerSettings, nodes: int = 3) -> FakeGrid:
    def node(part: int) -> Node:
        return serving(open_site, run_config=asdict(settings), **{"partition-id": part, "num-partitions": nodes})

    return FakeGrid({1000 - part: node(part) for part in range(nodes)})


def at_sites(settings: FlowerSettings, *configs: dict[str, str]) -> FakeGrid:
    return FakeGrid(
        {40 + i: serving(open_site, run_config=asdict(settings), **config) for i, config in enumerate(configs)}
    )


@dataclass
class Watched(FakeGrid):
    """Keeps what it was answered; one node never tries its model, or the server goes down when a topic is to begin."""

    silent: int = 0
    breaks_at: str = ""
    answered: list[Message] = field(default_factory=list)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        messages = list(messages)
        if self.breaks_at and topic_of(messages[0]) == self.breaks_at:
            raise KeyboardInterrupt
        lost = (MessageType.EVALUATE, self.silent)
        return super().push_messages(one for one in messages if (kind_of(one), one.metadata.dst_node_id) != lost)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        answers = list(super().pull_messages(message_ids))
        self.answered += answers
        return answers


def kind_of(message: Message) -> str:
    return str(message.metadata.message_type)


def topic_of(message: Message) -> str:
    return str(message.content["said"]["topic"]) if "said" in message.content else ""


def measured(folder: Path) -> dict[str, Any]:
    """The result without what differs between any two runs of one experiment."""
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    rows = {name: {**row, "cpu_s": None} for name, row in result["methods"].items()}
    return {**result, "methods": rows, "run": None, "seconds": None}


def charges(folder: Path) -> list[tuple[Any, int]]:
    return [(charge.event, charge.round) for charge in read_ledger(folder / "ledger.jsonl")[1]]


def sites(folder: Path) -> tuple[list[dict[str, str]], list[str]]:
    """Node configs of a speaker each, by severity, and how the speakers are called."""
    splits = small().data.corpus.load(4.0)
    voices = sorted({utterance.speaker for utterance in splits.train})
    configs = []
    for voice in voices:
        config = {name: str(folder / f"{voice}-{name}.jsonl") for name in ("manifest", "test")}
        for name, utterances in (("manifest", splits.train), ("test", splits.test)):
            write_manifest(Path(config[name]), [one for one in utterances if one.speaker == voice])
        configs.append(config)
    return configs, voices
