"""From recordings to samples: a model transcribes a test set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import torch

from sordino.evaluation.groups import Sample

if TYPE_CHECKING:
    from sordino.data import FeatureStore, Utterance
    from sordino.models import SpeechLLM

__all__ = ["transcribe"]


def transcribe(
    model: SpeechLLM, features: FeatureStore, utterances: Sequence[Utterance], *, batch_size: int = 64
) -> list[Sample]:
    """Transcribes every utterance; one longer than the model's window is split at pauses and its parts are joined.

    Args:
        model: the speech-LLM.
        features: its log-mels, or what its frozen encoder makes of them.
        utterances: the test set, in any order.
        batch_size: windows decoded together; it changes the speed, never a result.

    Returns:
        One sample an utterance, in order; ``truncated`` when a part reached the length bound.
    """
    texts: list[list[str]] = [[] for _ in utterances]
    truncated = [False] * len(utterances)
    encoder = model.frozen_encoder
    windows = (
        (index, window)
        for index, utterance in enumerate(utterances)
        for window in features.windows(utterance, encoder=encoder)
    )
    while batch := list(islice(windows, batch_size)):
        written = model.transcribe(model.inputs(torch.stack([window for _, window in batch])))
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
