"""Clips as a network takes them: one pooled vector for each modality that a clip has, and nothing for one that it lacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from sordino.errors import DataError
from sordino.models.emotion.pooling import pool

__all__ = ["Clips"]


@dataclass(frozen=True, slots=True, eq=False)
class Clips:
    """Clips of which each may lack some modalities.

    Attributes:
        vectors: for each modality the vectors of the clips that have it, in the order of ``rows``.
        rows: for each modality which clips those are, ascending.
        targets: the class of each clip, or a number to predict.
        speakers: whose clip each is.

    Shape:
        vectors: float32 [clips that have it, width]
        rows: int64 [clips that have it]
        targets: int64 [clips], or float32 [clips]
    """

    vectors: Mapping[str, torch.Tensor]
    rows: Mapping[str, torch.Tensor]
    targets: torch.Tensor
    speakers: tuple[str, ...]

    @classmethod
    def of(
        cls,
        frames: Sequence[Mapping[str, torch.Tensor]],
        *,
        targets: torch.Tensor,
        speakers: Sequence[str],
        statistics: Mapping[str, Sequence[str]],
    ) -> Clips:
        """Pools each clip's frames.

        Args:
            frames: for each clip its modalities, float32 [frames, width] each.
            targets: as of the class.
            speakers: as of the class.
            statistics: what is taken of each modality; others are left out.

        Raises:
            DataError: no clip, lengths that differ, a modality that no clip has, or one whose width varies.
        """
        if not frames or not len(frames) == len(targets) == len(speakers):
            raise DataError(
                f"{len(frames)} clips, {len(targets)} targets and {len(speakers)} speakers: expected one of each for "
                "every clip, and at least one clip."
            )
        vectors, rows = {}, {}
        for name, wanted in statistics.items():
            having = [row for row, modalities in enumerate(frames) if name in modalities]
            pooled = [pool(frames[row][name], statistics=wanted) for row in having]
            widths = sorted({len(vector) // len(wanted) for vector in pooled})
            if len(widths) != 1:
                found = "no clip has it" if not widths else f"its frames are {widths[0]} to {widths[-1]} wide"
                raise DataError(f"modality {name!r}: {found}; expected one width in all clips; correct the features.")
            vectors[name], rows[name] = torch.stack(pooled), torch.tensor(having)
        return cls(vectors, rows, targets, tuple(speakers))

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, chosen: torch.Tensor) -> Clips:
        """Some of the clips, in the order of ``chosen``, int64 [chosen] without repetition."""
        place = torch.full((len(self),), -1)
        place[chosen] = torch.arange(len(chosen))
        vectors, rows = {}, {}
        for name, having in self.rows.items():
            new = place[having]
            order = new.argsort()[int((new < 0).sum()) :]
            vectors[name], rows[name] = self.vectors[name][order], new[order]
        return Clips(vectors, rows, self.targets[chosen], tuple(self.speakers[index] for index in chosen.tolist()))

    def of_speakers(self, speakers: Collection[str]) -> Clips:
        """The clips of some speakers."""
        return self.take(torch.tensor([i for i, who in enumerate(self.speakers) if who in speakers], dtype=torch.int64))

    def only(self, modalities: Collection[str]) -> Clips:
        """The same clips with nothing but these modalities."""
        return Clips(
            {name: self.vectors[name] for name in self.vectors if name in modalities},
            {name: self.rows[name] for name in self.rows if name in modalities},
            self.targets,
            self.speakers,
        )

    def thinned(self, random: np.random.Generator, *, rate: float) -> Clips:
        """The same clips, each of which lacks each of its modalities with chance ``rate``, but never the last one."""
        names = list(self.rows)
        having = torch.zeros(len(self), len(names), dtype=torch.bool)
        for column, name in enumerate(names):
            having[self.rows[name], column] = True
        stays = having & torch.from_numpy(random.random(having.shape) >= rate)
        stays = torch.where(stays.any(1, keepdim=True), stays, having)
        return self.without({name: ~stays[:, column] for column, name in enumerate(names)})

    def without(self, absent: Mapping[str, torch.Tensor]) -> Clips:
        """The same clips, of which some lack a modality.

        Args:
            absent: for some modalities, bool [clips], true for the clips that shall lack it.
        """
        vectors, rows = dict(self.vectors), dict(self.rows)
        for name, gone in absent.items():
            kept = ~gone[rows[name]]
            vectors[name], rows[name] = vectors[name][kept], rows[name][kept]
        return Clips(vectors, rows, self.targets, self.speakers)
