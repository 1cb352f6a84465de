"""The speech-LLM: ``y = D([connector(E(x)); embeddings(prompt); embeddings(transcript)])``.

Source: component-aware differential privacy for federated speech-LLMs (arXiv 2609.11762), section on the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch
from torch.nn import functional as F
from transformers import PreTrainedModel

from sordino.errors import DataError
from sordino.models.adapters import save_adapter
from sordino.models.decoders import IGNORED, Tokens
from sordino.models.encoders import POSITIONS_PER_S
from sordino.models.flat import FlatModule, FlatParameters, trainable
from sordino.models.frame_stack import FrameStack
from sordino.models.frozen_encoder import Encoded, FrozenEncoder
from sordino.models.generation import MAX_TOKENS_PER_S, Transcription, greedy, repetitions
from sordino.models.prompts import Prompt

__all__ = ["SpeechLLM"]


class SpeechLLM(FlatModule):
    """Encoder, connector and decoder as one model that is trained on transcripts and writes them.

    What is trained is what requires a gradient when the model is made. Every clip fills the same window, so audio and
    prompt take the same number of positions in every sequence; transcripts are padded on the right, where a causal
    decoder never looks, and so no clip's result depends on the others in its batch.

    Args:
        encoder: a Whisper encoder.
        connector: projects stacked frames to the decoder's width.
        decoder: a causal language model of Llama's type.
        tokens: the decoder's tokenizer.
        prompt: text around the audio, see `sordino.models.prompts.Prompt`; may be empty.

    Attributes:
        flat: the trainable tensors as one vector.
        frozen_encoder: the encoder if nothing in it is trained, whose output may then be kept; otherwise None.
        num_mels: mel bands of the features.
        window_s: seconds of audio in the features.
    """

    def __init__(
        self, encoder: PreTrainedModel, connector: FrameStack, decoder: PreTrainedModel, *, tokens: Tokens, prompt: str
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.connector = connector
        self.decoder = decoder
        self.tokens = tokens
        self.prompt = prompt
        self.num_mels: int = encoder.config.num_mel_bins
        self.num_frames: int = 2 * encoder.config.max_source_positions
        self.window_s: float = encoder.config.max_source_positions / POSITIONS_PER_S
        ids = Prompt.of(prompt, tokens.tokenizer)
        self._before: torch.Tensor
        self._after: torch.Tensor
        self.register_buffer("_before", torch.tensor(ids.before, dtype=torch.int64), persistent=False)
        self.register_buffer("_after", torch.tensor(ids.after, dtype=torch.int64), persistent=False)
        learns = any(tensor.requires_grad for tensor in encoder.parameters())
        self.frozen_encoder = None if learns else FrozenEncoder(encoder.eval())
        self.flat = FlatParameters(trainable(self))

    def train(self, mode: bool = True) -> Self:
        """As in every module, but a frozen encoder stays in evaluation mode: dropout in it would train nothing."""
        super().train(mode)
        if self.frozen_encoder is not None:
            self.encoder.eval()
        return self

    def inputs(self, prepared: torch.Tensor) -> torch.Tensor | Encoded:
        """Says what ``prepared`` is: output of this model's `frozen_encoder` if it has one, log-mels otherwise."""
        return prepared if self.frozen_encoder is None else Encoded(prepared)

    def encode(self, features: torch.Tensor | Encoded) -> torch.Tensor:
        """Runs the encoder, unless that was done before; without gradients if nothing in it is trained.

        Shape:
            features: float32 [batch, num_mels, num_frames], log-mel of one window, 100 frames a second; or the frames.
            returns: float32 [batch, positions, frame width], 50 positions a second.

        Raises:
            DataError: features of another window or number of mel bands.
        """
        if isinstance(features, Encoded):
            return features.frames.to(self.flat.values.device).float()
        expected = (self.num_mels, self.num_frames)
        if features.shape[1:] != expected:
            raise DataError(
                f"features have shape {tuple(features.shape)}; expected [batch, {expected[0]}, {expected[1]}], "
                f"which is {self.window_s:g} s; compute them with LogMel({self.num_mels}, {self.window_s:g})."
            )
        inputs = features.to(self.flat.values.device, self.encoder.dtype)
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.frozen_encoder is None):
            frames: torch.Tensor = self.encoder(inputs).last_hidden_state
        return frames.float()

    def prefix(self, features: torch.Tensor | Encoded) -> torch.Tensor:
        """Audio and prompt as the decoder sees them.

        Shape:
            features: as in `encode`.
            returns: decoder's dtype [batch, tokens before + positions / stack + tokens after, token width].
        """
        audio: torch.Tensor = self.connector(self.encode(features)).to(self.decoder.dtype)
        before, after = (self._embed(ids).expand(len(audio), -1, -1) for ids in (self._before, self._after))
        return torch.cat([before, audio, after], dim=1)

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        embedded: torch.Tensor = self.decoder.get_input_embeddings()(ids)
        return embedded

    def logits(self, features: torch.Tensor | Encoded, inputs: torch.Tensor) -> torch.Tensor:
        """Scores of the token after each transcript position, the first being the one after the prompt.

        Shape:
            features: as in `encode`.
            inputs: int64 [batch, tokens], transcripts padded on the right.
            returns: float32 [batch, tokens + 1, vocabulary].
        """
        sequence = torch.cat([self.prefix(features), self._embed(inputs)], dim=1)
        scores: torch.Tensor = self.decoder(
            inputs_embeds=sequence, use_cache=False, logits_to_keep=inputs.shape[1] + 1
        ).logits
        return scores.float()

    def token_losses(self, features: torch.Tensor | Encoded, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Cross-entropy of every transcript token and of one end a clip.

        Returns:
            losses: float32 [batch, longest + 1], zero after a clip's end.
            counts: int64 [batch], tokens of each clip, its end included.
        """
        inputs, labels = (ids.to(self.flat.values.device) for ids in self.tokens.batch(texts))
        scores = self.logits(features, inputs)
        losses = F.cross_entropy(scores.transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
        return losses, (labels != IGNORED).sum(dim=1)

    def loss(
        self, features: torch.Tensor | Encoded, texts: Sequence[str], *, tokens: int | None = None
    ) -> torch.Tensor:
        """Mean cross-entropy over all transcript tokens and one end a clip; audio and prompt are not predicted.

        Args:
            features: log-mels of some clips.
            texts: their transcripts.
            tokens: what to divide the sum by where the clips are part of a larger batch: the tokens of all of it.

        Shape:
            features: float32 [batch, num_mels, num_frames].
            returns: float32 scalar.

        Raises:
            DataError: features of another window, or as many texts as there are not clips.
        """
        if len(texts) != len(features) or not texts:
            raise DataError(
                f"{len(features)} clips came with {len(texts)} transcripts; give one for each, at least one."
            )
        if torch.is_grad_enabled():
            self.flat.attach()
        losses, counts = self.token_losses(features, texts)
        return losses.sum() / (counts.sum() if tokens is None else tokens)

    @torch.no_grad()
    def transcribe(self, features: torch.Tensor | Encoded, *, max_tokens: int | None = None) -> list[Transcription]:
        """Writes what is said in each clip, by greedy decoding.

        Args:
            features: float32 [batch, num_mels, num_frames].
            max_tokens: bound on each transcript; 25 a second of window if not given.

        Raises:
            DataError: features of another window.
        """
        bound = math.ceil(MAX_TOKENS_PER_S * self.window_s) if max_tokens is None else max_tokens
        was_training = self.training
        if was_training:
            self.eval()
        try:
            rows = greedy(self.decoder, self.prefix(features), end=self.tokens.end, max_tokens=bound)
        finally:
            if was_training:
                self.train()
        return [
            Transcription(self.tokens.decode(ids), ended, repeats=0 if ended else repetitions(ids))
            for ids, ended in rows
        ]

    def save(self, folder: Path) -> None:
        """Writes adapters and connector, see `sordino.models.save_adapter`."""
        save_adapter(self, folder)
