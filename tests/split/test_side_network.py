"""The side network's formula, its gates, residuals, padding and scale."""

from __future__ import annotations

import pytest
import torch

from sordino.errors import ConfigError
from sordino.split.bottleneck import Bottleneck, MutualInformation
from sordino.split.heads import Classifier, pooled
from sordino.split.side_network import SideNetwork


def network(**changes: object) -> SideNetwork:
    torch.manual_seed(0)
    return SideNetwork(**{"width": 16, "inner": 8, "given": 8, "num_layers": 2, **changes}).eval()


@pytest.fixture
def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    mask = torch.arange(6) < torch.tensor([6, 3])[:, None]
    return torch.randn(2, 6, 16), torch.randn(2, 2, 6, 8), mask


def test_formula(inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    clean, states, mask = inputs
    net = network()
    with torch.no_grad():
        net.gates.copy_(torch.tensor([0.3, -1.2]))
        mu, before = torch.sigmoid(net.gates), net.enter(clean)
        for number in range(2):
            mixed = mu[number] * before + (1 - mu[number]) * states[:, number]
            before = before + net.blocks[number](mixed, src_key_padding_mask=~mask)
        expected = net.leave(net.norm(before))
        torch.testing.assert_close(net(clean, states, mask)[mask], expected[mask])


def test_a_closed_gate_shuts_the_server_out(inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    clean, states, mask = inputs
    net = network()
    with torch.no_grad():
        assert not torch.allclose(net(clean, states, mask), net(clean, 5 * states, mask))
        net.gates.fill_(50.0)
        torch.testing.assert_close(net(clean, states, mask), net(clean, 5 * states, mask))


def test_without_residual_a_block_replaces(inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    with torch.no_grad():
        with_it, without = (network(residual=residual).trail(*inputs) for residual in (True, False))
        entered = network().enter(inputs[0])
    torch.testing.assert_close(with_it[0] - entered, without[0])


def test_padding_changes_nothing(inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    clean, states, mask = inputs
    with torch.no_grad():
        together = network()(clean, states, mask)[1, :3]
        alone = network()(clean[1:, :3], states[1:, :, :3], mask[1:, :3])[0]
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


def test_a_causal_network_does_not_look_ahead(inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    clean, states, mask = inputs
    later = clean.clone()
    later[0, 4:] += 1
    with torch.no_grad():
        torch.testing.assert_close(
            network(causal=True)(clean, states, mask)[0, :4], network(causal=True)(later, states, mask)[0, :4]
        )
        assert not torch.allclose(network()(clean, states, mask)[0, :4], network()(later, states, mask)[0, :4])


def test_scale_is_learned_on_tokens_alone(inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    clean, states, mask = inputs
    wild = states.clone()
    wild[1, :, 3:] = 1e9  # padding
    first, second = network(), network()
    first.calibrate(clean, states, mask)
    second.calibrate(clean, wild, mask)
    torch.testing.assert_close(first.mean, second.mean)
    with torch.no_grad():  # states of another scale and offset give the same
        scaled = network()
        scaled.calibrate(clean, 1000 * states + 7, mask)
        torch.testing.assert_close(
            first(clean, states, mask)[mask], scaled(clean, 1000 * states + 7, mask)[mask], atol=1e-3, rtol=1e-3
        )
    assert {"mean", "std", "embedding_std"} <= first.state_dict().keys()


def test_states_of_full_width_are_reduced_here() -> None:
    net = network(given=16)
    assert net(torch.randn(1, 3, 16), torch.randn(1, 2, 3, 16), torch.ones(1, 3, dtype=torch.bool)).shape == (1, 3, 16)
    with pytest.raises(ConfigError, match="states of width 5"):
        network(given=5)


def test_pooling_leaves_padding_out() -> None:
    tokens, mask = torch.tensor([[[1.0], [3.0], [99.0]]]), torch.tensor([[True, True, False]])
    assert pooled(tokens, mask).item() == 2.0
    assert Classifier(width=1, classes=3)(tokens, mask).shape == (1, 3)


def test_estimators_find_mutual_information() -> None:
    """Of two normals with correlation 0.9 it is 0.83 nats; of independent ones 0."""
    torch.manual_seed(0)
    for correlation, truth in ((0.9, 0.83), (0.0, 0.0)):
        net = MutualInformation(1, 1)
        optimiser = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(150):
            x, noise = torch.randn(512, 1), torch.randn(512, 1)
            estimate = net(x, correlation * x + (1 - correlation**2) ** 0.5 * noise)
            optimiser.zero_grad()
            (-estimate).backward()
            optimiser.step()
        x, noise = torch.randn(20_000, 1), torch.randn(20_000, 1)
        found = net(x, correlation * x + (1 - correlation**2) ** 0.5 * noise).item()
        assert found == pytest.approx(truth, abs=0.1)


def test_estimators_are_sure_without_overflow() -> None:
    net = MutualInformation(1, 1)
    with torch.no_grad():
        net.net[-1].bias.fill_(500.0)
    assert torch.isfinite(net(torch.randn(9, 1), torch.randn(9, 1)))


def test_bottleneck_trains_its_estimators_and_nothing_else() -> None:
    torch.manual_seed(0)
    bottleneck = Bottleneck(width=4, inner=3, num_layers=2)
    assert len(bottleneck.state_dict()) == 2 * 2 * 6  # in a checkpoint, all of them
    noised, trail = torch.randn(20, 4), [torch.randn(20, 3, requires_grad=True) for _ in range(2)]
    states = torch.randn(20, 2, 3, requires_grad=True)
    before = {name: tensor.clone() for name, tensor in bottleneck.state_dict().items()}
    bottleneck.sharpen(noised, states, trail)
    assert states.grad is None
    assert any(not torch.equal(before[name], tensor) for name, tensor in bottleneck.state_dict().items())
    for parameter in bottleneck.parameters():
        parameter.grad = None
    bottleneck(noised, states, trail).backward()
    assert states.grad.abs().sum() > 0
    assert all(parameter.grad is None and parameter.requires_grad for parameter in bottleneck.parameters())
