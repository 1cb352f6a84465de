from __future__ import annotations

import pytest
import torch
from torch import nn

from sordino import ConfigError
from sordino.models.flat import FlatParameters, trainable


class Parts(nn.Module):
    """Two components; the second one shares a tensor, and holds a frozen one, a counter and a bfloat16 one."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        self.decoder = nn.Linear(2, 2, dtype=torch.bfloat16)
        self.decoder.tied = self.decoder.weight
        self.decoder.frozen = nn.Parameter(torch.ones(5), requires_grad=False)
        self.decoder.register_buffer("steps", torch.tensor(7))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.decoder(self.encoder(x)).square().sum()


@pytest.fixture
def parts() -> Parts:
    torch.manual_seed(0)
    return Parts()


@pytest.fixture
def flat(parts: Parts) -> FlatParameters:
    return FlatParameters(trainable(parts))


def test_only_trainable_floats_once_each(flat: FlatParameters) -> None:
    assert flat.layout.components == {"encoder": 12 + 4 + 8 + 2, "decoder": 4 + 2}


def test_every_tensor_is_a_float32_view(parts: Parts, flat: FlatParameters) -> None:
    for slot, (name, component, tensor) in zip(flat.layout.slots, trainable(parts), strict=True):
        assert (slot.name, slot.component) == (name, component)
        assert tensor.dtype == torch.float32
        assert tensor.data_ptr() == flat.values[slot.start].data_ptr()
        assert tensor.grad is not None
        assert tensor.grad.data_ptr() == flat.gradient[slot.start].data_ptr()


def test_values_are_kept(parts: Parts) -> None:
    before = [tensor.detach().float().clone() for _, _, tensor in trainable(parts)]
    FlatParameters(trainable(parts))
    for old, (_, _, new) in zip(before, trainable(parts), strict=True):
        assert torch.equal(old, new)


def test_one_run_a_component(flat: FlatParameters) -> None:
    assert [p.numel() for p in flat.parameters("encoder")] == [26]
    assert [p.numel() for p in flat.parameters()] == [26, 6]
    with pytest.raises(ConfigError, match="did you mean 'encoder'"):
        flat.parameters("encoders")


def test_step_on_runs_equals_step_on_tensors(parts: Parts) -> None:
    reference = Parts()
    reference.decoder.float()
    reference.load_state_dict({name: t.float() for name, t in parts.state_dict().items()})
    flat = FlatParameters(trainable(parts))
    x = torch.randn(5, 3)
    ours = torch.optim.AdamW(flat.parameters(), lr=0.01)
    theirs = torch.optim.AdamW((t for _, _, t in trainable(reference)), lr=0.01)
    for _ in range(4):
        flat.attach()
        for module, optimiser in ((parts, ours), (reference, theirs)):
            optimiser.zero_grad()
            flat.attach()
            module(x).backward()
            optimiser.step()
    expected = torch.cat([t.detach().flatten() for _, _, t in trainable(reference)])
    assert torch.allclose(flat.values, expected, atol=1e-6)


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("by", ["module", "optimiser"])
def test_zero_grad_leaves_zeroed_views(parts: Parts, flat: FlatParameters, by: str, set_to_none: bool) -> None:
    x = torch.randn(2, 3)
    parts(x).backward()
    assert flat.gradient.any()
    once = flat.gradient.clone()
    zero = parts.zero_grad if by == "module" else torch.optim.SGD(flat.parameters(), lr=1.0).zero_grad
    zero(set_to_none=set_to_none)
    flat.attach()
    assert not flat.gradient.any()
    parts(x).backward()
    assert torch.equal(flat.gradient, once)
    assert torch.equal(torch.cat([p.grad for p in flat.parameters()]), once)


def test_assigned_gradient_is_taken_over(flat: FlatParameters) -> None:
    run = flat.parameters("decoder")[0]
    run.grad = torch.full((6,), 2.0)
    flat.attach()
    assert flat.gradient[-6:].tolist() == [2.0] * 6


def test_loading_keeps_the_sharing(parts: Parts, flat: FlatParameters) -> None:
    flat.load(torch.arange(flat.layout.size).float())
    assert parts.decoder.bias.tolist() == [30, 31]
    parts.load_state_dict({name: torch.zeros_like(t) for name, t in parts.state_dict().items()})
    assert not flat.values.any()


def test_a_snapshot_is_a_copy(flat: FlatParameters) -> None:
    snapshot, before = flat.snapshot(), flat.values.tolist()
    flat.values.zero_()
    assert snapshot.tolist() == before


def test_nothing_to_train_is_refused() -> None:
    with pytest.raises(ConfigError, match="nothing to train"):
        FlatParameters([])
