"""HuBERT and wav2vec 2.0, which hear samples, as the body of a recogniser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn
from torch.nn import functional as F

from sordino.errors import ConfigError
from sordino.models.checkpoints import reading, require_complete, without_progress_bars
from sordino.models.ctc.parts import Front, Parts, Saveable
from sordino.models.ctc.units import Units

__all__ = ["KINDS", "WaveformFront", "load_waveform"]

KINDS: Final = ("hubert", "wav2vec2")
"""The ``model_type`` of checkpoints that are read here."""

_WHAT: Final = "model.base"
_SHORTEST: Final = 400
"""Samples under which the convolutions give no frame."""


class WaveformFront(Front):
    """The convolutions over samples, the projection and the convolution that tells places in time apart.

    A clip goes through by itself, because the norm inside HuBERT base's convolutions runs over the whole clip: zeros behind
    it would change every frame.

    Args:
        body: a HubertModel or Wav2Vec2Model.
        normalise: scale each clip to mean 0 and variance 1, as the checkpoint's feature extractor does.
    """

    def __init__(self, body: Any, *, normalise: bool) -> None:
        super().__init__()
        self.num_mels = None
        self.width = body.config.hidden_size
        self.feature_extractor = body.feature_extractor
        self.feature_projection = body.feature_projection
        self.pos_conv_embed = body.encoder.pos_conv_embed
        self.layer_norm = nn.Identity() if body.config.do_stable_layer_norm else body.encoder.layer_norm
        self._normalise = normalise

    def extra_repr(self) -> str:
        """Whatever no layer says of itself."""
        return f"normalise={self._normalise}"

    def forward(self, clip: torch.Tensor) -> torch.Tensor:
        if self._normalise:
            clip = (clip - clip.mean()) / torch.sqrt(clip.var(unbiased=False) + 1e-7)
        clip = F.pad(clip, (0, max(0, _SHORTEST - len(clip))))
        states = self.feature_extractor(clip[None]).transpose(1, 2)
        projected = self.feature_projection(states)  # wav2vec 2.0 gives the unprojected states besides
        states = projected[0] if isinstance(projected, tuple) else projected
        frames: torch.Tensor = self.layer_norm(states + self.pos_conv_embed(states))[0]
        return frames


@dataclass(frozen=True)
class _CtcModel(Saveable):
    model: Any
    normalise: bool

    def save(self, folder: Path, *, layers: Sequence[nn.Module], head: nn.Linear, units: Units) -> None:
        """As transformers saves a model for CTC, with tokenizer and feature extractor where characters are written."""
        from transformers import Wav2Vec2FeatureExtractor

        model = self.model
        model.config = model.base_model.config = deepcopy(model.config)
        model.config.num_hidden_layers = len(layers)
        model.config.vocab_size = head.out_features
        model.config.pad_token_id = units.blank
        model.base_model.encoder.layers = nn.ModuleList(layers)
        model.lm_head = head
        weights = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
        with without_progress_bars():
            model.save_pretrained(folder, state_dict=weights)
        Wav2Vec2FeatureExtractor(do_normalize=self.normalise).save_pretrained(folder)
        units.write(folder)
        if not units.words:
            _write_tokenizer(folder, units)


def _write_tokenizer(folder: Path, units: Units) -> None:
    from transformers import Wav2Vec2CTCTokenizer

    path = folder / "vocab.json"
    path.write_text(json.dumps(units.vocabulary(), ensure_ascii=False) + "\n", encoding="utf-8")
    Wav2Vec2CTCTokenizer(str(path)).save_pretrained(str(folder))


def load_waveform(source: str, config: Any) -> Parts:
    """Takes a HubertForCTC, a Wav2Vec2ForCTC, or their bodies without an output layer apart.

    Args:
        source: hub id or folder.
        config: its config.

    Raises:
        ConfigError: no such model, weights missing, or layers of a kind that are not known here.
    """
    from transformers import HubertForCTC, Wav2Vec2ForCTC

    if getattr(config, "add_adapter", False) or getattr(config, "adapter_attn_dim", None) is not None:
        raise ConfigError(
            f"{_WHAT} = {source!r} has adapter layers behind its transformer, which are not known here; name a checkpoint "
            "without add_adapter and adapter_attn_dim."
        )
    kind: Any = HubertForCTC if config.model_type == "hubert" else Wav2Vec2ForCTC
    model, info = reading(
        _WHAT, source, lambda: kind.from_pretrained(source, dtype=torch.float32, output_loading_info=True)
    )
    missing = {name for name in info["missing_keys"] if not name.endswith("masked_spec_embed")}
    headless = bool(missing) and all(name.startswith("lm_head.") for name in missing)
    require_complete(_WHAT, source, () if headless else missing)
    body = model.base_model
    normalise = _normalises(source)
    last = body.encoder.layer_norm if config.do_stable_layer_norm else nn.Identity()
    return Parts(
        front=WaveformFront(body, normalise=normalise),
        layers=tuple(body.encoder.layers),
        norm=nn.Sequential(last, nn.Dropout(config.final_dropout)),
        head=None if headless else model.lm_head,
        units=None if headless else _units(source, config),
        model=_CtcModel(model, normalise),
    )


def _normalises(source: str) -> bool:
    from transformers import Wav2Vec2FeatureExtractor

    try:
        return bool(Wav2Vec2FeatureExtractor.from_pretrained(source).do_normalize)
    except OSError:  # the published ones without a feature extractor's file were trained on normalised clips
        return True


def _units(source: str, config: Any) -> Units:
    """What the output layer was trained to write: units that sordino has saved, or the tokenizer's vocabulary."""
    from transformers import Wav2Vec2CTCTokenizer

    saved = Units.read(Path(source)) if Path(source).is_dir() else None
    if saved is not None:
        return saved
    tokenizer = reading(_WHAT, source, lambda: Wav2Vec2CTCTokenizer.from_pretrained(source))
    return Units.of_tokenizer(tokenizer.get_vocab(), size=config.vocab_size, blank=config.pad_token_id)
