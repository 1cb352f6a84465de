"""Parts of the flat vector: taken out, put back, and nothing else touched."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import ConfigError
from sordino.federated import Part
from sordino.layout import ParameterLayout

LAYOUT = ParameterLayout.from_shapes(
    [("a.w", "a", (2, 3)), ("b.w", "b", (4,)), ("a.v", "a", (1,)), ("c.w", "c", (2,)), ("b.v", "b", (3,))]
)


@given(st.sets(st.sampled_from([slot.name for slot in LAYOUT.slots])), st.integers(0, 100))
def test_taking_and_putting_back(names: set[str], seed: int) -> None:
    part = Part(LAYOUT, frozenset(names))
    generator = torch.Generator().manual_seed(seed)
    values, other = (torch.randn(LAYOUT.size, generator=generator) for _ in range(2))
    before = values.clone()
    assert torch.equal(part.put(part.take(values), into=values), values)
    mixed = part.put(part.take(other), into=values)
    assert torch.equal(part.take(mixed), part.take(other))
    assert torch.equal(part.rest.take(mixed), part.rest.take(values))
    assert torch.equal(part.rest.put(part.rest.take(values), into=part.put(part.take(other), into=other)), mixed)
    assert torch.equal(
        part.add(part.take(other), to=values), part.put(part.take(values) + part.take(other), into=values)
    )
    assert torch.equal(values, before)
    assert part.size == len(part.take(values)) == part.layout.size
    assert part.names | part.rest.names == {slot.name for slot in LAYOUT.slots}


def test_its_layout_counts_from_zero_in_the_wholes_order() -> None:
    part = Part.of(LAYOUT, ["b", "a"])
    assert [(slot.name, slot.start, slot.stop) for slot in part.layout.slots] == [
        ("a.w", 0, 6), ("b.w", 6, 10), ("a.v", 10, 11), ("b.v", 11, 14)
    ]  # fmt: skip
    assert part.slices == ((0, 11), (13, 16))
    assert part.of_component("a") == ((0, 6), (10, 11))


def test_the_whole_is_not_copied() -> None:
    whole, values = Part.of(LAYOUT, ["a", "b", "c"]), torch.zeros(LAYOUT.size)
    assert whole.is_whole
    assert whole.take(values) is values
    assert whole.layout is LAYOUT


def test_a_component_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match=r"options.parts = 'd' is not known.*choose one of a, b, c"):
        Part.of(LAYOUT, ["a", "d"], key="options.parts")
