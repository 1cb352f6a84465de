"""No input, however odd, leaves a clipped update above its bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import PrivacyError
from sordino.layout import Group, ParameterLayout
from sordino.privacy import ALLOCATIONS, AllocationState, ClipBounds, Clipper, ReleasedNorms
from sordino.privacy.clipping import Rule

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


def clipper_of(name: str, grouping: str, clip_norm: float, rounds: int = 0, rule: Rule = "clip") -> Clipper:
    """The clipper after some rounds of random releases."""
    layout, state = LAYOUT.grouped(grouping), AllocationState()
    allocation = ALLOCATIONS.get(name)()
    sizes = tuple(block.size for block in allocation.blocks(layout))
    for number in range(rounds):
        norms = tuple(float(x) for x in 10.0 ** np.random.default_rng(number).uniform(-12, 12, len(sizes)))
        rates = tuple(float(x) for x in np.random.default_rng(number).uniform(-0.5, 1.5, len(sizes)))
        state = allocation.observe(state, ReleasedNorms(norms, (1e-4,) * len(sizes), sizes, rates))
    return Clipper(allocation.bounds(layout, state, clip_norm), layout.size, layout.digest, rule)


def norm_of(values: torch.Tensor, block: Group) -> float:
    return math.sqrt(math.fsum(float(x) ** 2 for start, stop in block.slices for x in values[start:stop].double()))


def check(clipper: Clipper, values: torch.Tensor) -> torch.Tensor:
    before = values.clone()
    result = clipper.clip(values)
    clipped, norms, finite = result.values, result.norms, result.finite
    assert torch.equal(values.nan_to_num(), before.nan_to_num()), "the caller's tensor is left alone"
    assert clipped.dtype == torch.float32
    assert torch.isfinite(clipped).all()
    assert finite == bool(torch.isfinite(values.float()).all())
    total = clipper.bounds.total
    assert math.sqrt(math.fsum(float(x) ** 2 for x in clipped.double())) <= total * (1 + 1e-6)
    joint = math.hypot(*(norm for norm, bound in zip(norms, clipper.bounds.norms, strict=True) if bound > 0))
    for block, bound, norm in zip(clipper.bounds.blocks, clipper.bounds.norms, norms, strict=True):
        if not finite:
            assert norm == 0.0
            continue
        if clipper.rule == "normalise":
            check_normalised(clipped, values.float(), block, joint <= total, norm, bound)
            continue
        assert norm_of(clipped, block) <= bound * (1 + 1e-6)
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


def check_normalised(
    clipped: torch.Tensor, values: torch.Tensor, block: Group, within: bool, norm: float, bound: float
) -> None:
    """Nothing happens to an update within C, and every block of a larger one is brought to its own bound."""
    if bound == 0:
        assert norm_of(clipped, block) == 0
    elif within:
        assert all(torch.equal(clipped[start:stop], values[start:stop]) for start, stop in block.slices)
    else:
        assert norm_of(clipped, block) == pytest.approx(bound if norm > 0 else 0.0, rel=1e-6)


@pytest.mark.parametrize("rule", ["clip", "normalise"])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_update_is_within_its_bounds(name: str, rule: Rule, data: st.DataObject) -> None:
    grouping = data.draw(st.sampled_from(["tensor", "pair", "layer", "component"]))
    clip_norm, rounds = data.draw(st.sampled_from([1e-3, 1.0, 1e3])), data.draw(st.integers(0, 5))
    clipper = clipper_of(name, grouping, clip_norm, rounds, rule)
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
        values = torch.full((LAYOUT.size,), extreme, dtype=torch.float64).to(dtype)
        for rounds in (0, 5):
            check(clipper_of(name, "tensor", 1.0, rounds), values)
            check(clipper_of(name, "tensor", 1.0, rounds, "normalise"), values)


def test_normalising_lets_small_blocks_grow_only_where_the_whole_is_too_large() -> None:
    small, large = Group("small", ("encoder",), ((0, 2),)), Group("large", ("decoder",), ((2, 3),))
    clipper = Clipper(ClipBounds((small, large), (0.6, 0.8)), 3, "digest", "normalise")
    for tiny in (1e-3, 1e-30, 1e-45):
        assert clipper.clip(torch.tensor([0.0, tiny, 5.0])).values.tolist() == pytest.approx([0.0, 0.6, 0.8], rel=1e-6)
    assert clipper.clip(torch.tensor([0.0, 0.0, 5.0])).values.tolist() == pytest.approx([0.0, 0.0, 0.8], rel=1e-6)
    within = torch.tensor([0.1, 0.0, 0.9])
    assert torch.equal(clipper.clip(within).values, within)
    frozen = Clipper(ClipBounds((small, large), (0.0, 1.0)), 3, "digest", "normalise")
    assert frozen.clip(within).values.tolist() == pytest.approx([0.0, 0.0, 0.9])


def test_what_no_block_covers_is_not_sent() -> None:
    covered = Group("covered", ("encoder",), ((1, 3),))
    for rule in ("clip", "normalise"):
        clipper = Clipper(ClipBounds((covered,), (1.0,)), 4, "digest", rule)
        assert clipper.clip(torch.full((4,), 0.5)).values.tolist() == [0.0, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("size", [8191, 8192, 8193, 30_000])
def test_norms_of_long_blocks(size: int) -> None:
    values = torch.randn(size + 7, generator=torch.Generator().manual_seed(size))
    block = Group("long", ("encoder",), ((0, size - 5), (size - 3, size + 7)))
    clipped = Clipper(ClipBounds((block,), (1.0,)), size + 7, "digest").clip(values)
    kept = torch.cat([values[: size - 5], values[size - 3 :]]).double()
    assert clipped.norms == pytest.approx([float(kept.norm())], rel=1e-13)
    assert clipped.values[size - 5 : size - 3].tolist() == [0.0, 0.0]


def test_what_was_bounded_stays_as_it_is() -> None:
    values = torch.randn(LAYOUT.size, generator=torch.Generator().manual_seed(3)) * 10
    for rule in ("clip", "normalise"):
        clipper = clipper_of("dim", "tensor", 1.0, rule=rule)
        once = clipper.clip(values).values
        assert torch.equal(clipper.clip(once).values, once)


def test_watched_groups_are_measured_before_clipping() -> None:
    values = torch.randn(LAYOUT.size, generator=torch.Generator().manual_seed(4))
    clipper = replace(clipper_of("flat", "tensor", 0.1), watched=LAYOUT.groups)
    expected = [norm_of(values, group) for group in LAYOUT.groups]
    assert clipper.clip(values).watched_norms == pytest.approx(expected, rel=1e-6)
    assert clipper.clip(values * math.nan).watched_norms == (0.0,) * len(expected)


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
            clipped = clipper.clip(values / values.norm() * scale).values
            assert norm_of(clipped, clipper.bounds.blocks[0]) <= 1.0


@pytest.mark.parametrize("rule", ["clip", "normalise"])
@pytest.mark.parametrize("bound", [1e-45, 1e-39, 2.0**-101, 2.0**-100, 1e-20, 1e30])
@pytest.mark.parametrize("largest", [1e-45, 1e-30, 1.0, FP32_MAX])
def test_no_bound_is_too_small_or_too_large_for_rounding(rule: Rule, bound: float, largest: float) -> None:
    first, second = Group("first", ("encoder",), ((0, 50),)), Group("second", ("decoder",), ((50, 60),))
    clipper = Clipper(ClipBounds((first, second), (bound, 2 * bound)), 60, "digest", rule)
    values = torch.rand(60, generator=torch.Generator().manual_seed(5)) * largest
    for other in (1e-45, 1e-10, FP32_MAX):
        values[50:] = other
        clipped = clipper.clip(values).values
        squares = [sum(Fraction(value) ** 2 for value in clipped[a:b].tolist()) for a, b in ((0, 50), (50, 60))]
        assert sum(squares) <= 5 * Fraction(bound) ** 2 * (1 + Fraction(2) ** -40)
        if rule == "clip":
            assert squares[0] <= Fraction(bound) ** 2 * (1 + Fraction(2) ** -40)


def test_a_block_of_several_slices_is_one_vector() -> None:
    block, rest = Group("split", ("encoder",), ((0, 1), (2, 3))), Group("rest", ("decoder",), ((1, 2),))
    clipper = Clipper(ClipBounds((block, rest), (1.0, 10.0)), 3, "digest")
    clipped = clipper.clip(torch.tensor([3.0, 7.0, 4.0]))
    assert clipped.norms == pytest.approx((5.0, 7.0))
    assert clipped.values.tolist() == pytest.approx([0.6, 7.0, 0.8], rel=1e-6)


def test_without_a_bound_only_non_finite_values_are_stopped() -> None:
    clipper = Clipper(ClipBounds(LAYOUT.groups, (math.inf,) * len(LAYOUT.groups)), LAYOUT.size, LAYOUT.digest)
    values = torch.full((LAYOUT.size,), FP32_MAX)
    assert torch.equal(clipper.clip(values).values, values)
    values[5] = math.nan
    assert not clipper.clip(values).values.count_nonzero()


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
    clipped = clipper_of("flat", "tensor", 1.0).clip(torch.ones(LAYOUT.size, requires_grad=True))
    assert not clipped.values.requires_grad
