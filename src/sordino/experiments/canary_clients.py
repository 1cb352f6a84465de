"""Clients that an audit plants among the ordinary ones, and the ear that hears what is released."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from sordino.evaluation.attacks import Canaries
from sordino.federated import Backend, ClientMemory, FederatedMethod, Learner, Reply, ServerState, Stage, Task
from sordino.layout import ParameterLayout
from sordino.privacy import Bounding, Clipper, Released, Update

__all__ = ["WHOLE", "Listening", "WithCanaries", "amplitudes", "kinds_of"]

WHOLE: Final = "whole"
"""The kind of canary that sends something for every parameter; each other kind is a component's name."""

_EXCESS: Final = 10.0
"""A canary sends so many times its bound, so that a clip which is left out shows."""

_UNBOUNDED: Final = 100.0
"""Norm of a canary that nothing bounds: far above what training moves."""

_PREFIX: Final = "canary-"


def kinds_of(clipper: Clipper, layout: ParameterLayout) -> tuple[str, ...]:
    """The whole, and each component that anybody may send anything for."""
    names = layout.components if len(layout.components) > 1 else ()
    return (WHOLE, *(name for name in names if amplitudes(clipper, layout, name).any()))


def amplitudes(clipper: Clipper, layout: ParameterLayout, kind: str, *, excess: float = 1.0) -> npt.NDArray[np.float32]:
    """What a canary sends, apart from its signs: ``C_b / sqrt(p_b)`` on the parameters of each block that its kind touches.

    Args:
        clipper: bounds of the round. Where they are infinite, the canary has a norm of 100 and no excess.
        layout: tells components.
        kind: `WHOLE` or a component.
        excess: factor on everything.

    Shape:
        result: float32 [layout.size]
    """
    touched = np.zeros(layout.size, bool)
    for slot in layout.slots:
        touched[slot.start : slot.stop] = kind in (WHOLE, slot.component)
    result = np.zeros(layout.size, np.float32)
    for block, bound in zip(clipper.bounds.blocks, clipper.bounds.norms, strict=True):
        size = sum(int(touched[start:stop].sum()) for start, stop in block.slices)
        height = (
            excess * bound / math.sqrt(max(size, 1)) if math.isfinite(bound) else _UNBOUNDED / math.sqrt(touched.sum())
        )
        for start, stop in block.slices:
            result[start:stop] = touched[start:stop] * height
    return result


@dataclass(frozen=True)
class WithCanaries(Backend):
    """Ordinary clients and canaries. A canary takes no training; all else that happens to an update happens to its own.

    Args:
        ordinary: where the ordinary clients run.
        ids: which of them take part.
        canaries: all of them.
        included: their coins, bool [num].
        layout: of the updates.
    """

    ordinary: Backend
    ids: tuple[str, ...]
    canaries: Canaries
    included: npt.NDArray[np.bool_]
    layout: ParameterLayout

    def clients(self) -> Sequence[str]:
        """The ordinary ones, then each canary whose coin says so."""
        return [*self.ids, *(f"{_PREFIX}{index}" for index in np.flatnonzero(self.included))]

    def gather(self, method: FederatedMethod, tasks: Sequence[Task]) -> Iterator[Reply]:
        """The ordinary clients' replies, then the canaries'."""
        yield from self.ordinary.gather(method, [task for task in tasks if task.client in self.ids])
        planted = [task for task in tasks if task.client not in self.ids]
        if planted:  # all tasks of a round have the same bounds
            clipper = planted[0].bounding.clipper
            heights = [amplitudes(clipper, self.layout, kind, excess=_EXCESS) for kind in self.canaries.kinds]
        for task in planted:
            index = int(task.client.removeprefix(_PREFIX))
            raw = torch.from_numpy(self.canaries.signs(index) * heights[self.canaries.kind[index]])
            yield self.reply(task.client, Update(raw), task.bounding)

    def reply(self, client: str, update: Update, bounding: Bounding) -> Reply:
        """What a canary answers: its update, bounded like anybody's."""
        return Reply(client, bounding.clip(update), 0.0)


@dataclass(frozen=True)
class Listening(FederatedMethod):
    """A method as it is, and a copy of all that is released to it.

    Args:
        method: the algorithm.
        heard: the released means so far, float32 [size] each.
    """

    method: FederatedMethod
    heard: list[npt.NDArray[np.float32]] = field(default_factory=list)

    def client(self, task: Task, learner: Learner, memory: ClientMemory) -> Reply:
        """The method's own."""
        return self.method.client(task, learner, memory)

    def combine(self, state: ServerState, released: Released, stage: Stage) -> ServerState:
        """The method's own, after keeping what it is given."""
        self.heard.append(released.values.numpy().copy())
        return self.method.combine(state, released, stage)
