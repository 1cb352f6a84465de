"""Trials on the wire: counts come through whole, whatever else comes is one kind of error, and topics share no memory."""

from __future__ import annotations

import json
from typing import Any

import fake
import pytest
import torch
from flwr.app import ConfigRecord, RecordDict
from toy import ToyLearner

from sordino.errors import ConfigError, PrivacyError
from sordino.evaluation import Mark, Sample, mark
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.work import Work
from sordino.flower import Site
from sordino.flower.context_memory import ContextMemory
from sordino.flower.records import encode_values
from sordino.flower.trials import Trial, Tried, decode_trial, decode_tried, encode_trial, encode_tried
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds


def marked(key: str, hypothesis: str) -> Mark:
    return mark(Sample(key=key, speaker="Ann Smith", reference="one two three", hypothesis=hypothesis))


TRIED = Tried(
    test=[marked("recordings/ann-1.wav", "one too three four"), marked("recordings/ann-2.wav", "")],
    development=[marked("recordings/ann-3.wav", "one two three")],
    work=Work(3, 12, 4, 0.5),
)


def test_a_trial_arrives_as_it_was_sent() -> None:
    trial = Trial(
        client="c",
        given=torch.tensor([0.5, -2.0]),
        seeds=Seeds(3).at("training", "c"),
        moment=(4, 0),
        topic="fedper-seed3",
    )
    arrived = decode_trial(fake.carried(encode_trial(trial, encode_values(trial.given))))
    assert torch.equal(arrived.given, trial.given)
    assert (arrived.client, arrived.seeds, arrived.moment, arrived.topic) == ("c", trial.seeds, (4, 0), "fedper-seed3")


def test_counts_arrive_and_names_stay() -> None:
    records = fake.carried(encode_tried(TRIED))
    assert "nn" not in str(dict(records["said"]))
    arrived = decode_tried(records, client="node-7")
    assert arrived.work == TRIED.work
    assert [one.key for one in arrived.test] == ["node-7: 0", "node-7: 1"]
    assert {one.speaker for one in (*arrived.test, *arrived.development)} == {"node-7"}
    for part in ("test", "development"):
        for there, here in zip(getattr(arrived, part), getattr(TRIED, part), strict=True):
            assert (there.slots, there.words, there.characters) == (here.slots, here.words, here.characters)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("test", "[]"),
        ("test", "one"),
        ("test", json.dumps([[[0, 1, 0], [1, 0, 0, 2], [1, 0, 0, 3]]])),  # more words than slots
        ("test", json.dumps([[[0, 2, 0], [1, 0, 0, 1], [1, 0, 0, 3]]])),  # more errors than are told
        ("test", json.dumps([[[0, -1, 2], [1, 0, 0, 1], [1, 0, 0, 3]]])),
        ("test", json.dumps([[[0, 1.0, 0], [1, 0, 0, 1], [1, 0, 0, 3]]])),
        ("test", json.dumps([[[0, 1, 0], [1, 0, 0, 1]]])),
        ("development", 7),
        ("work", [1, 2]),
        ("work", [1, 2, -3]),
        ("cpu_s", float("inf")),
    ],
)
def test_what_is_no_count_is_refused(name: str, value: Any) -> None:
    said = {**dict(encode_tried(TRIED)["said"]), name: value}
    with pytest.raises(PrivacyError, match="not one of ours"):
        decode_tried(RecordDict({"said": ConfigRecord(said)}), client="node-7")


def test_a_topic_knows_nothing_of_another_and_ends_it() -> None:
    state, start = RecordDict(), torch.zeros(2)
    first = ContextMemory.about("fedper-seed0", state)
    first.of("a", (1, 0)).keep(head=torch.ones(2))
    state = fake.carried(state)
    assert ContextMemory.about("fedper-seed0", state).of("a", (2, 0)).recall("head", start).tolist() == [1, 1]
    second = ContextMemory.about("fedrep-seed0", state)
    assert second.of("a", (2, 0)).recall("head", start).tolist() == [0, 0]
    assert not state
    second.of("a", (1, 0)).keep(head=torch.ones(2))
    assert len(state) == 2


def test_an_experiment_without_trials_says_so() -> None:
    learner = ToyLearner({"a": torch.zeros(2)})
    site = Site(learner=learner, method=FedAvg(), clients=("a",), noise=NoiseSource())
    trial = Trial(client="c", given=torch.zeros(2), seeds=Seeds(0), moment=(1, 0))
    with pytest.raises(ConfigError, match="no personal models to try"):
        site.try_model(trial)
