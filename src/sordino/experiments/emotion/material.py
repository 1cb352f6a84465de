"""Utterances and what a network gets of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from sordino.data import Utterance
from sordino.data.clips import ClipStore
from sordino.data.modalities import ModalityFeatures, ProsodyTrack, Track
from sordino.errors import DataError
from sordino.experiments.tasks.emotion import EmotionData, EmotionModel
from sordino.models.emotion import Clips, FrozenSpeech, FrozenText
from sordino.models.pocket import FOLDER as POCKET

__all__ = ["Material", "gather_material"]

_LABELS = ("emotion", "sentiment")
_MEMORY_MB = 8.0


@dataclass(frozen=True, eq=False)
class Material:
    """All utterances of an experiment.

    Attributes:
        utterances: in the order of the clips.
        clips: pooled vectors of every modality, and targets.
        classes: names of the emotions; empty where a sentiment is predicted.
        notes: what was left out and why.
    """

    utterances: tuple[Utterance, ...]
    clips: Clips
    classes: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def num_outputs(self) -> int:
        """Scores of a clip."""
        return len(self.classes) or 1


@dataclass(frozen=True)
class _Computed:
    """A track that a frozen model makes; its frames are pooled at once, so nobody keeps them."""

    width: int
    of: Callable[[Utterance], torch.Tensor]

    def __call__(self, utterance: Utterance) -> npt.NDArray[np.float32]:
        return self.of(utterance).numpy()


def gather_material(data: EmotionData, model: EmotionModel, *, tick: Callable[[int, int], None]) -> Material:
    """Reads the corpus and runs the frozen encoders over it once.

    Args:
        data: whose emotions.
        model: which modalities.
        tick: is told how many utterances of how many are done.

    Raises:
        DataError: no labelled utterance, or an unusable recording.
    """
    splits = data.corpus.load(data.longest_s)
    everything = (*splits.train, *splits.test, *splits.seen)
    label, utterances = _labelled(everything)
    notes = list(splits.notes)
    if len(utterances) < len(everything):
        notes.append(f"left out {len(everything) - len(utterances)} utterances without the attribute {label}.")
    short = tuple(utterance for utterance in utterances if utterance.duration_s <= data.longest_s)
    if len(short) < len(utterances):
        notes.append(f"left out {len(utterances) - len(short)} utterances longer than {data.longest_s:g} s.")
    features = ModalityFeatures(
        _tracks(model, longest_s=max(utterance.duration_s for utterance in short)),
        own=short if data.own_scale else (),
        limit_mb=_MEMORY_MB * len(short),
    )
    frames = []
    for utterance in short:
        frames.append(features.of(utterance))
        tick(len(frames), len(short))
    targets, classes = _targets(short, label)
    statistics = dict.fromkeys(model.modalities, model.branch.statistics)
    clips = Clips.of(frames, targets=targets, speakers=[u.speaker for u in short], statistics=statistics)
    return Material(short, clips, classes, tuple(notes))


def _labelled(utterances: Sequence[Utterance]) -> tuple[str, tuple[Utterance, ...]]:
    for label in _LABELS:
        found = tuple(utterance for utterance in utterances if utterance.attributes.get(label))
        if found:
            return label, found
    raise DataError(
        f"none of {len(utterances)} utterances has the attribute emotion or sentiment; use a corpus with one, or add "
        "it to the manifest."
    )


def _targets(utterances: Sequence[Utterance], label: str) -> tuple[torch.Tensor, tuple[str, ...]]:
    if label == "sentiment":
        return torch.tensor([float(utterance.attributes[label]) for utterance in utterances]), ()
    classes = tuple(sorted({utterance.attributes[label] for utterance in utterances}))
    if len(classes) == 1:
        raise DataError(f"every utterance has the emotion {classes[0]!r}: expected at least two emotions; add others.")
    return torch.tensor([classes.index(utterance.attributes[label]) for utterance in utterances]), classes


def _tracks(options: EmotionModel, *, longest_s: float) -> Mapping[str, Track]:
    makers: dict[str, Callable[[], Track]] = {
        "speech": lambda: _speech(options, longest_s),
        "prosody": ProsodyTrack,
        "text": lambda: _text(options),
    }
    return {name: _file(options, name) if name in options.features else makers[name]() for name in options.modalities}


def _speech(options: EmotionModel, longest_s: float) -> Track:
    source = str(POCKET / "encoder") if options.speech == "pocket" else options.speech
    encoder = FrozenSpeech(source, layers=options.speech_layers, longest_s=longest_s)
    store = ClipStore(encoder, num_mels=encoder.num_mels, window_s=encoder.window_s, limit_mb=0)
    return _Computed(encoder.width, lambda utterance: torch.cat(store.pieces(utterance)))


def _text(options: EmotionModel) -> Track:
    encoder = FrozenText(str(POCKET / "decoder") if options.text == "pocket" else options.text)
    return _Computed(encoder.width, lambda utterance: encoder.frames(utterance.text))


def _file(options: EmotionModel, name: str) -> Track:
    from sordino.data.feature_files import FeatureFile, read_features

    return FeatureFile(read_features(options.features[name].expanduser()))
