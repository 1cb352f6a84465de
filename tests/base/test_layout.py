"""The flat vector: groupings tile it, selections re-base it, a digest names it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import ConfigError
from sordino.layout import GROUPINGS, ParameterLayout, Slot

NAMES = st.from_regex(r"(encoder|decoder)\.(path|layers|h|x)\.[0-2]\.(q|v)\.(lora_[AB]\.weight|bias)", fullmatch=True)
SHAPES = st.lists(st.integers(0, 4), max_size=3)
LAYOUTS = st.lists(
    st.tuples(NAMES, st.sampled_from(["encoder", "connector", "decoder"]), SHAPES),
    max_size=12,
    unique_by=lambda triple: triple[0],
).map(ParameterLayout.from_shapes)

LORA = ParameterLayout.from_shapes(
    [
        ("encoder.layers.0.q.lora_A.weight", "encoder", (2, 8)),
        ("encoder.layers.0.q.lora_B.weight", "encoder", (8, 2)),
        ("encoder.layers.10.q.lora_A.default.weight", "encoder", (2, 8)),
        ("encoder.layers.10.q.lora_B.default.weight", "encoder", (8, 2)),
        ("connector.0.weight", "connector", (3, 4)),
        ("connector.0.bias", "connector", (4,)),
        ("decoder.model.layers.0.v.lora_A.weight", "decoder", (2, 4)),
        ("decoder.model.layers.0.mlp.lora_A.weight", "decoder", (2, 4)),
    ]
)


@given(layout=LAYOUTS, grouping=st.sampled_from(sorted(GROUPINGS)))
def test_every_grouping_tiles_the_vector(layout: ParameterLayout, grouping: str) -> None:
    groups = layout.grouped(grouping).groups
    covered = sorted(element for group in groups for start, stop in group.slices for element in range(start, stop))
    assert covered == list(range(layout.size))
    assert sum(group.size for group in groups) == layout.size
    assert len({group.name for group in groups}) == len(groups)
    for group in groups:
        for (_, stop), (start, _) in zip(group.slices, group.slices[1:], strict=False):
            assert stop < start, "neighbours are merged, and slices ascend"


@given(layout=LAYOUTS)
def test_sizes_add_up(layout: ParameterLayout) -> None:
    assert layout.size == sum(math.prod(slot.shape) for slot in layout.slots)
    assert sum(layout.components.values()) == layout.size
    assert [group.name for group in layout.groups] == [slot.name for slot in layout.slots]


@given(layout=LAYOUTS, data=st.data())
def test_a_selection_keeps_order_and_counts_from_zero(layout: ParameterLayout, data: st.DataObject) -> None:
    names = [slot.name for slot in layout.slots]
    wanted = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    part = layout.grouped("component").select(wanted)
    assert [slot.name for slot in part.slots] == [name for name in names if name in wanted]
    assert [slot.start for slot in part.slots] == [
        sum(slot.size for slot in part.slots[:i]) for i in range(len(part.slots))
    ]
    assert part.grouping == "component"
    for slot in part.slots:
        original = next(other for other in layout.slots if other.name == slot.name)
        assert (slot.shape, slot.component) == (original.shape, original.component)


def test_pairs_join_a_and_b_of_one_matrix() -> None:
    groups = {group.name: group for group in LORA.grouped("pair").groups}
    assert groups["encoder.layers.0.q"].slices == ((0, 32),)
    assert groups["encoder.layers.10.q"].size == 32
    assert groups["connector.0.bias"].size == 4
    assert len(groups) == 6


def test_layers_are_the_outermost_numbered_blocks() -> None:
    assert [group.name for group in LORA.grouped("layer").groups] == [
        "encoder.layers.0",
        "encoder.layers.10",
        "connector.0",
        "decoder.model.layers.0",
    ]


def test_a_word_that_only_ends_like_a_layer_list_is_none() -> None:
    shapes = [("decoder.path.0.a.weight", "decoder", (1,)), ("decoder.path.0.b.weight", "decoder", (1,))]
    groups = ParameterLayout.from_shapes(shapes, grouping="layer").groups
    assert [group.name for group in groups] == ["decoder.path.0.a", "decoder.path.0.b"]


def test_components_may_lie_in_several_slices() -> None:
    shapes = [("a", "encoder", (2,)), ("b", "decoder", (3,)), ("c", "encoder", (1,))]
    layout = ParameterLayout.from_shapes(shapes, grouping="component")
    assert [(group.name, group.slices) for group in layout.groups] == [
        ("encoder", ((0, 2), (5, 6))),
        ("decoder", ((2, 5),)),
    ]
    assert dict(layout.components) == {"encoder": 3, "decoder": 3}


def test_a_group_names_all_components_it_touches() -> None:
    shapes = [("layers.0.a", "encoder", (2,)), ("layers.0.b", "decoder", (3,))]
    (group,) = ParameterLayout.from_shapes(shapes, grouping="layer").groups
    assert group.components == ("encoder", "decoder")


def test_the_digest_names_the_vector_and_not_the_grouping() -> None:
    base = [("a", "encoder", (2, 3)), ("b", "decoder", (1,))]
    layout = ParameterLayout.from_shapes(base)
    assert layout.digest == ParameterLayout.from_shapes(base).digest == layout.grouped("component").digest
    others = [
        [("a", "encoder", (3, 2)), ("b", "decoder", (1,))],
        [("a", "decoder", (2, 3)), ("b", "decoder", (1,))],
        [("c", "encoder", (2, 3)), ("b", "decoder", (1,))],
        [("b", "decoder", (1,)), ("a", "encoder", (2, 3))],
        [("a", "encoder", (2, 3))],
    ]
    assert len({layout.digest, *(ParameterLayout.from_shapes(other).digest for other in others)}) == 6


def test_an_empty_layout_is_a_layout() -> None:
    layout = ParameterLayout(())
    assert (layout.size, layout.groups, dict(layout.components)) == (0, (), {})


def test_slots_that_do_not_tile_are_refused() -> None:
    with pytest.raises(ConfigError, match="slot 'b' covers 3:4; expected 2:3"):
        ParameterLayout((Slot("a", "encoder", (2,), 0, 2), Slot("b", "encoder", (1,), 3, 4)))
    with pytest.raises(ConfigError, match="slot 'a' covers 0:2; expected 0:6"):
        ParameterLayout((Slot("a", "encoder", (2, 3), 0, 2),))


def test_repeated_names_unknown_groupings_and_unknown_tensors_are_refused() -> None:
    with pytest.raises(ConfigError, match="same name"):
        ParameterLayout.from_shapes([("a", "encoder", (1,)), ("a", "decoder", (1,))])
    with pytest.raises(ConfigError, match=r"privacy\.grouping = 'tensors' is not known \(did you mean 'tensor'\?\)"):
        LORA.grouped("tensors")
    with pytest.raises(ConfigError, match=r"no tensor 'nowhere'.*8 names"):
        LORA.select(["connector.0.bias", "nowhere"])
