from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from transformers import LlamaForCausalLM, WhisperModel

from sordino import DataError
from sordino.models import LoraOptions, SpeechLLM

Make = Callable[..., SpeechLLM]
Train = Callable[..., None]


@pytest.fixture
def trained(model: SpeechLLM, features: torch.Tensor, texts: list[str], train: Train) -> SpeechLLM:
    """Adapters that tell clips apart, so that the tests below look at them too."""
    train(model, features, texts, steps=25)
    return model


def test_logits_equal_plain_transformers(
    model: SpeechLLM, features: torch.Tensor, whisper_folder: Path, llama_folder: Path
) -> None:
    whisper = WhisperModel.from_pretrained(whisper_folder, dtype=torch.float32).encoder
    llama = LlamaForCausalLM.from_pretrained(llama_folder, dtype=torch.float32)
    ids = torch.tensor([list(model.tokens.encode("one two"))] * 5)
    prompt = torch.tensor([list(model.tokens.encode("say "))] * 5)
    with torch.no_grad():
        frames = whisper(features).last_hidden_state.reshape(5, 10, 32)
        audio = F.linear(frames, model.connector.projection.weight, model.connector.projection.bias)
        embed = llama.get_input_embeddings()
        expected = llama(inputs_embeds=torch.cat([audio, embed(prompt), embed(ids)], dim=1)).logits
        logits = model.logits(features, ids)
    assert torch.allclose(logits, expected[:, 10 + 4 - 1 :], atol=1e-5)


def test_loss_is_the_mean_over_transcripts_and_their_ends(trained: SpeechLLM, features: torch.Tensor) -> None:
    texts = ["ab", "", "cde", "f", "g"]
    total = torch.zeros(())
    for clip, text in zip(features, texts, strict=True):
        ids = list(trained.tokens.encode(text))
        scores = trained.logits(clip[None], torch.tensor([ids], dtype=torch.int64)).log_softmax(dim=-1)[0]
        total -= scores[torch.arange(len(ids) + 1), torch.tensor([*ids, trained.tokens.end])].sum()
    tokens = sum(map(len, texts)) + len(texts)
    assert trained.loss(features, texts).item() == pytest.approx(total.item() / tokens, abs=1e-5)


def test_a_clip_never_depends_on_its_batch(trained: SpeechLLM, features: torch.Tensor, texts: list[str]) -> None:
    trained.train()
    losses, counts = trained.token_losses(features, texts)
    together = trained.transcribe(features)
    for index, text in enumerate(texts):
        alone, count = trained.token_losses(features[index : index + 1], [text])
        assert count == counts[index]
        assert torch.allclose(losses[index, : alone.shape[1]], alone[0], atol=1e-5)
        assert not losses[index, alone.shape[1] :].any()
        assert trained.transcribe(features[index : index + 1]) == [together[index]]
    assert len({result.text for result in together}) > 1


def test_overfits_and_writes_what_it_learnt(make_model: Make, features: torch.Tensor) -> None:
    model = make_model(lora=LoraOptions(rank=8, alpha=32))
    texts = ["one", "a", "", "two b", "nine"]
    optimiser = torch.optim.AdamW(model.flat.parameters(), lr=0.02)
    for _ in range(150):
        model.zero_grad()
        model.loss(features, texts).backward()
        optimiser.step()
    results = model.transcribe(features)
    assert [result.text for result in results] == texts
    assert all(result.ended and result.repeats == 0 for result in results)


def test_greedy_with_cache_equals_greedy_without(trained: SpeechLLM, features: torch.Tensor) -> None:
    for clip, result in zip(features, trained.transcribe(features, max_tokens=6), strict=True):
        ids: list[int] = []
        for _ in range(6):
            token = int(trained.logits(clip[None], torch.tensor([ids], dtype=torch.int64))[0, -1].argmax())
            if token == trained.tokens.end:
                break
            ids.append(token)
        assert result.text == trained.tokens.decode(ids)


@torch.no_grad()
def test_a_repeat_loop_is_cut_and_counted(model: SpeechLLM, features: torch.Tensor) -> None:
    model.decoder.lm_head.weight.zero_()
    model.decoder.lm_head.weight[2] = 1.0
    model.decoder.model.norm.weight.fill_(1.0)
    model.decoder.model.norm.register_forward_hook(lambda _module, _inputs, output: torch.ones_like(output))
    results = model.transcribe(features)
    assert {(result.text, result.ended, result.repeats) for result in results} == {("a" * 10, False, 10)}
    assert {result.text for result in model.transcribe(features, max_tokens=3)} == {"aaa"}


def test_transcribing_leaves_the_mode_alone_and_takes_no_gradient(make_model: Make, features: torch.Tensor) -> None:
    model = make_model(lora=LoraOptions(dropout=0.9)).train()
    assert model.transcribe(features) == model.transcribe(features)
    assert model.training
    assert not model.flat.gradient.any()


def test_bfloat16_base_trains_float32_adapters(
    make_model: Make, features: torch.Tensor, texts: list[str], train: Train, tmp_path: Path
) -> None:
    model = make_model(dtype="bfloat16")
    assert {t.dtype for t in model.parameters() if t.requires_grad} == {torch.float32}
    assert {t.dtype for t in model.encoder.parameters() if not t.requires_grad} == {torch.bfloat16}
    assert model.flat.values.dtype == torch.float32
    before = model.flat.values.clone()
    train(model, features, texts)
    assert model.loss(features, texts).dtype == torch.float32
    assert (model.flat.values != before).float().mean() > 0.9
    model.save(tmp_path)
    assert len(model.transcribe(features)) == 5


def test_moving_a_model_keeps_its_parameters_flat(model: SpeechLLM) -> None:
    values = model.flat.values.clone()
    model.to(torch.float64).to(torch.float32)
    assert torch.equal(model.flat.values, values)
    model.flat.values.zero_()
    assert not any(t.any() for t in model.parameters() if t.requires_grad)


@pytest.mark.parametrize("prompt", ["", "say "])
def test_prompt(make_model: Make, features: torch.Tensor, prompt: str) -> None:
    model = make_model(prompt=prompt)
    assert model.prefix(features).shape == (5, 10 + len(prompt), 24)


def test_wrong_input_is_named(model: SpeechLLM, features: torch.Tensor) -> None:
    with pytest.raises(DataError, match=r"expected \[batch, 8, 40\], which is 0\.4 s"):
        model.transcribe(features[:, :, :-2])
    with pytest.raises(DataError, match="5 clips came with 1 transcripts"):
        model.loss(features, ["a"])
