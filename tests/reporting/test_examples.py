"""The rule by which clips are shown."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sordino.evaluation import Sample
from sordino.reporting import Run, read_run
from sordino.reporting.examples import choose_examples


def run_of(template: Run, changes: dict[str, tuple[int, int]]) -> Run:
    """A run whose clip ``speaker-number`` went from so many errors to so many."""

    def samples(which: int) -> list[Sample]:
        return [
            Sample(
                key=key,
                speaker=key.split("-")[0],
                reference="a b c d",
                hypothesis=" ".join(["x"] * n + list("abcd")[n:]),
            )
            for key, both in changes.items()
            for n in [both[which]]
        ]

    return dataclasses.replace(template, before=samples(0), after=samples(1))


def chosen(run: Run) -> dict[str, list[tuple[str, int, int]]]:
    return {
        group.title: [(one.speaker, one.errors_before, one.errors_after) for one in group.examples]
        for group in choose_examples(run)
    }


def test_the_rule(runs: dict[str, Path]) -> None:
    changes = {
        "p-1": (4, 0), "p-2": (4, 1), "q-1": (3, 0), "r-1": (2, 1), "s-1": (2, 2), "s-2": (1, 1), "t-1": (0, 0),
        "u-1": (1, 4), "v-1": (0, 1), "w-1": (2, 1),
    }  # fmt: skip
    assert chosen(run_of(read_run(runs["sound"]), changes)) == {
        "Most improved": [("p", 4, 0), ("q", 3, 0), ("r", 2, 1)],
        "Typical": [("s", 2, 2), ("t", 0, 0), ("w", 2, 1)],
        "Most worsened": [("u", 1, 4), ("v", 0, 1)],
    }


def test_kinds_without_clips_are_left_out(runs: dict[str, Path]) -> None:
    template = read_run(runs["sound"])
    assert set(chosen(run_of(template, {"p-1": (1, 1), "q-1": (2, 2)}))) == {"Typical"}
    assert chosen(dataclasses.replace(template, after=())) == {}
    assert chosen(dataclasses.replace(template, before=())) == {}


def test_every_clip_of_a_real_run_is_aligned(runs: dict[str, Path]) -> None:
    for group in choose_examples(read_run(runs["sound"])):
        for example in group.examples:
            assert " ".join(edit.reference for edit in example.before if edit.reference) == example.said
            assert " ".join(edit.reference for edit in example.after if edit.reference) == example.said
