"""From recordings to samples: a model transcribes a test set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import torch

from sordino.evaluation.samples import Sample

if TYPE_CHECKING:
    from sordino.data import FeatureStore, Utterance
    from sordino.models import SpeechLLM, Transcription

__all__ = ["transcribe"]

_Windows: TypeAlias = Sequence[tuple[int, torch.Tensor]]
"""Some windows, each with the index of its utterance."""


def transcribe(
    model: SpeechLLM,
    features: FeatureStore,
    utterances: Sequence[Utterance],
    *,
    batch_size: int = 64,
    copies: Sequence[SpeechLLM] = (),
) -> list[Sample]:
    """Transcribes every utterance; one longer than the model's window is split at pauses and its parts are joined.

    Clips of similar length are decoded together, since a batch takes as long as its longest transcript.

    Args:
        model: the speech-LLM.
        features: its log-mels, or what its frozen encoder makes of them.
        utterances: the test set, in any order.
        batch_size: windows decoded together; it changes the speed, never a result.
        copies: the same model again, to decode batches side by side.

    Returns:
        One sample an utterance, in order; ``truncated`` when a part reached the length bound.
    """
    from sordino.models.side_by_side import side_by_side

    texts: list[list[str]] = [[] for _ in utterances]
    truncated = [False] * len(utterances)
    batches = _batches(model, features, utterances, batch_size=batch_size)
    for batch, written in side_by_side((model, *copies), batches, _write):
        for (index, _), transcription in zip(batch, written, strict=True):
            texts[index].append(transcription.text)
            truncated[index] |= not transcription.ended
    return [
        Sample(
            key=utterance.key,
            speaker=utterance.speaker,
            reference=utterance.text,
            hypothesis=" ".join(parts),
            language=utterance.language,
            truncated=cut,
        )
        for utterance, parts, cut in zip(utterances, texts, truncated, strict=True)
    ]


def _batches(
    model: SpeechLLM, features: FeatureStore, utterances: Sequence[Utterance], *, batch_size: int
) -> Iterator[_Windows]:
    """All windows, the longest utterances first, those of one utterance in order."""
    windows = (
        (index, window)
        for index in sorted(range(len(utterances)), key=lambda index: -utterances[index].duration_s)
        for window in features.windows(utterances[index], encoder=model.frozen_encoder)
    )
    while batch := list(islice(windows, batch_size)):
        yield batch


def _write(model: SpeechLLM, batch: _Windows) -> tuple[_Windows, list[Transcription]]:
    return batch, model.transcribe(model.inputs(torch.stack([window for _, window in batch])))
