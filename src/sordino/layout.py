"""Where each trainable tensor lies in the one flat vector that clients send.

Models make a layout, privacy reads it, and neither needs to know the other. An update is one float32 vector; a tensor,
a group of tensors and a component are slices of it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from sordino._check import one_of
from sordino.errors import ConfigError

__all__ = ["GROUPINGS", "Group", "ParameterLayout", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One tensor's place: elements ``start:stop`` of the flat vector, in row-major order.

    Attributes:
        name: full path of the parameter inside the model.
        component: part of the model it belongs to, e.g. ``encoder``, ``connector`` or ``decoder``.
    """

    name: str
    component: str
    shape: tuple[int, ...]
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Group:
    """Tensors that an allocation treats as one: a set of slices of the flat vector.

    Attributes:
        slices: ``(start, stop)`` pairs, ascending, neighbours merged.
        components: the components it touches, in layout order.
    """

    name: str
    components: tuple[str, ...]
    slices: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """Number of parameters, the papers' p_g."""
        return sum(stop - start for start, stop in self.slices)


def _layer(name: str) -> str:
    match = re.match(r"((?:.*?\.)?(?:layers|layer|h|blocks)\.\d+)\.", name)
    return match.group(1) if match else name.rsplit(".", 1)[0]


def _pair(name: str) -> str:
    return re.sub(r"\.lora_[AB](\.\w+)?\.weight$", "", name)


GROUPINGS: Final[Mapping[str, Callable[[Slot], str]]] = {
    "tensor": lambda slot: slot.name,
    "pair": lambda slot: _pair(slot.name),
    "layer": lambda slot: _layer(slot.name),
    "component": lambda slot: slot.component,
}
"""How tensors form groups: each by itself, LoRA's A with its B, whole layers, or whole components."""


def merged(slices: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same elements with touching neighbours joined."""
    result: list[tuple[int, int]] = []
    for start, stop in sorted(slices):
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], stop)
        else:
            result.append((start, stop))
    return tuple(result)


@dataclass(frozen=True)
class ParameterLayout:
    """The trainable tensors of a model, in order, and how they are grouped.

    Args:
        slots: tensors whose slices tile ``0:size`` without gap or overlap.
        grouping: one of `GROUPINGS`.

    Raises:
        ConfigError: unknown grouping, a repeated name, or slots that do not tile the vector.
    """

    slots: tuple[Slot, ...]
    grouping: str = "tensor"

    def __post_init__(self) -> None:
        one_of("privacy.grouping", self.grouping, GROUPINGS)
        end = 0
        for slot in self.slots:
            if slot.start != end or slot.size != math.prod(slot.shape):
                raise ConfigError(
                    f"slot {slot.name!r} covers {slot.start}:{slot.stop}; expected {end}:{end + math.prod(slot.shape)} "
                    f"for shape {slot.shape}."
                )
            end = slot.stop
        if len({slot.name for slot in self.slots}) != len(self.slots):
            raise ConfigError("two slots of a layout have the same name; give every tensor its full path.")

    @classmethod
    def from_shapes(
        cls, shapes: Iterable[tuple[str, str, Sequence[int]]], *, grouping: str = "tensor"
    ) -> ParameterLayout:
        """Lays out ``(name, component, shape)`` triples one after another."""
        slots, start = [], 0
        for name, component, shape in shapes:
            stop = start + math.prod(shape)
            slots.append(Slot(name, component, tuple(shape), start, stop))
            start = stop
        return cls(tuple(slots), grouping)

    @property
    def size(self) -> int:
        """Length of the flat vector, the papers' p."""
        return self.slots[-1].stop if self.slots else 0

    @cached_property
    def components(self) -> Mapping[str, int]:
        """Number of parameters of each component, in order of appearance."""
        sizes: dict[str, int] = {}
        for slot in self.slots:
            sizes[slot.component] = sizes.get(slot.component, 0) + slot.size
        return sizes

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups under `grouping`, in order of first appearance; they tile the vector."""
        members: dict[str, list[Slot]] = {}
        for slot in self.slots:
            members.setdefault(GROUPINGS[self.grouping](slot), []).append(slot)
        return tuple(
            Group(
                name,
                tuple(dict.fromkeys(slot.component for slot in slots)),
                merged((slot.start, slot.stop) for slot in slots),
            )
            for name, slots in members.items()
        )

    @cached_property
    def digest(self) -> str:
        """Fingerprint of names, components and shapes: two parties that agree on it mean the same vector."""
        text = json.dumps([[slot.name, slot.component, slot.shape] for slot in self.slots])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def grouped(self, grouping: str) -> ParameterLayout:
        """The same tensors under another grouping."""
        return replace(self, grouping=grouping)

    def select(self, names: Iterable[str]) -> ParameterLayout:
        """The layout of some of the tensors, their slices counted from zero again."""
        wanted = set(names)
        missing = wanted - {slot.name for slot in self.slots}
        if missing:
            raise ConfigError(
                f"the layout has no tensor {sorted(missing)[0]!r}; choose among its {len(self.slots)} names."
            )
        kept = ((slot.name, slot.component, slot.shape) for slot in self.slots if slot.name in wanted)
        return ParameterLayout.from_shapes(kept, grouping=self.grouping)
