from __future__ import annotations

import jiwer
import pytest
import torch

from sordino.data import digits, features, synthetic
from sordino.models import ModelOptions, SpeechLLM, load_model, model_shapes, pocket
from sordino.seeds import Seeds


@pytest.fixture(scope="module")
def shipped() -> SpeechLLM:
    return load_model(ModelOptions())


def test_small_enough_to_ship() -> None:
    assert sum(file.stat().st_size for file in pocket.FOLDER.rglob("*")) <= 4e6


def test_architecture_is_the_scripts(shipped: SpeechLLM) -> None:
    made = pocket.untrained(seed=0)
    shapes = {name: tensor.shape for name, tensor in made.state_dict().items()}
    ours = {n.replace(".base_layer", ""): t.shape for n, t in shipped.state_dict().items() if "lora_" not in n}
    assert ours == shapes
    assert 1_000_000 <= sum(tensor.numel() for tensor in made.parameters()) <= 2_000_000
    assert made.tokens.tokenizer.get_vocab() == shipped.tokens.tokenizer.get_vocab()
    assert (shipped.window_s, shipped.num_mels, shipped.prompt) == (2.0, 80, pocket.PROMPT)


def test_float32_and_three_components(shipped: SpeechLLM) -> None:
    assert {tensor.dtype for tensor in shipped.parameters()} == {torch.float32}
    assert list(shipped.layout.components) == ["encoder", "connector", "decoder"]
    assert model_shapes(ModelOptions()) == shipped.layout


@pytest.mark.parametrize("language", digits.DIGITS)
def test_every_digit_word_can_be_written(shipped: SpeechLLM, language: str) -> None:
    for word in digits.DIGITS[language]:
        assert shipped.tokens.decode(shipped.tokens.encode(word)) == word
        assert len(shipped.tokens.encode(word)) == len(word)


def test_understands_unheard_voices_of_its_own_kind(shipped: SpeechLLM) -> None:
    pytest.importorskip("espeakng_loader", reason="the extra synthetic is not installed")
    seeds = Seeds(20).at("test pocket")
    mel = features.LogMel(shipped.num_mels, shipped.window_s)
    said, clips = [], []
    for index, voice in enumerate(synthetic.pretraining_voices(60, seeds)):
        text = digits.digit_string(voice.language, seeds.at("text", index).generator())
        clips.append(torch.from_numpy(mel(synthetic.synthesise(voice, text, seeds=seeds))))
        said.append(text)
    written = [result.text for result in shipped.transcribe(torch.stack(clips))]
    assert jiwer.wer(said, written) <= 0.1
