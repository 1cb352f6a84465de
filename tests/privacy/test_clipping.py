"""No input, however odd, leaves a clipped update above its bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import PrivacyError
from sordino.layout import Group, ParameterLayout
from sordino.privacy import ALLOCATIONS, AllocationState, ClipBounds, Clipper, ReleasedNorms

FP16_MAX, FP32_MAX = 65504.0, torch.finfo(torch.float32).max
SHAPES = [
    ("encoder.layers.0.self_attn.q_proj.lora_A.weight", "encoder", (2, 5)),
    ("encoder.layers.0.self_attn.q_proj.lora_B.weight", "encoder", (5, 2)),
    ("encoder.layers.1.self_attn.q_proj.lora_A.weight", "encoder", (2, 5)),
    ("encoder.layers.1.self_attn.q_proj.lora_B.weight", "encoder", (5, 2)),
    ("connector.weight", "connector", (3, 3)),
    ("connector.bias", "connector", (1,)),
    ("decoder.model.layers.0.self_attn.v_proj.lora_A.weight", "decoder", (2, 4)),
    ("decoder.model.layers.0.self_attn.v_proj.lora_B.weight", "decoder", (40, 2)),
]
LAYOUT = ParameterLayout.from_shapes(SHAPES)
EXTREMES = [0.0, -0.0, 1e-45, 1e-38, 1e-30, 1e-8, 1.0, FP16_MAX, 1e30, FP32_MAX, math.inf, -math.inf, math.nan]
NAMES = ALLOCATIONS.names()


def clipper_of(name: str, grouping: str, clip_norm: float, rounds: int = 0) -> Clipper:
    """The clipper after some rounds of random releases."""
    layout, state = LAYOUT.grouped(grouping), AllocationState()
    allocation = ALLOCATIONS.get(name)()
    sizes = tuple(block.size for block in allocation.blocks(layout))
    for number in range(rounds):
        norms = tuple(float(x) for x in 10.0 ** np.random.default_rng(number).uniform(-12, 12, len(sizes)))
        state = allocation.observe(state, ReleasedNorms(norms, (1e-4,) * len(sizes), sizes))
    return Clipper(allocation.bounds(layout, state, clip_norm), layout.size, layout.digest)


def norm_of(values: torch.Tensor, block: Group) -> float:
    return math.sqrt(math.fsum(float(x) ** 2 for start, stop in block.slices for x in values[start:stop].double()))


def check(clipper: Clipper, values: torch.Tensor) -> torch.Tensor:
    before = values.clone()
    clipped, norms, finite = clipper.clip(values)
    assert torch.equal(values.nan_to_num(), before.nan_to_num()), "the caller's tensor is left alone"
    assert clipped.dtype == torch.float32
    assert torch.isfinite(clipped).all()
    assert finite == bool(torch.isfinite(values.float()).all())
    total = clipper.bounds.total
    assert math.sqrt(math.fsum(float(x) ** 2 for x in clipped.double())) <= total * (1 + 1e-6)
    for block, bound, norm in zip(clipper.bounds.blocks, clipper.bounds.norms, norms, strict=True):
        assert norm_of(clipped, block) <= bound * (1 + 1e-6)
        if not finite:
            assert norm == 0.0
            continue
        assert norm == pytest.approx(norm_of(values.float(), block), rel=1e-6)
        for start, stop in block.slices:
            if norm <= bound:
                assert torch.equal(clipped[start:stop], values.float()[start:stop])
            elif bound == 0:
                assert not clipped[start:stop].count_nonzero()
        if norm > bound > 0:
            assert norm_of(clipped, block) == pytest.approx(bound, rel=1e-6)
    if not finite:
        assert not clipped.count_nonzero()
    return clipped


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_update_is_within_its_bounds(name: str, data: st.DataObject) -> None:
    grouping = data.draw(st.sampled_from(["tensor", "pair", "layer", "component"]))
    clipper = clipper_of(name, grouping, data.draw(st.sampled_from([1e-3, 1.0, 1e3])), data.draw(st.integers(0, 5)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    values = torch.from_numpy(rng.standard_normal(LAYOUT.size) * 10.0 ** rng.uniform(-6, 6, LAYOUT.size)).float()
    for place, extreme in data.draw(
        st.lists(st.tuples(st.integers(0, LAYOUT.size - 1), st.sampled_from(EXTREMES)), max_size=4)
    ):
        values[place] = extreme
    check(clipper, values.to(data.draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]))))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("extreme", EXTREMES)
def test_an_update_of_one_extreme_value_throughout(name: str, extreme: float) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        for rounds in (0, 5):
            check(
                clipper_of(name, "tensor", 1.0, rounds),
                torch.full((LAYOUT.size,), extreme, dtype=torch.float64).to(dtype),
            )


def test_what_single_precision_cannot_hold_counts_as_not_finite() -> None:
    values = torch.full((LAYOUT.size,), 1e300, dtype=torch.float64)
    assert not check(clipper_of("flat", "tensor", 1.0), values).count_nonzero()


def test_a_block_keeps_its_direction() -> None:
    values = torch.randn(LAYOUT.size, generator=torch.Generator().manual_seed(0))
    clipper = clipper_of("uniform", "tensor", 0.5)
    clipped = check(clipper, values)
    for block in clipper.bounds.blocks:
        (start, stop) = block.slices[0]
        ratio = clipped[start:stop] / values[start:stop]
        assert float(ratio.max()) == pytest.approx(float(ratio.min()), rel=1e-5)
        assert float(ratio.min()) > 0


def test_the_rounded_norm_never_exceeds_the_bound_even_slightly() -> None:
    generator = torch.Generator().manual_seed(1)
    clipper = clipper_of("flat", "tensor", 1.0)
    for scale in (1.0000001, 1.5, 1e3, 1e20, 1e38):
        for _ in range(50):
            values = torch.randn(LAYOUT.size, generator=generator)
            clipped, _, _ = clipper.clip(values / values.norm() * scale)
            assert norm_of(clipped, clipper.bounds.blocks[0]) <= 1.0


def test_a_block_of_several_slices_is_one_vector() -> None:
    block, rest = Group("split", ("encoder",), ((0, 1), (2, 3))), Group("rest", ("decoder",), ((1, 2),))
    clipper = Clipper(ClipBounds((block, rest), (1.0, 10.0)), 3, "digest")
    clipped, norms, _ = clipper.clip(torch.tensor([3.0, 7.0, 4.0]))
    assert norms == pytest.approx((5.0, 7.0))
    assert clipped.tolist() == pytest.approx([0.6, 7.0, 0.8], rel=1e-6)


def test_without_a_bound_only_non_finite_values_are_stopped() -> None:
    clipper = Clipper(ClipBounds(LAYOUT.groups, (math.inf,) * len(LAYOUT.groups)), LAYOUT.size, LAYOUT.digest)
    values = torch.full((LAYOUT.size,), FP32_MAX)
    assert torch.equal(clipper.clip(values)[0], values)
    values[5] = math.nan
    assert not clipper.clip(values)[0].count_nonzero()


@pytest.mark.parametrize(
    "values",
    [
        torch.zeros(LAYOUT.size - 1),
        torch.zeros(LAYOUT.size, 1),
        torch.zeros(()),
        torch.zeros(LAYOUT.size, dtype=torch.int32),
    ],
    ids=["short", "matrix", "scalar", "integers"],
)
def test_what_is_no_update_is_refused(values: torch.Tensor) -> None:
    with pytest.raises(PrivacyError, match=f"expected {LAYOUT.size} floating-point values"):
        clipper_of("flat", "tensor", 1.0).clip(values)


def test_an_update_that_still_needs_gradients_is_cut_off() -> None:
    clipped, _, _ = clipper_of("flat", "tensor", 1.0).clip(torch.ones(LAYOUT.size, requires_grad=True))
    assert not clipped.requires_grad
