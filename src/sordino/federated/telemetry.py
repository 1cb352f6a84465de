"""What happened among the clients of a round. None of it is covered by a guarantee: shown in debug runs only."""

from __future__ import annotations

import math
from typing import Any

from sordino.federated.messages import Reply
from sordino.privacy import ClipBounds, ReleasedNorms

__all__ = ["RoundTelemetry"]


class RoundTelemetry:
    """Counts and per-block averages over the replies of one round, in constant memory.

    Args:
        drawn: size of the cohort.
        bounds: the round's blocks and clip norms.
    """

    def __init__(self, drawn: int, bounds: ClipBounds) -> None:
        self._drawn, self._bounds = drawn, bounds
        self._replies = self._not_finite = 0
        self._loss = 0.0
        self._norms = [0.0] * len(bounds.norms)
        self._clipped = [0] * len(bounds.norms)

    def add(self, reply: Reply) -> None:
        """Counts one reply."""
        self._replies += 1
        if not reply.update.finite:
            self._not_finite += 1
            return
        self._loss += reply.loss
        for index, (norm, bound) in enumerate(zip(reply.update.norms, self._bounds.norms, strict=True)):
            self._norms[index] += norm
            self._clipped[index] += norm > bound

    @property
    def _counted(self) -> int:
        return max(self._replies - self._not_finite, 1)

    def raw_norms(self) -> ReleasedNorms:
        """The clients' mean norms without noise: what ``ema_source = "raw"`` reads."""
        return ReleasedNorms(
            norm_squared=tuple((norm / self._counted) ** 2 for norm in self._norms),
            noise_std=(0.0,) * len(self._norms),
            size=tuple(block.size for block in self._bounds.blocks),
        )

    def to_json(self) -> dict[str, Any]:
        """The round's telemetry as plain types; infinite bounds are null."""
        return {
            "drawn": self._drawn,
            "replies": self._replies,
            "not_finite": self._not_finite,
            "loss": self._loss / self._counted,
            "blocks": [
                {
                    "name": block.name,
                    "clip_norm": bound if math.isfinite(bound) else None,
                    "mean_norm": norm / self._counted,
                    "clip_rate": clipped / self._counted,
                }
                for block, bound, norm, clipped in zip(
                    self._bounds.blocks, self._bounds.norms, self._norms, self._clipped, strict=True
                )
            ],
        }
