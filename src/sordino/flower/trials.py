"""Trials: where a method ends, each client's own model is made and tried at its node, which answers with counts alone.

| message | holds |
|---|---|
| trial | topic, what the client's model is to be made from, random streams |
| tried | for each held-out utterance how many words and characters there are, and where words are wrong; the work |

No text, no audio and no model is in an answer, and an utterance is known to the server by its number only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from flwr.app import ArrayRecord, RecordDict

from sordino.evaluation import Errors, Mark
from sordino.federated.memory import Moment
from sordino.federated.work import Work
from sordino.flower.codec import encode_seeds, encode_work, seeds_in, work_in
from sordino.flower.records import as_records, checked, said_in, typed, vector_in
from sordino.seeds import Seeds

__all__ = ["Trial", "Tried", "decode_trial", "decode_tried", "encode_trial", "encode_tried"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one client is to make its own model from, and to try that on its held-out utterances.

    Attributes:
        client: its id.
        given: by `FederatedMethod.parting`, float32 [layout.size].
        seeds: of what makes the model.
        moment: one after the last round.
        topic: the part of the experiment that this belongs to; empty where it has only one.
    """

    client: str
    given: torch.Tensor
    seeds: Seeds
    moment: Moment
    topic: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of it.

    Attributes:
        test: errors in the client's test utterances.
        development: errors in those that options may be chosen by.
        work: what it took to make the model.
    """

    test: Sequence[Mark]
    development: Sequence[Mark]
    work: Work


def encode_trial(trial: Trial, given: ArrayRecord) -> RecordDict:
    """A trial; ``given`` is ``encode_values(trial.given)``, made once for all who are given the same."""
    said = {
        "topic": trial.topic,
        "client": trial.client,
        "size": trial.given.numel(),
        "seeds": encode_seeds(trial.seeds),
        "moment": list(trial.moment),
    }
    return as_records(said, given)


def decode_trial(records: RecordDict) -> Trial:
    """What `encode_trial` made, or `PrivacyError`."""
    return checked(lambda: _trial(records))


def encode_tried(tried: Tried) -> RecordDict:
    """An answer. Keys and speakers of the marks stay where they are."""
    parts = {"test": tried.test, "development": tried.development}
    counts = {name: json.dumps([_counts(mark) for mark in marks]) for name, marks in parts.items()}
    return as_records({**counts, **encode_work(tried.work)})


def decode_tried(records: RecordDict, *, client: str) -> Tried:
    """What `encode_tried` made, or `PrivacyError`; utterances are numbered.

    Args:
        records: what came.
        client: who answers; the marks bear its name.
    """
    return checked(lambda: _tried(records, client))


def _trial(records: RecordDict) -> Trial:
    said = said_in(records)
    turn, place = said["moment"]
    return Trial(
        client=typed(said["client"], str),
        given=vector_in(records, typed(said["size"], int)),
        seeds=seeds_in(said),
        moment=(typed(turn, int), typed(place, int)),
        topic=typed(said["topic"], str),
    )


def _counts(mark: Mark) -> list[list[int]]:
    errors = ([one.substitutions, one.deletions, one.insertions, one.words] for one in (mark.words, mark.characters))
    return [list(mark.slots), *errors]


def _tried(records: RecordDict, client: str) -> Tried:
    said = said_in(records)
    test, development = (
        [_mark(counts, client, index) for index, counts in enumerate(json.loads(typed(said[part], str)))]
        for part in ("test", "development")
    )
    if not test:
        raise ValueError("no test utterance")
    return Tried(test=test, development=development, work=work_in(said))


def _mark(counts: Any, client: str, index: int) -> Mark:
    slots, words, characters = ([_count(value) for value in some] for some in counts)
    mark = Mark(
        key=f"{client}: {index}",
        speaker=client,
        words=_errors(words),
        characters=_errors(characters),
        slots=tuple(slots),
    )
    if len(slots) != 2 * mark.words.words + 1 or sum(slots) != mark.words.total:
        raise ValueError(f"errors {slots} of {mark.words}")
    return mark


def _errors(counts: Sequence[int]) -> Errors:
    substitutions, deletions, insertions, words = counts
    return Errors(substitutions=substitutions, deletions=deletions, insertions=insertions, words=words)


def _count(value: Any) -> int:
    if typed(value, int) < 0:
        raise ValueError(f"{value} is no count")
    return int(value)
