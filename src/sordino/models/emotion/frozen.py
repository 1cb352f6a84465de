"""Frames of speech and text from pretrained models in which nothing is trained."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from sordino.errors import ConfigError
from sordino.models.checkpoints import read_config, reading, require_complete
from sordino.models.encoders import POSITIONS_PER_S, load_encoder

__all__ = ["FrozenSpeech", "FrozenText"]

_SPEECH = "model.speech"
_TEXT = "model.text"
_WAVEFORM_MODELS = ("hubert", "wav2vec2", "wavlm", "data2vec-audio")
_WINDOW_S = 30.0


class FrozenSpeech:
    """A speech encoder: Whisper's, which reads log-mels, or one of HuBERT's kind, which reads the waveform.

    Args:
        source: hub id or folder.
        layers: how many of its layers are run; all if not given. How something is said shows best half-way up.
        longest_s: no clip is longer than that, so that a Whisper encoder need not hear the silence behind it. It hears its
            full window if that is shorter, or if nothing is given.

    Attributes:
        num_mels: mel bands of a Whisper encoder; None of one that reads the waveform.
        window_s: longest piece that it takes.

    Raises:
        ConfigError: neither kind of model, not there, or with fewer layers.
    """

    num_mels: int | None
    window_s: float

    def __init__(self, source: str, *, layers: int | None = None, longest_s: float | None = None) -> None:
        config = read_config(_SPEECH, source)
        available = int(getattr(config, "encoder_layers", None) or config.num_hidden_layers)
        if layers is not None and not 1 <= layers <= available:
            raise ConfigError(
                f"model.speech.layers = {layers}: {source!r} has {available} layers; set a number from 1 to {available}."
            )
        if config.model_type == "whisper":
            full_s = config.max_source_positions / POSITIONS_PER_S
            window_s = min(full_s, math.ceil((longest_s or full_s) * POSITIONS_PER_S) / POSITIONS_PER_S)
            self._encoder: Any = load_encoder(source, window_s=window_s, stack=1, dtype=torch.float32)
            self._encoder.layers = self._encoder.layers[:layers]  # type: ignore[index]
            self.num_mels = int(self._encoder.config.num_mel_bins)
            self.window_s = window_s
        elif config.model_type in _WAVEFORM_MODELS:
            self._encoder = _read_model(_SPEECH, source)
            self._encoder.encoder.layers = self._encoder.encoder.layers[:layers]
            self.num_mels, self.window_s = None, longest_s or _WINDOW_S
        else:
            raise ConfigError(
                f"{_SPEECH} = {source!r} is a {config.model_type!r} model: expected a Whisper, or one of "
                f"{', '.join(_WAVEFORM_MODELS)}; name another."
            )
        self._encoder.requires_grad_(requires_grad=False).eval()

    @property
    def width(self) -> int:
        """Numbers a frame."""
        return int(self._encoder.config.hidden_size)

    @torch.no_grad()
    def __call__(self, clip: torch.Tensor) -> torch.Tensor:
        """Frames of one clip that fits into the window, none for what lies behind its end.

        Shape:
            clip: float32 [num_mels, 100 a second] of log-mels, or [samples] at 16 kHz where ``num_mels`` is None
            returns: float32 [frames, width], 50 a second
        """
        if self.num_mels is None:
            heard: torch.Tensor = self._encoder(clip[None]).last_hidden_state[0]
            return heard
        window = round(self.window_s * POSITIONS_PER_S)
        # Log-mels reach 2 below their largest value and no further: silence behind the clip looks like that.
        padded = nn.functional.pad(clip, (0, 2 * window - clip.shape[1]), value=float(clip.max()) - 2)
        frames: torch.Tensor = self._encoder(padded[None]).last_hidden_state[0]
        return frames[: -(-clip.shape[1] // 2)]


class FrozenText:
    """A text encoder of BERT's or Llama's kind: the last layer's vector of each token.

    Args:
        source: hub id or folder, with its tokenizer.

    Raises:
        ConfigError: not there, or incomplete.
    """

    def __init__(self, source: str) -> None:
        from transformers import AutoTokenizer

        self._tokenizer = reading(_TEXT, source, lambda: AutoTokenizer.from_pretrained(source))
        self._model = _read_model(_TEXT, source).requires_grad_(requires_grad=False).eval()

    @property
    def width(self) -> int:
        """Numbers a token."""
        return int(self._model.config.hidden_size)

    @torch.no_grad()
    def frames(self, text: str) -> torch.Tensor:
        """float32 [tokens, width]; of an empty text, one vector of zeros."""
        tokens = self._tokenizer(text, return_tensors="pt", truncation=True)["input_ids"]
        if not tokens.numel():
            return torch.zeros(1, self.width)
        frames: torch.Tensor = self._model(input_ids=tokens).last_hidden_state[0]
        return frames.float()


def _read_model(what: str, source: str) -> Any:
    from transformers import AutoModel

    def load() -> Any:
        return AutoModel.from_pretrained(source, dtype=torch.float32, output_loading_info=True)

    model, info = reading(what, source, load)
    require_complete(what, source, info["missing_keys"])
    return model
