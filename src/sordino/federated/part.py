"""A part of the flat vector: what a phase trains and sends, or what a client keeps for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import torch

from sordino._check import one_of
from sordino.layout import ParameterLayout, Slot, merged

__all__ = ["Part"]


@dataclass(frozen=True)
class Part:
    """Some tensors of a layout, seen as a shorter flat vector of their own.

    Args:
        whole: the layout that it is a part of.
        names: the tensors, by their full names.

    Raises:
        ConfigError: the layout has no such tensor.
    """

    whole: ParameterLayout
    names: frozenset[str]

    @classmethod
    def of(cls, whole: ParameterLayout, components: Iterable[str], *, key: str = "components") -> Part:
        """The tensors of some components.

        Args:
            whole: the layout.
            components: their names, in any order.
            key: what the names were read from, for messages.

        Raises:
            ConfigError: the layout has no such component.
        """
        wanted = {one_of(key, name, whole.components) for name in components}
        return cls._where(whole, lambda slot: slot.component in wanted)

    @classmethod
    def _where(cls, whole: ParameterLayout, chosen: Callable[[Slot], bool]) -> Part:
        return cls(whole, frozenset(slot.name for slot in whole.slots if chosen(slot)))

    @property
    def rest(self) -> Part:
        """The other tensors."""
        return self._where(self.whole, lambda slot: slot.name not in self.names)

    @cached_property
    def layout(self) -> ParameterLayout:
        """The part's own layout, its slices counted from zero."""
        return self.whole if self.is_whole else self.whole.select(self.names)

    @property
    def size(self) -> int:
        """Number of its parameters."""
        return sum(stop - start for start, stop in self.slices)

    @property
    def is_whole(self) -> bool:
        """Whether it is everything."""
        return len(self.names) == len(self.whole.slots)

    @cached_property
    def slices(self) -> tuple[tuple[int, int], ...]:
        """Where it lies in the whole vector, ascending, neighbours merged."""
        return merged((slot.start, slot.stop) for slot in self.whole.slots if slot.name in self.names)

    def of_component(self, component: str) -> tuple[tuple[int, int], ...]:
        """Where that of it which belongs to one component lies in the whole vector."""
        chosen = (slot for slot in self.whole.slots if slot.name in self.names and slot.component == component)
        return merged((slot.start, slot.stop) for slot in chosen)

    def take(self, values: torch.Tensor) -> torch.Tensor:
        """The part of a whole vector: that vector itself if the part is everything, otherwise a copy.

        Shape:
            values: float32 [whole.size]
            returns: float32 [size]
        """
        if self.is_whole:
            return values
        return torch.cat([values[start:stop] for start, stop in self.slices]) if self.slices else values[:0]

    def put(self, part: torch.Tensor, *, into: torch.Tensor) -> torch.Tensor:
        """A whole vector in which this part is ``part`` and the rest is that of ``into``, which stays as it is.

        Shape:
            part: float32 [size]
            into: float32 [whole.size]
            returns: float32 [whole.size]
        """
        if self.is_whole:
            return part
        result, first = into.clone(), 0
        for start, stop in self.slices:
            result[start:stop] = part[first : first + stop - start]
            first += stop - start
        return result

    def add(self, part: torch.Tensor, *, to: torch.Tensor) -> torch.Tensor:
        """A whole vector like ``to``, with ``part`` added to this part of it.

        Shape:
            part: float32 [size]
            to: float32 [whole.size], unchanged
            returns: float32 [whole.size]
        """
        return self.put(self.take(to) + part, into=to)
