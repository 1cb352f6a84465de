"""The recordings of an experiment as client and server know them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from sordino.data import Utterance
from sordino.data.clips import ClipStore
from sordino.evaluation import normalise
from sordino.experiments.split.exchanging import Exchanged, exchanged
from sordino.experiments.split.serving import Served
from sordino.experiments.split_speech.gathering import Speech, attribute
from sordino.models.ctc import FRAMES_PER_S
from sordino.seeds import Seeds
from sordino.split.recordings import Recordings
from sordino.split.sending import Sender
from sordino.split.speech_front import PublicFrames, SpeechFront

__all__ = ["Heard", "SpeechMaterial", "exchange_speech", "frames_of", "hear", "longest_frames", "spectra"]


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What the client's front end makes of some recordings.

    Attributes:
        recordings: lengths, labels and transcripts.
        frames: of all recordings, one after the other.

    Shape:
        frames: float32 [all frames, d]
    """

    recordings: Recordings
    frames: torch.Tensor


@dataclass(frozen=True, kw_only=True)
class SpeechMaterial(Exchanged):
    """What is exchanged of recordings; ``rows`` are frames as seen from their public centre.

    Attributes:
        recordings: those of ``train``, ``test`` and ``public``.
    """

    recordings: Mapping[str, Recordings]


def longest_frames(window_s: float) -> int:
    """Frames of the longest recording: public, whatever recordings there are."""
    return math.ceil(round(window_s * 1000) * FRAMES_PER_S / 1000)


def frames_of(utterances: Sequence[Utterance], *, front: SpeechFront, window_s: float) -> list[torch.Tensor]:
    """Frames [frames, d] of each recording; raises DataError for one that cannot be read or is longer than the window."""
    store = ClipStore(front, num_mels=front.num_mels, window_s=window_s, limit_mb=0)
    return [store.clip(one) for one in utterances]


def hear(utterances: tuple[Utterance, ...], speech: Speech, *, front: SpeechFront, window_s: float) -> Heard:
    """The frames of some recordings.

    Args:
        utterances: the recordings.
        speech: knows what is to be told of them.
        front: the client's part of the Whisper.
        window_s: the longest recording.

    Raises:
        DataError: a recording that cannot be read, or is longer.
    """
    clips = frames_of(utterances, front=front, window_s=window_s)
    numbers = {label: number for number, label in enumerate(speech.labels)}
    labels = [numbers[attribute(one, speech.target)] if numbers else 0 for one in utterances]
    texts = [normalise(one.text, one.language) for one in utterances]
    return Heard(
        recordings=Recordings(
            lengths=torch.tensor([len(clip) for clip in clips]),
            labels=torch.tensor(labels),
            utterances=utterances,
            targets=tuple(tuple(speech.units.encode(text)) if speech.units else () for text in texts),
        ),
        frames=torch.cat(clips),
    )


def exchange_speech(
    heard: Mapping[str, Heard],
    served: Served,
    *,
    front: SpeechFront,
    public: PublicFrames,
    sender: Sender,
    seeds: Seeds,
    folder: Path,
) -> SpeechMaterial:
    """Draws the noise of all private recordings, once, and makes the exchanges.

    Args:
        heard: the recordings, by set.
        served: the server.
        front: knows the frames' places in time, which are added after the noise as the centre is.
        public: has the centre.
        sender: pays.
        seeds: of the noise on public recordings.
        folder: states are kept here.
    """
    recordings = {name: one.recordings for name, one in heard.items()}
    rows = {name: one.frames - public.centre for name, one in heard.items()}
    known = {name: front.places(one.lengths.tolist()) + public.centre for name, one in recordings.items()}
    made = exchanged(recordings, rows, served, sender=sender, seeds=seeds, folder=folder, known=known)
    return SpeechMaterial(
        recordings=recordings, noised=made.noised, clean=made.clean, rows=made.rows, noised_rows=made.noised_rows
    )


def spectra(recordings: Recordings, *, num_mels: int, window_s: float) -> torch.Tensor:
    """The log-mels of every frame, the mean of its two steps: float32 [all frames, num_mels]."""

    def mean(clip: torch.Tensor) -> torch.Tensor:
        steps: torch.Tensor = clip.unflatten(1, (-1, 2))
        return steps.mean(dim=2).T

    store = ClipStore(mean, num_mels=num_mels, window_s=window_s, limit_mb=0)
    return torch.cat([store.clip(one) for one in recordings.utterances])
