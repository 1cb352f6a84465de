"""What a corpus is: something that gives utterances for training and, apart from them, for testing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from sordino._registry import Registry
from sordino.data.audio import ROUNDING_S
from sordino.data.headers import recording_lengths
from sordino.data.utterance import Utterance

__all__ = ["CORPORA", "Corpus", "Splits", "readable", "within_window"]

_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """A corpus, divided.

    Attributes:
        train: for the clients; each fits into the model's window.
        test: held out; the word error rate on these counts. May be longer than the window.
        seen: held-out utterances of training speakers; may be empty.
        test_is: whose speech ``test`` is, e.g. ``"held-out voices"``.
        notes: what was left out and why, with counts; one sentence each.
    """

    train: tuple[Utterance, ...]
    test: tuple[Utterance, ...]
    seen: tuple[Utterance, ...] = ()
    test_is: str
    notes: tuple[str, ...] = ()


class Corpus(ABC):
    """A source of utterances; a frozen dataclass whose fields are its options."""

    name: ClassVar[str]

    @abstractmethod
    def load(self, window_s: float) -> Splits:
        """The utterances; the same options always give the same ones.

        Args:
            window_s: the model's window; longer utterances are not trained on, and ``notes`` says so.

        Raises:
            ConfigError: an option names something that is not there.
            DataError: the recordings cannot be used.
        """


CORPORA: Registry[Corpus] = Registry("corpus", package="sordino.data.corpora")
"""All corpora by name."""


def readable(utterances: Iterable[Utterance]) -> tuple[tuple[Utterance, ...], tuple[str, ...]]:
    """The utterances whose recording can be opened and is not empty, and a note that names and counts the others.

    Those that reach the end of their recording get its exact length, where manifests have it rounded.
    """
    utterances = tuple(utterances)
    lengths = recording_lengths(dict.fromkeys(str(utterance.audio) for utterance in utterances))
    kept: list[Utterance] = []
    bad: list[Utterance] = []
    for utterance in utterances:
        rest_s = lengths[str(utterance.audio)] - utterance.offset_s
        if rest_s <= 0:
            bad.append(utterance)
        elif utterance.duration_s > rest_s - ROUNDING_S and utterance.duration_s != rest_s:
            kept.append(replace(utterance, duration_s=rest_s))
        else:
            kept.append(utterance)
    return tuple(kept), _note("whose recording is empty or unreadable", bad)


def within_window(utterances: Iterable[Utterance], window_s: float) -> tuple[tuple[Utterance, ...], tuple[str, ...]]:
    """The utterances that fit into the window, and a note that names and counts the others."""
    kept: list[Utterance] = []
    long: list[Utterance] = []
    for utterance in utterances:
        (kept if utterance.duration_s <= window_s else long).append(utterance)
    return tuple(kept), _note(f"longer than the window of {window_s} s, for training", long)


def _note(reason: str, left_out: Sequence[Utterance]) -> tuple[str, ...]:
    if not left_out:
        return ()
    names = ", ".join(utterance.audio.name for utterance in left_out[:_NAMED])
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    plural = "s" if len(left_out) > 1 else ""
    return (f"left out {len(left_out)} utterance{plural} {reason}: {names}{more}.",)
