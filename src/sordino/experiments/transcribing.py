"""What a run's model hears in recordings that nobody has transcribed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from sordino.data import FeatureStore, Utterance, audio_duration, listen, recordings_in
from sordino.errors import DataError
from sordino.evaluation import transcribe
from sordino.experiments.finished import load_finished

__all__ = ["Heard", "Unheard", "transcribe_recordings"]

_TOGETHER: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A transcript.

    Attributes:
        path: the recording.
        text: what the model wrote.
        duration_s: length of the recording.
        truncated: whether some of the text was cut because the model would not end it.
    """

    path: Path
    text: str
    duration_s: float
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheard:
    """A recording, or a folder, that gave no transcript, with the reason."""

    path: Path
    reason: str


def transcribe_recordings(run: Path, paths: Sequence[Path]) -> Iterator[Heard | Unheard]:
    """Transcribes recordings of any rate, channel count and length with a finished run's model.

    One that cannot be used does not stop the others. A recording longer than the model's window is split at pauses.

    Args:
        run: folder of the run.
        paths: recordings, or folders whose recordings are meant.

    Yields:
        One result a recording, in order, as soon as it is known.

    Raises:
        ConfigError: no run there, or it has no model yet.
    """
    _, model = load_finished(run)
    features = FeatureStore(model.num_mels, model.window_s)
    found = _each(paths)
    while group := list(islice(found, _TOGETHER)):
        usable = [item for item in group if isinstance(item, Utterance)]
        samples = {sample.key: sample for sample in transcribe(model, features, usable)}
        for item in group:
            if isinstance(item, Unheard):
                yield item
                continue
            sample = samples[item.key]
            yield Heard(path=item.audio, text=sample.hypothesis, duration_s=item.duration_s, truncated=sample.truncated)


def _each(paths: Iterable[Path]) -> Iterator[Utterance | Unheard]:
    for path in paths:
        try:
            recordings = recordings_in(path) if path.is_dir() else [path]
        except DataError as error:
            yield Unheard(path=path, reason=str(error))
            continue
        yield from map(_opened, recordings)


def _opened(path: Path) -> Utterance | Unheard:
    try:
        utterance = Utterance(audio=path, text="", speaker="", duration_s=audio_duration(path))
        silent = listen(utterance).silent
    except DataError as error:
        return Unheard(path=path, reason=str(error))
    if silent:  # a model asked to transcribe silence makes something up
        return Unheard(path=path, reason=f"{path} is silent: there is nothing to transcribe; record it again.")
    return utterance
