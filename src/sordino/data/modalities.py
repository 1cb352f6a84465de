"""What is known of an utterance besides its sound and words: a track of numbers for each further modality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import torch

from sordino._check import at_least
from sordino.data.audio import read_audio
from sordino.data.prosody import PROSODY, prosody
from sordino.data.recent import Recent
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError, DataError

__all__ = ["ModalityFeatures", "ProsodyTrack", "Track"]

Frames = npt.NDArray[np.float32]

_SMALLEST_STD: Final = 1e-3


class Track(Protocol):
    """Where the frames of one modality come from."""

    @property
    def width(self) -> int:
        """Numbers a frame."""
        ...

    def __call__(self, utterance: Utterance) -> Frames | None:
        """float32 [frames, width] with at least one frame, or None where this utterance lacks the modality."""
        ...


class ProsodyTrack:
    """Pitch and energy of the recording, `sordino.data.prosody.prosody`."""

    width = len(PROSODY)

    def __call__(self, utterance: Utterance) -> Frames:
        return prosody(read_audio(utterance.audio, offset_s=utterance.offset_s, duration_s=utterance.duration_s))


class ModalityFeatures:
    """Frames of every modality that an utterance has, computed once while they stay among the recently used.

    A modality that an utterance lacks is not in the result, never zeros in its place.

    With ``own`` every column is shifted and scaled by the mean and standard deviation that it has over the speaker's own
    clips, which a device can do by itself, without labels: what is high for one voice is low for another.

    | case | result |
    |---|---|
    | a speaker without a clip in ``own`` | the utterance stands for all of the speaker's clips |
    | a column that never changes | shifted to 0 |

    Args:
        tracks: by the modality's name; ``prosody`` alone if not given.
        own: clips of the speakers, e.g. all of a corpus; none leaves the tracks as they are.
        limit_mb: most memory for what is kept, in 10^6 bytes.

    Raises:
        ConfigError: no track.
    """

    def __init__(
        self,
        tracks: Mapping[str, Track] = MappingProxyType({"prosody": ProsodyTrack()}),
        *,
        own: Iterable[Utterance] = (),
        limit_mb: float = 256,
    ) -> None:
        if not tracks:
            raise ConfigError("no modality is named; name at least one, such as prosody.")
        self._tracks = dict(tracks)
        self._recent: Recent[Frames] = Recent(int(at_least("limit_mb", limit_mb, 0) * 1e6))
        self._clips: dict[str, list[Utterance]] = {}
        for utterance in own:
            self._clips.setdefault(utterance.speaker, []).append(utterance)
        self._scales: dict[tuple[str, str], tuple[Frames, Frames]] = {}

    @property
    def widths(self) -> Mapping[str, int]:
        """Numbers a frame of each modality."""
        return {name: track.width for name, track in self._tracks.items()}

    def of(self, utterance: Utterance) -> dict[str, torch.Tensor]:
        """The modalities that this utterance has.

        Shape:
            result: float32 [frames, width] each

        Raises:
            DataError: the recording or a feature file is unusable.
        """
        found = {name: self._frames(name, utterance) for name in self._tracks}
        return {name: torch.tensor(frames) for name, frames in found.items() if frames is not None}

    def _frames(self, name: str, utterance: Utterance) -> Frames | None:
        frames = self._raw(name, utterance)
        if frames is None or not self._clips:
            return frames
        key = name, utterance.speaker
        if key not in self._scales:
            own = (self._raw(name, clip) for clip in self._clips.get(utterance.speaker, [utterance]))
            everything = np.concatenate([clip for clip in own if clip is not None] or [frames])
            self._scales[key] = everything.mean(axis=0), np.maximum(everything.std(axis=0), _SMALLEST_STD)
        mean, std = self._scales[key]
        return (frames - mean) / std

    def _raw(self, name: str, utterance: Utterance) -> Frames | None:
        key = name, utterance.key, utterance.attributes.get("segment")
        kept = self._recent.get(key)
        if kept is None:
            kept = self._tracks[name](utterance)
            if kept is None:
                return None
            if (
                kept.ndim != 2
                or not len(kept)
                or kept.shape[1] != self._tracks[name].width
                or not np.isfinite(kept).all()
            ):
                raise DataError(
                    f"modality {name!r} of {utterance.key} has shape {kept.shape} or a value that is not finite: expected "
                    f"[frames, {self._tracks[name].width}]; repair its source, or leave the utterance out."
                )
            self._recent.put(key, kept, num_bytes=kept.nbytes)
        return kept
