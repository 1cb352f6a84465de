"""Contributions are added, what is absent is omitted to the bit, and bounds hold."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import ConfigError, DataError
from sordino.models.emotion import Branch, BranchOptions, Clips, EmotionNetwork, pool
from sordino.models.emotion.network import objective
from sordino.models.emotion.storage import load_network, save_network

SMALL = BranchOptions(hidden=5, dropout=0.0)


def network(options: BranchOptions = SMALL) -> EmotionNetwork:
    made = EmotionNetwork(3)
    for seed, (name, width) in enumerate({"sound": 4, "face": 6, "text": 2}.items()):
        made = made.extended(name, Branch(width, 3, options=options, seed=seed))
    return made.eval()


def clips(count: int = 7, *, seed: int = 0) -> Clips:
    random = torch.Generator().manual_seed(seed)
    every = torch.arange(count)
    return Clips(
        {name: torch.randn(count, width, generator=random) for name, width in (("sound", 4), ("face", 6), ("text", 2))},
        {"sound": every, "face": every, "text": every},
        torch.randint(3, (count,), generator=random),
        tuple(f"s{row % 2}" for row in range(count)),
    )


def test_an_absent_modality_leaves_the_bits_of_a_network_that_never_had_it() -> None:
    whole, heard = network(), clips()
    never = whole.reduced("face")
    assert torch.equal(whole(heard.only(["sound", "text"])), never(heard))
    assert torch.equal(whole(heard.only(["sound", "text"])), never(heard.only(["sound", "text"])))
    assert not torch.equal(whole(heard), never(heard))


def test_the_branch_of_an_absent_modality_is_not_run() -> None:
    whole = network()
    whole.branch("face").register_forward_hook(lambda *_: pytest.fail("the branch was run"))
    whole(clips().only(["sound"]))


def test_one_clip_may_lack_what_others_have() -> None:
    whole, heard = network(), clips()
    lacking = torch.tensor([False, True, False, False, True, False, False])
    scores = whole(heard.without({"face": lacking}))
    assert torch.allclose(scores[~lacking], whole(heard)[~lacking])
    assert torch.allclose(scores[lacking], whole(heard.only(["sound", "text"]))[lacking])


def test_nothing_present_gives_no_class_before_another() -> None:
    assert torch.equal(network()(clips().only([])), torch.zeros(7, 3))


def test_scores_are_the_sum_of_the_branches() -> None:
    whole, heard = network(), clips()
    added = sum(whole.branch(name)(heard.vectors[name]) for name in whole.modalities)
    assert torch.allclose(whole(heard), torch.as_tensor(added))


@settings(max_examples=25)
@given(order=st.permutations(range(7)), size=st.integers(0, 7))
def test_taking_clips_keeps_each_ones_modalities(order: list[int], size: int) -> None:
    heard = clips().without({"face": torch.tensor([True, False] * 3 + [True])})
    chosen = torch.tensor(order[:size], dtype=torch.int64)
    taken = heard.take(chosen)
    assert torch.allclose(network()(taken), network()(heard)[chosen], atol=1e-6)
    assert taken.speakers == tuple(heard.speakers[row] for row in chosen.tolist())
    assert torch.equal(taken.targets, heard.targets[chosen])


def test_branches_start_from_their_own_seed_and_touch_no_other_random_numbers() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first, again, other = (Branch(4, 3, options=SMALL, seed=seed) for seed in (5, 5, 6))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first.features.weight, again.features.weight)
    assert not torch.equal(first.features.weight, other.features.weight)


@pytest.mark.parametrize("bound", [0.1, 1.0, 30.0])
def test_a_lipschitz_bound_holds_however_the_weights_are_pushed(bound: float) -> None:
    branch = Branch(4, 3, options=BranchOptions(hidden=5, dropout=0.0, lipschitz=bound), seed=0).eval()
    with torch.no_grad():
        for tensor in branch.parameters():
            tensor.mul_(50)
    branch.constrain()
    random = torch.Generator().manual_seed(0)
    here, there = torch.randn(500, 4, generator=random), torch.randn(500, 4, generator=random)
    with torch.no_grad():
        stretch = (branch(here) - branch(there)).norm(dim=1) / (here - there).norm(dim=1)
    product = torch.stack(
        [torch.linalg.matrix_norm(layer.weight.detach().double(), ord=2) for layer in branch.layers]
    ).prod()
    assert float(stretch.max()) <= bound
    assert float(product) <= bound
    assert float(product) >= 0.999 * bound  # no more was taken than the bound asks for


def test_a_contribution_is_scaled_down_to_its_bound() -> None:
    free = Branch(4, 3, options=SMALL, seed=0).eval()
    bounded = Branch(4, 3, options=BranchOptions(hidden=5, dropout=0.0, max_contribution=0.3), seed=0).eval()
    vectors = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        whole, scaled = free(vectors), bounded(vectors)
    norms = whole.norm(dim=1)
    assert float(scaled.norm(dim=1).max()) <= 0.3 + 1e-6
    assert torch.allclose(scaled[norms < 0.3], whole[norms < 0.3])
    assert (norms > 0.3).any()


def test_statistics_of_a_clip_are_of_its_own_frames() -> None:
    frames = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]])
    assert torch.allclose(pool(frames, statistics=["mean"]), torch.tensor([2.0, 2.0]))
    assert torch.allclose(pool(frames, statistics=["deviation"]), torch.tensor([(8 / 3) ** 0.5, 2**0.5]))
    assert torch.allclose(pool(frames, statistics=["change", "mean"]), torch.tensor([2.0, 1.5, 2.0, 2.0]))
    assert torch.allclose(pool(frames, statistics=["low", "high"]), torch.tensor([0.4, 1.0, 3.6, 3.4]))
    assert torch.equal(pool(frames[:1], statistics=["deviation", "change"]), torch.zeros(4))


@pytest.mark.parametrize("frames", [torch.zeros(0, 3), torch.zeros(3), torch.tensor([[float("nan")]])])
def test_frames_without_a_value_are_refused(frames: torch.Tensor) -> None:
    with pytest.raises(DataError, match="leave the modality out"):
        pool(frames, statistics=["mean"])


def test_clips_are_pooled_from_frames_and_may_lack_a_modality() -> None:
    frames = [{"sound": torch.ones(3, 2)}, {"sound": torch.zeros(5, 2), "face": torch.ones(1, 4)}]
    made = Clips.of(
        frames, targets=torch.tensor([0, 1]), speakers=["a", "b"], statistics={"sound": ["mean"], "face": ["mean"]}
    )
    assert made.rows["face"].tolist() == [1]
    assert made.vectors["sound"].tolist() == [[1, 1], [0, 0]]
    with pytest.raises(DataError, match="no clip has it"):
        Clips.of(frames, targets=made.targets, speakers=["a", "b"], statistics={"text": ["mean"]})
    frames[1]["sound"] = torch.zeros(5, 3)
    with pytest.raises(DataError, match="2 to 3 wide"):
        Clips.of(frames, targets=made.targets, speakers=["a", "b"], statistics={"sound": ["mean"]})


def test_a_number_is_predicted_where_targets_are_numbers() -> None:
    scores = torch.tensor([[1.0], [3.0]])
    assert float(objective(scores, torch.tensor([1.0, 1.0]))) == 2.0
    single = EmotionNetwork(1).extended("sound", Branch(4, 1, options=SMALL, seed=0))
    assert single.predict(clips().only(["sound"])).shape == (7,)


def test_a_network_is_read_back_to_the_bit(tmp_path: Path) -> None:
    whole = network(BranchOptions(hidden=5, max_contribution=2.0))
    whole.branch("face").standardise(clips().vectors["face"])
    save_network(whole, tmp_path, classes=("a", "b", "c"))
    again, classes = load_network(tmp_path)
    assert classes == ("a", "b", "c")
    assert torch.equal(again(clips()), whole(clips()))
    assert again.branch("text").options == whole.branch("text").options
    (tmp_path / "network.safetensors").write_bytes(b"no weights")
    with pytest.raises(ConfigError, match="holds no emotion network"):
        load_network(tmp_path)


def test_extending_shares_branches_and_replaces_one_of_the_same_name() -> None:
    whole = network()
    other = copy.deepcopy(whole.branch("face"))
    changed = whole.extended("face", other)
    assert changed.modalities == whole.modalities
    assert changed.branch("face") is other
    assert changed.branch("sound") is whole.branch("sound")
    with pytest.raises(ConfigError, match="choose one of sound, face, text"):
        whole.branch("pulse")
