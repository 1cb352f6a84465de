"""Hidden states against plain transformers, and what a server refuses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, T5Config, T5EncoderModel

from sordino.errors import ConfigError, DataError
from sordino.split import LocalStates, ModelCard, public_projection
from sordino.split.embedding import ClientEmbedding


@pytest.fixture(scope="module")
def batch(local: LocalStates) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(7) < torch.tensor([7, 4, 1])[:, None]
    return torch.randn(3, 7, local.describe().width), mask


def test_states_are_the_outputs_of_the_blocks(tiny: Path, local: LocalStates) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32).eval()
    ids = torch.tensor([[5, 90, 300, 7]])
    with torch.no_grad():
        clean = model.get_input_embeddings()(ids)
        plain = model(
            ids, output_hidden_states=True
        ).hidden_states  # embeddings, block 1, ..., the last one after the norm
        ours = local.states(clean, torch.ones_like(ids, dtype=torch.bool), layers=[3, 1, 6])[0]
        torch.testing.assert_close(ours[0], plain[3][0])
        torch.testing.assert_close(ours[1], plain[1][0])
        torch.testing.assert_close(model.model.norm(ours[2]), plain[6][0])


def test_padding_changes_nothing(local: LocalStates, batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    noised, mask = batch
    together = local.states(noised, mask, layers=[2, 6])
    for row, length in enumerate(mask.sum(dim=1).tolist()):
        alone = local.states(noised[row : row + 1, :length], mask[row : row + 1, :length], layers=[2, 6])
        torch.testing.assert_close(together[row, :, :length], alone[0], atol=1e-4, rtol=1e-4)
        assert not together[row, :, length:].any()


def test_reduction_is_the_public_projection(local: LocalStates, batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    card = local.describe()
    full, short = (local.states(*batch, layers=[4], reduction=r)[:, 0] for r in (None, 4))
    projection = public_projection(card, 4, reduction=4)
    assert projection.shape == (16, 64)
    torch.testing.assert_close(short, full @ projection.T, atol=1e-4, rtol=1e-4)
    assert not torch.equal(projection, public_projection(card, 5, reduction=4))


def test_projection_keeps_lengths_in_expectation(local: LocalStates) -> None:
    projections = [public_projection(local.describe(), layer, reduction=4) for layer in range(1, 7)]
    gains = torch.stack([projection.square().sum() / 64 for projection in projections])
    assert gains.mean() == pytest.approx(1.0, abs=0.05)


def test_a_t5_encoder_sees_both_ways(tmp_path: Path) -> None:
    config = T5Config(vocab_size=50, d_model=32, d_kv=8, d_ff=48, num_layers=3, num_heads=4)
    torch.manual_seed(0)
    plain = T5EncoderModel(config).eval()
    plain.save_pretrained(tmp_path)
    server = LocalStates.load(str(tmp_path))
    assert (server.describe().family, server.describe().num_blocks) == ("encoder", 3)
    noised, mask = torch.randn(1, 5, 32), torch.ones(1, 5, dtype=torch.bool)
    with torch.no_grad():
        expected = plain(inputs_embeds=noised, output_hidden_states=True).hidden_states
    torch.testing.assert_close(server.states(noised, mask, layers=[2])[:, 0], expected[2])
    table = ClientEmbedding(plain.get_input_embeddings().weight.detach(), tokenizer=None)
    assert table.width == 32


def test_several_threads_do_not_mix_their_states(local: LocalStates) -> None:
    batches = [(torch.full((1, 3, 64), float(number)), torch.ones(1, 3, dtype=torch.bool)) for number in range(6)]
    alone = [local.states(*one, layers=[6]) for one in batches]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda one: local.states(*one, layers=[6]), batches))
    for first, second in zip(alone, together, strict=True):
        torch.testing.assert_close(first, second)


def test_whoever_asks_meanwhile_gets_what_it_gets_alone(
    local: LocalStates, batch: tuple[torch.Tensor, torch.Tensor]
) -> None:
    """One client's pass, with the output of a block replaced, is held in the middle until another's is through."""
    noised, mask = batch
    alone = local.states(noised, mask, layers=[2, 6]), local.last_state_after(2, noised, noised, mask)
    met: list[torch.Tensor] = []
    with ThreadPoolExecutor(1) as pool:

        def hold(*_: object) -> None:
            if not met:
                met.append(torch.empty(0))  # the other pass comes through here, too
                met[0] = pool.submit(local.states, noised, mask, layers=[2, 6]).result()

        handle = local.stack.layers[1].register_forward_pre_hook(hold)  # type: ignore[union-attr, index]
        try:
            replaced = local.last_state_after(2, noised, noised, mask)
        finally:
            handle.remove()
    torch.testing.assert_close(met[0], alone[0], atol=0, rtol=0)
    torch.testing.assert_close(replaced, alone[1], atol=0, rtol=0)


def test_a_copy_has_weights_of_its_own(local: LocalStates, batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    before, twin = local.states(*batch, layers=[6]), local.copy()
    torch.testing.assert_close(twin.states(*batch, layers=[6]), before)
    with torch.no_grad():
        for parameter in twin.stack.parameters():
            parameter.add_(1.0)
    torch.testing.assert_close(local.states(*batch, layers=[6]), before)
    assert not torch.allclose(twin.states(*batch, layers=[6]), before)


@pytest.mark.parametrize("layers", [[], [0], [7], [2, 2]])
def test_blocks_that_are_not_there(
    local: LocalStates, batch: tuple[torch.Tensor, torch.Tensor], layers: list[int]
) -> None:
    with pytest.raises(ConfigError, match="between 1 and 6"):
        local.states(*batch, layers=layers)


def test_batches_that_cannot_be(local: LocalStates, batch: tuple[torch.Tensor, torch.Tensor]) -> None:
    noised, mask = batch
    with pytest.raises(ConfigError, match="divisor"):
        local.states(noised, mask, layers=[1], reduction=5)
    for wrong, its_mask in (
        (noised[:, :, :32], mask), (noised, mask[:2]), (noised[:0], mask[:0]), (noised, mask.float()),
        (noised, mask.flip(1)), (noised * torch.nan, mask), (torch.zeros(1, 513, 64), torch.ones(1, 513, dtype=torch.bool)),
    ):  # fmt: skip
        with pytest.raises(DataError, match=r"expected|must|cannot|not finite"):
            local.states(wrong, its_mask, layers=[1])


def test_models_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"split\.model"):
        LocalStates.load(str(tmp_path / "nowhere"))


def test_cards_go_round_and_tell_models_apart(local: LocalStates) -> None:
    card = local.describe()
    assert ModelCard.from_json(card.to_json()) == card
    assert len(card.fingerprint) == 16
    for wrong in ({}, card.to_json() | {"width": "64"}, card.to_json() | {"extra": 1}):
        with pytest.raises(DataError, match="model card"):
            ModelCard.from_json(wrong)


def test_the_same_weights_in_another_config_are_another_model(tiny: Path, local: LocalStates, tmp_path: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    model.save_pretrained(tmp_path / "same")
    model.config.rms_norm_eps = 0.5
    model.save_pretrained(tmp_path / "other")
    assert LocalStates.load(str(tmp_path / "same")).describe().digest == local.describe().digest
    assert LocalStates.load(str(tmp_path / "other")).describe().digest != local.describe().digest
