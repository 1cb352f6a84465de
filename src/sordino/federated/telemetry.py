"""What happened among the clients of a round. None of it is covered by a guarantee: shown in debug runs only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sordino.federated.messages import Reply
from sordino.layout import Group
from sordino.privacy import ClippedUpdate, Plan, Released, ReleasedNorms, Step
from sordino.privacy.intake import TakenIn

__all__ = ["PhaseTelemetry", "RoundTelemetry"]


class RoundTelemetry:
    """What happened in the phases of one round.

    Args:
        drawn: size of the cohort.
    """

    def __init__(self, drawn: int) -> None:
        self._drawn, self._phases = drawn, list[tuple[str, PhaseTelemetry]]()

    def phase(self, step: Step) -> PhaseTelemetry:
        """A new phase, to which replies are added as they come."""
        made = PhaseTelemetry(step.plan)
        self._phases.append((step.phase.name, made))
        return made

    def to_json(self) -> dict[str, Any]:
        """The round's telemetry as plain types, see `PhaseTelemetry.to_json`.

        Of several phases, replies and what did not count are those of the phase that has most of them, the loss that of the
        first, steps and bytes are added up, and blocks stand one behind the other under their phase's name.
        """
        tables = [(name, phase.to_json()) for name, phase in self._phases]
        if len(tables) == 1:
            return {"drawn": self._drawn, **tables[0][1]}
        of_phases = [table for _, table in tables]
        return {
            "drawn": self._drawn,
            **{key: max((table[key] for table in of_phases), default=0) for key in ("replies", "not_finite")},
            "loss": of_phases[0]["loss"] if of_phases else 0.0,
            **{key: sum(table[key] for table in of_phases) for key in ("steps", "bytes_up")},
            "blocks": [{**row, "name": f"{name}: {row['name']}"} for name, table in tables for row in table["blocks"]],
            "groups": [row for table in of_phases for row in table["groups"]],
            "components": {name: norm for table in of_phases for name, norm in table["components"].items()},
            "phases": [name for name, _ in tables],
        }


class PhaseTelemetry:
    """Counts and averages over the replies of one phase, in constant memory.

    Args:
        plan: the phase's guarantee; groups that it watches are reported one by one and by component.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan, self._bounds = plan, plan.clipper.bounds
        self._components = list(plan.layout.components)
        self._home = [_block_of(group, self._bounds.blocks) for group in plan.watched]
        self._member = np.array([[name in group.components for group in plan.watched] for name in self._components])
        self._replies = self._not_finite = self._measured = self._sent = self._steps = 0
        self._loss = 0.0
        blocks, groups = len(self._bounds.norms), len(plan.watched)
        self._norms, self._clipped, self._kept = np.zeros(blocks), np.zeros(blocks), np.zeros(blocks)
        self._group_norms, self._group_sent = np.zeros(groups), np.zeros(groups)
        self._component_norms = np.zeros(len(self._components))

    def add(self, reply: Reply) -> None:
        """Counts one reply."""
        self._replies += 1
        self._steps += reply.steps
        self._sent += reply.update is not None
        if not isinstance(reply.update, ClippedUpdate):  # what a client has noised itself shows no norm any more
            self._loss += reply.loss
            return
        if not reply.update.finite:
            self._not_finite += 1
            return
        self._measured += 1
        self._loss += reply.loss
        norms = np.array(reply.update.norms)
        factors = np.where(norms > 0, self._plan.clipper.factors(reply.update.norms), 1.0)
        self._norms += norms
        self._clipped += factors < 1
        self._kept += np.minimum(1.0, factors)
        if self._plan.watched:
            watched = np.array(reply.update.watched_norms)
            self._group_norms += watched
            self._group_sent += watched * factors[self._home]
            self._component_norms += np.sqrt(self._member @ watched**2)

    @property
    def _counted(self) -> int:
        return max(self._measured, 1)

    def learnt(self, released: TakenIn) -> ReleasedNorms | None:
        """What the plan may learn from the phase: the released norms, or the clients' own if its allocation reads those."""
        if not isinstance(released, Released):
            return None
        if not self._plan.reads_raw_norms:
            return released.norms
        squared = tuple(float(value) for value in (self._norms / self._counted) ** 2)
        return replace(released.norms, norm_squared=squared, noise_std=(0.0,) * len(squared))

    def to_json(self) -> dict[str, Any]:
        """The phase's telemetry as plain types; infinite bounds are null.

        ``steps`` are optimiser steps of all clients together, ``bytes_up`` what all of them sent.

        By block: its bound C_b, mean norm before clipping, share of clients clipped, and the mean of what clipping left of
        it: min(1, C_b / norm) under the rule ``clip``.
        By watched group: mean norm before clipping, the standard deviation of the released mean's noise, and the signal
        to noise ratio of a coordinate ``(norm / sqrt p) / std`` with the norm as sent, null without noise. By component:
        mean norm.
        """
        n = self._counted
        return {
            "replies": self._replies,
            "not_finite": self._not_finite,
            "loss": self._loss / max(self._replies - self._not_finite, 1),
            "steps": self._steps,
            "bytes_up": 4 * self._plan.layout.size * self._sent,
            "blocks": [
                {
                    "name": block.name,
                    "clip_norm": bound if math.isfinite(bound) else None,
                    "mean_norm": float(norm) / n,
                    "clip_rate": float(clipped) / n,
                    "clip_ratio": float(kept) / n,
                }
                for block, bound, norm, clipped, kept in zip(
                    self._bounds.blocks, self._bounds.norms, self._norms, self._clipped, self._kept, strict=True
                )
            ],
            "groups": [self._group(index) for index in range(len(self._plan.watched))],
            "components": dict(zip(self._components, (self._component_norms / n).tolist(), strict=True)),
        }

    def _group(self, index: int) -> dict[str, Any]:
        group = self._plan.watched[index]
        std = self._plan.noise_stds[self._home[index]] / self._plan.expected_cohort
        sent = float(self._group_sent[index]) / self._counted
        return {
            "name": group.name,
            "component": group.components[0],
            "size": group.size,
            "mean_norm": float(self._group_norms[index]) / self._counted,
            "noise_std": std,
            "snr": sent / math.sqrt(group.size) / std if std > 0 else None,
        }


def _block_of(group: Group, blocks: Sequence[Group]) -> int:
    """Index of the block that the group's first element is clipped with."""
    start = group.slices[0][0] if group.slices else 0
    return next(i for i, block in enumerate(blocks) if any(a <= start < b for a, b in block.slices))
