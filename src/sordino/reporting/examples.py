"""Which clips a report shows, by a rule that leaves nothing to taste."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sordino.evaluation import Edit, Sample, align, normalise
from sordino.reporting.groups import UNKNOWN
from sordino.reporting.runs import Run

__all__ = ["RULE", "Example", "ExampleGroup", "choose_examples"]

_EACH: Final = 3

RULE: Final = (
    f"Chosen by rule, not by hand: the {_EACH} clips whose number of word errors fell most, the {_EACH} whose change is "
    f"nearest to the middle one of all clips, and the {_EACH} where it rose most; at most one clip of a speaker in each, "
    "ties broken by the clip's name."
)
"""How `choose_examples` chooses, for the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One clip: what was said and what was written, aligned with it, before and after adapting."""

    speaker: str
    language: str
    said: str
    before: tuple[Edit, ...]
    after: tuple[Edit, ...]

    @property
    def errors_before(self) -> int:
        """Word errors of the untouched model."""
        return _errors(self.before)

    @property
    def errors_after(self) -> int:
        """Word errors of the finished model."""
        return _errors(self.after)


@dataclass(frozen=True, slots=True)
class ExampleGroup:
    """Examples of one kind."""

    title: str
    examples: tuple[Example, ...]


def choose_examples(run: Run) -> list[ExampleGroup]:
    """Most improved, typical and most worsened clips; nothing unless both transcripts were kept.

    See `RULE`. A kind without a clip is left out; no clip is shown twice.
    """
    written = {sample.key: sample for sample in run.after}
    pairs = [(sample, written[sample.key]) for sample in run.before if sample.key in written]
    examples = {before.key: _example(before, after) for before, after in pairs}
    if not examples:
        return []
    change = {key: example.errors_after - example.errors_before for key, example in examples.items()}
    middle = sorted(change.values())[len(change) // 2]
    improved = sorted((key for key in examples if change[key] < 0), key=lambda key: (change[key], key))
    worsened = sorted((key for key in examples if change[key] > 0), key=lambda key: (-change[key], key))
    best, worst = _one_a_speaker(improved, examples), _one_a_speaker(worsened, examples)
    rest = (key for key in examples if key not in best and key not in worst)
    typical = _one_a_speaker(sorted(rest, key=lambda key: (abs(change[key] - middle), key)), examples)
    groups = (("Most improved", best), ("Typical", typical), ("Most worsened", worst))
    return [ExampleGroup(title, tuple(examples[key] for key in keys)) for title, keys in groups if keys]


def _one_a_speaker(keys: Iterable[str], examples: dict[str, Example]) -> list[str]:
    chosen: dict[str, str] = {}
    for key in keys:
        chosen.setdefault(examples[key].speaker, key)
    return list(chosen.values())[:_EACH]


def _example(before: Sample, after: Sample) -> Example:
    said = normalise(before.reference, before.language)
    return Example(
        speaker=before.speaker or UNKNOWN,
        language=before.language,
        said=said,
        before=align(said, normalise(before.hypothesis, before.language)),
        after=align(said, normalise(after.hypothesis, after.language)),
    )


def _errors(edits: Sequence[Edit]) -> int:
    return sum(edit.kind != "hit" for edit in edits)
