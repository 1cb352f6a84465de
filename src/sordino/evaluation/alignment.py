"""Which word became which: the edits behind an error count, for showing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import jiwer

__all__ = ["Edit", "align"]

Kind = Literal["hit", "substitution", "deletion", "insertion"]

_KINDS: dict[str, Kind] = {
    "equal": "hit",
    "substitute": "substitution",
    "delete": "deletion",
    "insert": "insertion",
}


@dataclass(frozen=True, slots=True)
class Edit:
    """One word of an alignment.

    Attributes:
        kind: what happened to it.
        reference: the word that was said; empty for an insertion.
        hypothesis: the word that was written; empty for a deletion.
    """

    kind: Kind
    reference: str
    hypothesis: str


def align(reference: str, hypothesis: str) -> tuple[Edit, ...]:
    """The fewest edits that turn one normalised text into another, word by word.

    The edits that are no hits are those that `sordino.evaluation.word_errors` counts.
    """
    output = jiwer.process_words(reference, hypothesis)
    said, written = output.references[0], output.hypotheses[0]
    edits: list[Edit] = []
    for chunk in output.alignments[0]:
        before = said[chunk.ref_start_idx : chunk.ref_end_idx]
        after = written[chunk.hyp_start_idx : chunk.hyp_end_idx]
        for index in range(max(len(before), len(after))):
            edits.append(
                Edit(_KINDS[chunk.type], "".join(before[index : index + 1]), "".join(after[index : index + 1]))
            )
    return tuple(edits)
