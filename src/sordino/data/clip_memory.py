"""What was computed of clips: in memory, on disk, or computed now."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Final

import torch

from sordino._check import at_least
from sordino.data.recent import Recent
from sordino.data.shelf import Shelf
from sordino.data.utterance import Utterance

__all__ = ["ClipMemory"]

_COMPUTED_BY: Final = ("sordino", "numpy", "scipy", "soundfile", "soxr", "torch", "transformers")
"""Packages whose next version may give other bits."""


class ClipMemory:
    """Tensors of utterances, computed once for each while there is room.

    They are asked for by the recording, with its size and time of change, and by what makes them, so that a recording that
    was replaced and another model never meet old ones.

    Args:
        limit_mb: most memory for what is kept, in 10^6 bytes.
        shelf: keeps them beyond that and beyond this process; None: nothing is written to disk.
    """

    def __init__(self, limit_mb: float, *, shelf: Shelf | None = None) -> None:
        self.recent: Recent[tuple[torch.Tensor, ...]] = Recent(int(at_least("limit_mb", limit_mb, 0) * 1e6))
        self.shelf = shelf

    def of(
        self, utterance: Utterance, compute: Callable[[], tuple[torch.Tensor, ...]], *, made_by: str
    ) -> tuple[torch.Tensor, ...]:
        """The utterance's tensors.

        Args:
            utterance: whose.
            compute: makes them, on the CPU.
            made_by: names whatever they depend on besides the recording.

        Raises:
            DataError: as ``compute``.
        """
        recording = _identity(utterance)
        kept = self.recent.get((recording, made_by))
        if kept is None:
            kept = self._from_disk(recording, compute, made_by)
            self.recent.put((recording, made_by), kept, num_bytes=sum(tensor.nbytes for tensor in kept))
        return kept

    def _from_disk(
        self, recording: tuple[str, int, int], compute: Callable[[], tuple[torch.Tensor, ...]], made_by: str
    ) -> tuple[torch.Tensor, ...]:
        if self.shelf is None:
            return compute()
        key = json.dumps([recording, made_by, _versions()])
        kept = self.shelf.get(key)
        if kept is None:
            kept = compute()
            self.shelf.put(key, kept)
        return kept


def _identity(utterance: Utterance) -> tuple[str, int, int]:
    """What stays the same while the recording is not replaced: place, size and time of change."""
    try:
        found = utterance.audio.stat()
    except OSError:  # reading it says what is wrong
        return utterance.key, -1, -1
    place = f"{utterance.audio.absolute()}@{utterance.offset_s}+{utterance.duration_s}"
    return place, found.st_size, found.st_mtime_ns


@cache
def _versions() -> list[str]:
    return [version(package) for package in _COMPUTED_BY]
