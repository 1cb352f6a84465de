"""From recordings to samples: a CTC recogniser transcribes a test set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from sordino.data import Utterance
from sordino.data.clips import ClipStore
from sordino.evaluation.ctc.lexicon import Lexicon
from sordino.evaluation.ctc.options import DecodingOptions
from sordino.evaluation.ctc.search import beam_search, greedy_path
from sordino.evaluation.samples import Sample
from sordino.models.ctc import Frames, Recogniser, Units

__all__ = ["Decoder", "transcribe_clips"]


@dataclass(frozen=True)
class Decoder:
    """Turns output distributions into text.

    Args:
        units: what the recogniser writes.
        options: how it is read.
        vocabulary: words of a closed vocabulary; used only if the options ask for one.

    Raises:
        ConfigError: a closed vocabulary that the units cannot write.
    """

    units: Units
    options: DecodingOptions
    vocabulary: Sequence[str] = ()
    _lexicon: Lexicon | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.options.closed:
            object.__setattr__(self, "_lexicon", Lexicon(self.vocabulary, self.units))

    def __call__(self, log_probs: torch.Tensor) -> str:
        """The text of one clip, float32 [frames, units]."""
        scores, blank = log_probs.numpy(), self.units.blank
        if self.options.search == "greedy":
            return self.units.decode(greedy_path(scores, blank=blank))
        return self.units.decode(beam_search(scores, blank=blank, beam=self.options.beam, lexicon=self._lexicon)[0])


@torch.no_grad()
def transcribe_clips(
    recogniser: Recogniser,
    clips: ClipStore,
    utterances: Sequence[Utterance],
    *,
    decoder: Decoder,
    batch_size: int = 32,
) -> list[Sample]:
    """Transcribes every utterance; one longer than the window is split at pauses and its parts are joined.

    Args:
        recogniser: with the parameters to be tested.
        clips: its frames.
        utterances: the test set, in any order.
        decoder: reads its output.
        batch_size: pieces computed together; changes the speed only, but for the last bits of float32.

    Returns:
        One sample an utterance, in order.
    """
    was_training = recogniser.training
    recogniser.eval()
    pieces = [(index, piece) for index, utterance in enumerate(utterances) for piece in clips.pieces(utterance)]
    written = [""] * len(pieces)
    order = sorted(range(len(pieces)), key=lambda place: len(pieces[place][1]))  # so that little is padded
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        log_probs = recogniser.outputs(Frames.of([pieces[place][1] for place in batch])).log_probs.cpu()
        for place, scores in zip(batch, log_probs, strict=True):
            written[place] = decoder(scores[: len(pieces[place][1])])
    recogniser.train(was_training)
    texts: list[list[str]] = [[] for _ in utterances]
    for (index, _), text in zip(pieces, written, strict=True):
        texts[index].append(text)
    return [
        Sample(
            key=utterance.key,
            speaker=utterance.speaker,
            reference=utterance.text,
            hypothesis=" ".join(parts),
            language=utterance.language,
        )
        for utterance, parts in zip(utterances, texts, strict=True)
    ]
