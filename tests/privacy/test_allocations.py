"""The contract that every registered allocation keeps, then each allocation's own arithmetic.

A new allocation is found by its registry and tested here without being named.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import ConfigError, PrivacyError
from sordino.layout import GROUPINGS, ParameterLayout
from sordino.privacy import ALLOCATIONS, Allocation, AllocationState, ReleasedNorms
from sordino.privacy.allocations.auto import Auto, max_min_fair
from sordino.privacy.allocations.dim import Dim
from sordino.privacy.allocations.ema import DimEma, UniformEma
from sordino.privacy.allocations.flat import Flat
from sordino.privacy.allocations.pooled import Pooled
from sordino.privacy.allocations.split import AlphaSplit, recommended_alpha
from sordino.privacy.allocations.uniform import Uniform

REFERENCE = json.loads((Path(__file__).parent / "reference.json").read_text())

OPTION_SETS: dict[str, list[dict[str, Any]]] = {
    "alpha-split": [
        {"alpha": 0.5},
        {"fractions": {"encoder": 0.05, "connector": 0.05, "decoder": 0.9}},
        {"fractions": {"decoder": 0.2}},
    ],
    "auto": [{"eta": 5.0, "quantile": 0.9}],
    "pooled": [{"fractions": {"encoder": 0.05, "connector": 0.05, "decoder": 0.9}}],
    "dim-ema": [{"warmup": 0, "beta": 1.0, "gamma": 2.0}, {"warmup": 0, "ema_source": "raw"}],
    "uniform-ema": [{"warmup": 0, "beta": 0.5}],
}
EVERY = [
    pytest.param(kind(**options), id="-".join([name, *map(str, options)]))
    for name, kind in ALLOCATIONS
    for options in [{}, *OPTION_SETS.get(name, [])]
]


@st.composite
def layouts(draw: st.DrawFn) -> ParameterLayout:
    """LoRA pairs, norms and connectors of one to three components, small enough to clip thousands of times."""
    components = draw(st.lists(st.sampled_from(["encoder", "connector", "decoder"]), min_size=1, unique=True))
    shapes: list[tuple[str, str, tuple[int, ...]]] = []
    for component in components:
        if component == "connector":
            shapes += [
                ("connector.weight", component, (draw(st.integers(1, 4)), 3)),
                ("connector.bias", component, (3,)),
            ]
            continue
        for layer in range(draw(st.integers(1, 3))):
            rank, width = draw(st.integers(1, 3)), draw(st.integers(1, 6))
            stem = f"{component}.model.layers.{layer}.self_attn.q_proj"
            shapes.append((f"{stem}.lora_A.weight", component, (rank, width)))
            shapes.append((f"{stem}.lora_B.weight", component, (width, rank)))
    return ParameterLayout.from_shapes(shapes, grouping=draw(st.sampled_from(sorted(GROUPINGS))))


def observed(allocation: Allocation, layout: ParameterLayout, rounds: Sequence[int]) -> AllocationState:
    """The state after releases with random norms; each round is told by a seed."""
    blocks, state = allocation.blocks(layout), AllocationState()
    for seed in rounds:
        rng = np.random.default_rng(seed)
        exponents = rng.uniform(-30, 30, len(blocks)) * rng.integers(0, 2, len(blocks))
        norms = tuple(float(value) * int(rng.integers(0, 2)) for value in 10.0**exponents)
        noise = (float(10.0 ** rng.uniform(-6, 3)) * int(rng.integers(0, 2)),) * len(blocks)
        rates = tuple(float(rate) for rate in rng.normal(0.5, 0.6, len(blocks)))
        state = allocation.observe(state, ReleasedNorms(norms, noise, tuple(block.size for block in blocks), rates))
    return state


# --- the contract ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allocation", EVERY)
@settings(max_examples=40, deadline=None)
@given(layout=layouts(), clip_norm=st.floats(1e-3, 1e3), rounds=st.lists(st.integers(0, 2**32), max_size=5))
def test_squared_bounds_add_up_to_the_squared_clip_norm(
    allocation: Allocation, layout: ParameterLayout, clip_norm: float, rounds: list[int]
) -> None:
    bounds = allocation.bounds(layout, observed(allocation, layout, rounds), clip_norm)
    assert math.fsum(norm**2 for norm in bounds.norms) == pytest.approx(clip_norm**2, rel=1e-9)
    assert bounds.total == pytest.approx(clip_norm, rel=1e-9)
    assert all(0 <= norm <= clip_norm * (1 + 1e-12) for norm in bounds.norms)
    assert len(bounds.norms) == len(bounds.blocks)


@pytest.mark.parametrize("allocation", EVERY)
@settings(max_examples=20, deadline=None)
@given(layout=layouts())
def test_blocks_tile_the_vector_and_pools_tile_the_blocks(allocation: Allocation, layout: ParameterLayout) -> None:
    blocks = allocation.blocks(layout)
    covered = sorted(element for block in blocks for start, stop in block.slices for element in range(start, stop))
    assert covered == list(range(layout.size))
    indices = sorted(index for members in allocation.pools(layout).values() for index in members)
    assert indices == list(range(len(blocks)))


@pytest.mark.parametrize("allocation", EVERY)
def test_a_state_goes_through_a_checkpoint(allocation: Allocation) -> None:
    layout = ParameterLayout.from_shapes([("encoder.a", "encoder", (3,)), ("decoder.b", "decoder", (2, 2))])
    for rounds in ([], [1, 2, 3, 4]):
        state = observed(allocation, layout, rounds)
        assert pickle.loads(pickle.dumps(state)) == state
        table = json.loads(json.dumps({"rounds": state.rounds, "statistics": dict(state.statistics)}))
        again = AllocationState(table["rounds"], {key: tuple(value) for key, value in table["statistics"].items()})
        assert again == state


@pytest.mark.parametrize("allocation", EVERY)
def test_only_a_raw_source_reads_what_was_not_released(allocation: Allocation) -> None:
    assert allocation.reads_raw_norms == (getattr(allocation, "ema_source", "released") == "raw")


@dataclass(frozen=True)
class _Odd(Allocation):
    weights: tuple[float, ...]
    name = "odd"

    def shares(self, blocks: object, state: AllocationState) -> Sequence[float]:
        return self.weights


TWO = ParameterLayout.from_shapes([("encoder.a", "encoder", (3,)), ("decoder.b", "decoder", (5,))])


@pytest.mark.parametrize(
    "weights", [(0.0, 0.0), (1.0, -1.0), (1.0, math.nan), (1.0, math.inf), (1.0,), (1.0, 1.0, 1.0), ()]
)
def test_unsound_shares_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(PrivacyError, match="allocation 'odd' returned"):
        _Odd(weights).bounds(TWO, AllocationState(), 1.0)


@pytest.mark.parametrize("weights", [(1e308, 1e308), (1e-320, 3e-320), (0.0, 1e-300), (1e-300, 1e300)])
def test_only_ratios_of_shares_matter(weights: tuple[float, ...]) -> None:
    bounds = _Odd(weights).bounds(TWO, AllocationState(), 2.0)
    assert bounds.total == pytest.approx(2.0, rel=1e-9)


# --- the fixed allocations ---------------------------------------------------------------------------------------------


def test_flat_is_one_block_with_all_of_it() -> None:
    bounds = Flat().bounds(TWO, AllocationState(), 2.5)
    assert bounds.norms == (2.5,)
    assert bounds.blocks[0].slices == ((0, 8),)
    assert bounds.blocks[0].components == ("encoder", "decoder")


def test_uniform_and_dim_by_hand() -> None:
    assert Uniform().bounds(TWO, AllocationState(), 1.0).norms == pytest.approx([math.sqrt(1 / 2)] * 2)
    assert Dim().bounds(TWO, AllocationState(), 2.0).norms == pytest.approx(
        [2 * math.sqrt(3 / 8), 2 * math.sqrt(5 / 8)]
    )


def published_layout() -> ParameterLayout:
    """64 encoder matrices of equal share; 44 decoder matrices of 16,384 and a 4,096 connector: 724,992 together."""
    encoder = [(f"encoder.layers.{i}.lora_A.weight", "encoder", (8, 1280)) for i in range(64)]
    decoder = [(f"decoder.layers.{i}.lora_A.weight", "decoder", (8, 2048)) for i in range(44)]
    return ParameterLayout.from_shapes([*encoder, ("connector.weight", "connector", (4096,)), *decoder])


@pytest.mark.parametrize("row", REFERENCE["clip_norms_published_counts"], ids=lambda row: f"alpha={row['alpha']}")
def test_the_published_clip_norms(row: dict[str, float]) -> None:
    layout = published_layout()
    assert layout.components["decoder"] + layout.components["connector"] == 724_992
    bounds = AlphaSplit(alpha=row["alpha"]).bounds(layout, AllocationState(), 1.0)
    by_component = {component: set() for component in layout.components}
    for block, norm in zip(bounds.blocks, bounds.norms, strict=True):
        by_component[block.components[0]].add(round(norm, 4))
    assert by_component["encoder"] == {row["encoder"]}
    assert by_component["decoder"] == {row["decoder"]}


def test_the_published_flat_row_is_one_over_the_root_of_46() -> None:
    layout = ParameterLayout.from_shapes([(f"decoder.{i}", "decoder", (3,)) for i in range(46)])
    assert Uniform().bounds(layout, AllocationState(), 1.0).norms[0] == pytest.approx(0.1474, abs=5e-5)


# --- alpha-split -------------------------------------------------------------------------------------------------------

THREE = ParameterLayout.from_shapes(
    [
        ("encoder.a", "encoder", (3,)),
        ("encoder.b", "encoder", (1,)),
        ("connector.c", "connector", (6,)),
        ("decoder.d", "decoder", (10,)),
    ]
)


def squared(allocation: Allocation, layout: ParameterLayout) -> list[float]:
    return [norm**2 for norm in allocation.bounds(layout, AllocationState(), 1.0).norms]


def test_alpha_split_by_hand() -> None:
    assert squared(AlphaSplit(alpha=0.2), THREE) == pytest.approx([0.15, 0.05, 0.3, 0.5])
    assert AlphaSplit(alpha=0.2).pools(THREE) == {"encoder": (0, 1), "rest": (2, 3)}


def test_alpha_zero_freezes_the_encoder_and_a_missing_pool_gives_its_budget() -> None:
    assert squared(AlphaSplit(alpha=0.0), THREE) == pytest.approx([0, 0, 6 / 16, 10 / 16])
    decoder_only = THREE.select(["connector.c", "decoder.d"])
    assert squared(AlphaSplit(alpha=0.3), decoder_only) == pytest.approx([6 / 16, 10 / 16])
    encoder_only = THREE.select(["encoder.a", "encoder.b"])
    assert squared(AlphaSplit(alpha=0.3), encoder_only) == pytest.approx([0.75, 0.25])
    with pytest.raises(PrivacyError, match="all zero"):
        AlphaSplit(alpha=0.0).bounds(encoder_only, AllocationState(), 1.0)


def test_named_fractions() -> None:
    own = AlphaSplit(fractions={"encoder": 0.1, "connector": 0.3, "decoder": 0.6})
    assert squared(own, THREE) == pytest.approx([0.075, 0.025, 0.3, 0.6])
    assert list(own.pools(THREE)) == ["encoder", "connector", "decoder"]
    joined = AlphaSplit(fractions={"encoder": 0.2, "decoder": 0.8})
    assert squared(joined, THREE) == pytest.approx([0.15, 0.05, 0.3, 0.5])
    assert joined.pools(THREE)["decoder"] == (2, 3)
    left = AlphaSplit(fractions={"connector": 0.25})
    assert squared(left, THREE) == pytest.approx([0.75 * 3 / 14, 0.75 / 14, 0.25, 0.75 * 10 / 14])


def test_a_pool_of_empty_tensors_gives_its_budget_to_the_others() -> None:
    layout = ParameterLayout.from_shapes([("encoder.a", "encoder", (0,)), ("decoder.d", "decoder", (5,))])
    assert squared(AlphaSplit(alpha=0.5), layout) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alpha": 1.0}, "privacy.allocation.alpha = 1.0"),
        ({"alpha": -0.1}, "privacy.allocation.alpha = -0.1"),
        ({"alpha": math.nan}, "privacy.allocation.alpha = nan"),
        ({"alpha": 0.3, "fractions": {"decoder": 0.5}}, "privacy.allocation.alpha = 0.3 beside fractions"),
        ({"fractions": {"encoder": -0.5}}, "privacy.allocation.fractions.encoder = -0.5"),
        ({"fractions": {"encoder": 0.7, "decoder": 0.4}}, "privacy.allocation.fractions sum to 1.1"),
    ],
)
def test_bad_fractions_name_their_key(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        AlphaSplit(**options)
    assert named in str(caught.value)


def test_a_fraction_of_no_component_and_a_group_across_pools_are_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'encoder'"):
        AlphaSplit(fractions={"encodr": 0.5}).bounds(THREE, AllocationState(), 1.0)
    across = ParameterLayout.from_shapes(
        [("model.layers.0.a", "encoder", (2,)), ("model.layers.0.b", "decoder", (2,))], grouping="layer"
    )
    with pytest.raises(ConfigError, match=r"finer privacy\.grouping"):
        AlphaSplit().bounds(across, AllocationState(), 1.0)


def test_alpha_from_two_norms() -> None:
    assert recommended_alpha(1.0, 2.0) == pytest.approx(0.5)
    assert recommended_alpha(0.02, 0.2) == pytest.approx(0.04**2 / (0.04**2 + 0.2**2))
    with pytest.raises(ConfigError, match="decoder_norm = 0"):
        recommended_alpha(1.0, 0.0)


# --- pools -------------------------------------------------------------------------------------------------------------


def test_a_pool_is_one_block_with_the_budget_of_its_groups() -> None:
    split, pooled = AlphaSplit(alpha=0.2), Pooled(alpha=0.2)
    for grouping in GROUPINGS:
        layout = THREE.grouped(grouping)
        assert squared(pooled, layout) == pytest.approx([0.2, 0.8])
        assert [block.name for block in pooled.blocks(layout)] == ["encoder", "rest"]
    assert pooled.blocks(THREE)[1].components == ("connector", "decoder")
    by_pool = [sum(squared(split, THREE)[index] for index in indices) for indices in split.pools(THREE).values()]
    assert squared(pooled, THREE) == pytest.approx(by_pool)


def test_three_pools_of_which_two_lie_apart() -> None:
    apart = ParameterLayout.from_shapes([("a", "encoder", (2,)), ("b", "decoder", (3,)), ("c", "encoder", (4,))])
    blocks = Pooled(fractions={"encoder": 0.4, "decoder": 0.6}).blocks(apart)
    assert [(block.name, block.slices) for block in blocks] == [("encoder", ((0, 2), (5, 9))), ("decoder", ((2, 5),))]
    with pytest.raises(ConfigError, match="did you mean 'encoder'"):
        Pooled(fractions={"encodr": 0.5}).bounds(THREE, AllocationState(), 1.0)


# --- fair shares -------------------------------------------------------------------------------------------------------


def observe_rates(auto: Auto, *rounds: Sequence[float]) -> AllocationState:
    state = AllocationState()
    for rates in rounds:
        size = len(rates)
        state = auto.observe(state, ReleasedNorms((1.0,) * size, (0.0,) * size, (1,) * size, tuple(rates)))
    return state


@given(demand=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=6))
def test_fair_bounds_fill_the_budget_and_nobody_starves(demand: list[float]) -> None:
    bounds = max_min_fair(demand)
    assert math.fsum(bound * bound for bound in bounds) == pytest.approx(1.0)
    for wanted, bound in zip(demand, bounds, strict=True):
        assert bound >= min(wanted, 1 / math.sqrt(len(demand))) * (1 - 1e-9)
    short = [bound for wanted, bound in zip(demand, bounds, strict=True) if bound < wanted * (1 - 1e-9)]
    assert all(bound == pytest.approx(max(bounds)) for bound in short), "who gets less than it wants gets the most"


def test_fair_bounds_by_hand() -> None:
    assert max_min_fair([1.0, 1.0]) == pytest.approx([math.sqrt(0.5)] * 2)
    assert max_min_fair([1.0, 0.6, 0.1]) == pytest.approx([math.sqrt(1 - 0.36 - 0.01), 0.6, 0.1])
    assert max_min_fair([0.3, 0.4]) == pytest.approx([0.6, 0.8])


def test_auto_begins_with_equal_bounds_and_keeps_them_while_all_are_clipped() -> None:
    for state in (AllocationState(), observe_rates(Auto(), (1, 1, 1), (0.9, 1.2, 1.0))):
        assert squared_at(Auto(), THREE, state) == pytest.approx([1 / 3] * 3)


def test_auto_gives_what_a_small_component_leaves_to_the_others() -> None:
    norms, auto, state = {"encoder": 0.05, "connector": 3.0, "decoder": 5.0}, Auto(), AllocationState()
    for _ in range(12):
        bounds = auto.bounds(THREE, state, 1.0)
        rates = tuple(
            float(norms[block.name] > bound) for block, bound in zip(bounds.blocks, bounds.norms, strict=True)
        )
        state = auto.observe(state, ReleasedNorms((1.0,) * 3, (0.0,) * 3, (4, 6, 10), rates))
    encoder, connector, decoder = auto.bounds(THREE, state, 1.0).norms
    assert 0.03 < encoder < 0.1, "about its own norm"
    assert connector == decoder == pytest.approx(math.sqrt((1 - encoder**2) / 2))


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.8])
def test_a_demand_rests_where_the_quantile_is_unclipped(quantile: float) -> None:
    auto, equal = Auto(quantile=quantile), math.sqrt(0.5)
    rests, grows, shrinks = 1 - quantile, min(1.2 - quantile, 1.0), max(0.8 - quantile, 0.0)
    assert observe_rates(auto, (rests, rests)).statistics["demand"] == pytest.approx((equal, equal))
    larger, smaller = observe_rates(auto, (grows, shrinks)).statistics["demand"]
    assert larger == pytest.approx(equal * math.exp(grows - rests))
    assert smaller == pytest.approx(equal * math.exp(shrinks - rests))


def test_noise_beyond_all_and_none_does_not_count_as_more() -> None:
    assert observe_rates(Auto(), (-3.0, 7.0)) == observe_rates(Auto(), (0.0, 1.0))


def squared_at(allocation: Allocation, layout: ParameterLayout, state: AllocationState) -> list[float]:
    return [norm**2 for norm in allocation.bounds(layout, state, 1.0).norms]


# --- moving averages ---------------------------------------------------------------------------------------------------

SIZES = (100, 400)


def release(norms: Sequence[float], std: float = 0.0, sizes: Sequence[int] = SIZES) -> ReleasedNorms:
    return ReleasedNorms(tuple(norms), (std,) * len(norms), tuple(sizes))


WIDE = ParameterLayout.from_shapes([("encoder.a", "encoder", (100,)), ("decoder.b", "decoder", (400,))])


def test_the_average_by_hand() -> None:
    ema = UniformEma(beta=0.25, gamma=0.75, warmup=0)
    state = ema.observe(AllocationState(), release((5.0, 9.0), std=0.1))
    assert state.rounds == 1
    assert state.statistics["mean_square"] == pytest.approx((5 - 100 * 0.01, 9 - 400 * 0.01))
    assert state.statistics["variance"] == pytest.approx((2 * 100 * 1e-4, 2 * 400 * 1e-4))
    state = ema.observe(state, release((1.0, 20.0), std=0.2))
    assert state.statistics["mean_square"] == pytest.approx((0.75 * 4 + 0.25 * (1 - 4), 0.75 * 5 + 0.25 * (20 - 16)))
    assert state.statistics["variance"] == pytest.approx(
        (0.75**2 * 0.02 + 0.25**2 * 2 * 100 * 0.2**4, 0.75**2 * 0.08 + 0.25**2 * 2 * 400 * 0.2**4)
    )
    first, second = math.sqrt(2.25), math.sqrt(4.75)
    expected = [(nu / ((first + second) / 2)) ** 0.75 for nu in (first, second)]
    assert ema.shares(WIDE.groups, state) == pytest.approx(expected)


def test_negative_estimates_pull_the_average_down_before_it_is_cut() -> None:
    ema = UniformEma(beta=0.5, warmup=0)
    state = AllocationState()
    for norm in (1.0, -1.0):
        state = ema.observe(state, release((norm + 100 * 0.01, 4.0), std=0.1))
    assert state.statistics["mean_square"][0] == pytest.approx(0.0, abs=1e-12)


def test_the_first_rounds_use_base_shares() -> None:
    for ema, base in ((UniformEma(warmup=3), Uniform()), (DimEma(warmup=3), Dim())):
        state = AllocationState()
        for number in range(5):
            same = ema.bounds(WIDE, state, 1.0).norms == pytest.approx(base.bounds(WIDE, state, 1.0).norms)
            assert same == (number < 3), number
            state = ema.observe(state, release((100.0, 1.0)))


def test_dim_ema_weighs_its_base_shares() -> None:
    state = DimEma(warmup=0).observe(AllocationState(), release((9.0, 1.0)))
    shares = DimEma(warmup=0, gamma=0.75).shares(WIDE.groups, state)
    assert shares[0] / shares[1] == pytest.approx(100 / 400 * 3**0.75)


def test_a_group_within_two_standard_deviations_keeps_its_base_share() -> None:
    std, edge = 0.1, 2 * 0.1**2 * math.sqrt(2 * 100)
    ema = UniformEma(warmup=0, beta=1.0)
    for signal, measured in ((0.98 * edge, False), (1.02 * edge, True)):
        state = ema.observe(AllocationState(), release((signal + 100 * std**2, 1e6), std=std))
        shares = ema.shares(WIDE.groups, state)
        assert (shares[0] != 1.0) == measured
    nothing = ema.observe(AllocationState(), release((100 * std**2, 400 * std**2), std=std))
    assert ema.shares(WIDE.groups, nothing) == [1.0, 1.0]


def test_no_share_falls_under_one_percent_of_its_base() -> None:
    ema = DimEma(warmup=0)
    state = ema.observe(AllocationState(), release((1e-20, 1e6)))
    assert ema.shares(WIDE.groups, state)[0] == pytest.approx(0.01 * 100)


def test_estimates_of_squared_norms_are_unbiased_under_noise() -> None:
    rng, std, trials = np.random.default_rng(5), 0.3, 4000
    signal = np.full(50, 0.2)
    ema = UniformEma(beta=1.0)
    estimates = []
    for _ in range(trials):
        noisy = signal + std * rng.standard_normal(50)
        state = ema.observe(AllocationState(), release([float(noisy @ noisy)], std=std, sizes=[50]))
        estimates.append(state.statistics["mean_square"][0])
    error = np.std(estimates) / math.sqrt(trials)
    assert abs(np.mean(estimates) - 50 * 0.2**2) < 4 * error
    assert np.mean(np.array(estimates) < 0) > 0.01, "the estimate is not cut at zero before it is averaged"


def test_planted_norms_are_recovered_in_order() -> None:
    rng, std = np.random.default_rng(6), 0.02
    planted = [3.0, 1.0, 0.3]
    layout = ParameterLayout.from_shapes([(f"decoder.{i}", "decoder", (200,)) for i in range(3)])
    ema, state = UniformEma(), AllocationState()
    for _ in range(10):
        vectors = [norm / math.sqrt(200) + std * rng.standard_normal(200) for norm in planted]
        state = ema.observe(state, release([float(v @ v) for v in vectors], std=std, sizes=[200] * 3))
    norms = ema.bounds(layout, state, 1.0).norms
    assert norms[0] > norms[1] > norms[2]
    assert norms[0] / norms[1] == pytest.approx(3 ** (0.75 / 2), rel=0.1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"beta": 0.0}, "privacy.allocation.beta = 0.0"),
        ({"beta": 1.5}, "privacy.allocation.beta = 1.5"),
        ({"gamma": 0.0}, "privacy.allocation.gamma = 0.0"),
        ({"warmup": -1}, "privacy.allocation.warmup = -1"),
    ],
)
def test_bad_options_of_the_average_name_their_key(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        DimEma(**options)
    assert named in str(caught.value)
