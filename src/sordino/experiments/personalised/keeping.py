"""Where finished methods are kept in the run folder, so that an interrupted comparison does not do them again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sordino.evaluation import Errors, Mark
from sordino.experiments.personalised.outcome import Cost, Heard, Outcome
from sordino.records import RunFolder

__all__ = ["keep_outcome", "kept_outcome"]


_TEST, _DEVELOPMENT, _NEW = "test", "development", "new"


def _file(folder: RunFolder, name: str) -> Path:
    return folder.path / "methods" / f"{name}.json"


def _marks(folder: RunFolder, name: str) -> Path:
    return folder.path / "methods" / f"{name}.jsonl"


def keep_outcome(folder: RunFolder, name: str, outcome: Outcome) -> None:
    """Writes a method's transcripts, if there are any, its marks, and then the file that says that they are whole."""
    for ending, samples in outcome.heard.transcripts.items():
        folder.write_lines(folder.transcripts(name + ending), (asdict(sample) for sample in samples))
    folder.write_lines(_marks(folder, name), _lines(outcome))
    table = {"cost": asdict(outcome.cost), "charges": list(outcome.charges), "new_passes": outcome.new_passes}
    folder.write_json(_file(folder, name), table)


def _lines(outcome: Outcome) -> Iterator[Mapping[str, Any]]:
    parts: Mapping[str, Sequence[Mark]] = {
        _TEST: outcome.heard.test,
        _DEVELOPMENT: outcome.heard.development,
        _NEW: outcome.new,
    }
    for part, marks in parts.items():
        yield from ({"part": part, **asdict(mark)} for mark in marks)


def kept_outcome(folder: RunFolder, name: str) -> Outcome | None:
    """What `keep_outcome` wrote, but for the transcripts; None if the method is not done."""
    path = _file(folder, name)
    if not path.is_file():
        return None
    table = json.loads(path.read_text(encoding="utf-8"))
    marks: dict[str, list[Mark]] = {_TEST: [], _DEVELOPMENT: [], _NEW: []}
    for line in folder.read_lines(_marks(folder, name)):
        marks[line.pop("part")].append(_mark(line))
    first, last = table["charges"]
    return Outcome(
        cost=Cost(**table["cost"]),
        heard=Heard(test=marks[_TEST], development=marks[_DEVELOPMENT]),
        charges=(first, last),
        new=marks[_NEW],
        new_passes=table["new_passes"],
    )


def _mark(line: Mapping[str, Any]) -> Mark:
    words, characters = (Errors(**line[what]) for what in ("words", "characters"))
    return Mark(**{**line, "words": words, "characters": characters, "slots": tuple(line["slots"])})
