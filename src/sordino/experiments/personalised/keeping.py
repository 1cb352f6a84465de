"""Where finished methods are kept in the run folder, so that an interrupted comparison does not do them again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from sordino.evaluation import Sample
from sordino.experiments.personalised.entrant import Cost, Outcome
from sordino.records import RunFolder

__all__ = ["DEVELOPMENT", "NEW", "keep_outcome", "kept_outcome"]

DEVELOPMENT = "-development"
"""Ends the name of the transcripts of utterances that options may be chosen by."""

NEW = "-new"
"""Ends the name of the transcripts of speakers who never trained."""


def _file(folder: RunFolder, name: str) -> Path:
    return folder.path / "methods" / f"{name}.json"


def keep_outcome(folder: RunFolder, name: str, outcome: Outcome) -> None:
    """Writes a method's transcripts, and then the file that says that they are whole."""
    for part, samples in (("", outcome.test), (DEVELOPMENT, outcome.development), (NEW, outcome.new)):
        if samples or part != NEW:
            folder.write_lines(folder.transcripts(name + part), (asdict(sample) for sample in samples))
    table = {"cost": asdict(outcome.cost), "charges": list(outcome.charges), "new_passes": outcome.new_passes}
    folder.write_json(_file(folder, name), table)


def kept_outcome(folder: RunFolder, name: str) -> Outcome | None:
    """What `keep_outcome` wrote; None if the method is not done."""
    path = _file(folder, name)
    if not path.is_file():
        return None
    table = json.loads(path.read_text(encoding="utf-8"))
    test, development, new = (
        [Sample(**line) for line in folder.read_lines(folder.transcripts(name + part))]
        for part in ("", DEVELOPMENT, NEW)
    )
    first, last = table["charges"]
    return Outcome(Cost(**table["cost"]), test, development, (first, last), new, table.get("new_passes", 0.0))
