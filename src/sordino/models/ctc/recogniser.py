"""The CTC recogniser: one output distribution a frame, in a speaker-independent and a speaker-dependent part.

Source: Graves et al., Connectionist Temporal Classification, 2006; the division into an SI and an SD part follows
personalised federated learning for dysarthric speech (arXiv 2606.13253).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from sordino._check import at_most
from sordino.errors import DataError
from sordino.models.attention import padding_bias
from sordino.models.ctc.loss import ctc_loss
from sordino.models.ctc.parts import Front, Parts
from sordino.models.ctc.units import Units
from sordino.models.fingerprint import fingerprint
from sordino.models.flat import FlatModule, FlatParameters, trainable

__all__ = ["SD", "SI", "Frames", "Outputs", "Recogniser"]

SI: Final = "si"
"""Component of what all speakers share: the layers up to the split."""

SD: Final = "sd"
"""Component of what may differ by speaker: the layers after the split and the output layer."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Clips after the front, padded to the longest.

    Shape:
        states: float32 [batch, longest, width], anything behind a clip's end.
        lengths: int64 [batch], frames of each.
    """

    states: torch.Tensor
    lengths: torch.Tensor

    @classmethod
    def of(cls, clips: Sequence[torch.Tensor]) -> Self:
        """Some clips, float32 [frames, width] each."""
        return cls(pad_sequence(list(clips), batch_first=True), torch.tensor([len(clip) for clip in clips]))

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def inside(self) -> torch.Tensor:
        """Which frames belong to their clip: bool [batch, longest]."""
        return torch.arange(self.states.shape[1])[None] < self.lengths[:, None]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a recogniser makes of some clips.

    Shape:
        embeddings: float32 [batch, width], each clip's mean over time of the speaker-independent part's output.
        log_probs: float32 [batch, longest, units], logarithms of each frame's distribution.
    """

    frames: Frames
    embeddings: torch.Tensor
    log_probs: torch.Tensor


def _time_mean(states: torch.Tensor, frames: Frames) -> torch.Tensor:
    inside = frames.inside.to(states.device)[:, :, None]
    return (states * inside).sum(dim=1) / inside.sum(dim=1)


class _Layers(nn.Module):
    """Neighbouring transformer layers under the numbers that they have in the whole model."""

    def __init__(self, layers: Mapping[int, nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({str(number): layer for number, layer in layers.items()})

    def forward(self, states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        for layer in self.layers.values():
            states = layer(states, attention_mask=mask)
        return states


class _SpeakerDependent(_Layers):
    def __init__(self, layers: Mapping[int, nn.Module], norm: nn.Module, head: nn.Linear) -> None:
        super().__init__(layers)
        self.norm = norm
        self.head = head

    def forward(self, states: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        scores: torch.Tensor = self.head(self.norm(super().forward(states, mask)))
        return scores


class Recogniser(FlatModule):
    """A frozen front, and layers that are all trained: the components `SI` and `SD` of one flat vector.

    A clip's frames see each other and never the padding behind them, so a clip's result does not depend on its batch
    (beyond the last bits of float32).

    Args:
        parts: the pretrained model.
        head: its output layer.
        units: what the head's outputs mean.
        split: how many layers are speaker-independent.

    Attributes:
        front: gives the frames that everything else takes.
        flat: the trainable tensors as one vector.

    Raises:
        ConfigError: fewer layers than ``split``.
    """

    def __init__(self, parts: Parts, *, head: nn.Linear, units: Units, split: int) -> None:
        super().__init__()
        at_most("model.split", split, len(parts.layers))
        numbered = dict(enumerate(parts.layers))
        self.front: Front = parts.front.eval().requires_grad_(requires_grad=False)
        self.si = _Layers({number: layer for number, layer in numbered.items() if number < split})
        self.sd = _SpeakerDependent(
            {number: layer for number, layer in numbered.items() if number >= split}, parts.norm, head
        )
        self.si.requires_grad_(requires_grad=True)
        self.sd.requires_grad_(requires_grad=True)
        self.units = units
        self.split = split
        self._saveable = parts.model
        self.flat = FlatParameters(trainable(self))

    @property
    def num_layers(self) -> int:
        """Transformer layers of both parts."""
        return len(self.si.layers) + len(self.sd.layers)

    @property
    def output_layer(self) -> frozenset[str]:
        """Full names of the output layer's tensors."""
        own = {id(tensor) for tensor in self.sd.head.parameters()}
        return frozenset(name for name, _, tensor in trainable(self) if id(tensor) in own)

    def train(self, mode: bool = True) -> Self:
        """As in every module, but the front stays in evaluation mode: its output is computed once for each clip."""
        super().train(mode)
        self.front.eval()
        return self

    @property
    def drops_units(self) -> bool:
        """Whether anything that is trained draws dropout masks."""
        rates = (
            getattr(module, name, 0.0)
            for module in (*self.si.modules(), *self.sd.modules())
            for name in (
                "p",
                "dropout",
                "activation_dropout",
            )  # of nn.Dropout, and of transformers' attention and layers
        )
        return any(isinstance(rate, float) and rate > 0 for rate in rates)

    @property
    def front_digest(self) -> str:
        """Fingerprint of whatever `hear` computes."""
        return fingerprint(self.front, repr(self.front))

    @torch.no_grad()
    def hear(self, clip: torch.Tensor) -> torch.Tensor:
        """The front's frames of one clip, in main memory; see `Front`."""
        frames: torch.Tensor = self.front(clip.to(self.flat.values.device))
        return frames.cpu()

    def outputs(self, frames: Frames) -> Outputs:
        """What both parts make of some clips."""
        if torch.is_grad_enabled():
            self.flat.attach()
        mask = self._mask(frames)
        states = self.si(frames.states.to(self.flat.values.device), mask)
        scores = self.sd(states, mask)
        return Outputs(frames, _time_mean(states, frames), F.log_softmax(scores.float(), dim=-1))

    def embeddings(self, frames: Frames) -> torch.Tensor:
        """Each clip's mean over time of the speaker-independent part's output: float32 [batch, width]."""
        return _time_mean(self.si(frames.states.to(self.flat.values.device), self._mask(frames)), frames)

    def _mask(self, frames: Frames) -> torch.Tensor | None:
        """Added to the attention's scores; None where no clip is padded."""
        return padding_bias(frames.inside.to(self.flat.values.device))

    def loss(self, outputs: Outputs, texts: Sequence[str], *, num_units: int | None = None) -> torch.Tensor:
        """``-log P(text | clip)`` a unit of the texts; see `sordino.models.ctc.loss.ctc_loss`.

        Args:
            outputs: of the clips.
            texts: their normalised transcripts.
            num_units: what to divide the sum by where the clips are part of a larger batch: the units of all of it.

        Raises:
            DataError: as many texts as there are not clips.
        """
        if len(texts) != len(outputs.frames) or not texts:
            raise DataError(
                f"{len(outputs.frames)} clips came with {len(texts)} transcripts; give one for each, at least one."
            )
        return ctc_loss(
            outputs.log_probs,
            lengths=outputs.frames.lengths,
            targets=[self.units.encode(text) for text in texts],
            blank=self.units.blank,
            num_units=num_units,
        )

    @contextmanager
    def training_only(self, names: Collection[str]) -> Iterator[None]:
        """Leaves tensors of other names without gradients, and spares the work of computing them."""
        others = [tensor for name, _, tensor in trainable(self) if name not in names]
        for tensor in others:
            tensor.requires_grad = False
        try:
            yield
        finally:
            for tensor in others:
                tensor.requires_grad = True

    def save(self, folder: Path) -> None:
        """Writes the recogniser as a folder that ``model.base`` can name, in transformers' layout where it has one."""
        folder.mkdir(parents=True, exist_ok=True)
        layers = [*self.si.layers.values(), *self.sd.layers.values()]
        self._saveable.save(folder, layers=layers, head=self.sd.head, units=self.units)
