from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from sordino import ConfigError
from sordino.models.decoders import IGNORED, Tokens, load_decoder


@pytest.fixture(scope="module")
def tokens(llama_folder: Path) -> Tokens:
    return Tokens.load(str(llama_folder))


def test_one_end_label_a_clip_though_padding_is_the_end_token(tokens: Tokens) -> None:
    assert tokens.tokenizer.pad_token_id == tokens.end
    inputs, labels = tokens.batch(["abc", "", "a"])
    assert (labels == tokens.end).sum(dim=1).tolist() == [1, 1, 1]
    assert labels.tolist() == [[2, 3, 4, 1], [1, *[IGNORED] * 3], [2, 1, IGNORED, IGNORED]]
    assert inputs.shape == (3, 3)
    assert inputs[0].tolist() == [2, 3, 4]


def test_empty_transcripts_alone(tokens: Tokens) -> None:
    inputs, labels = tokens.batch(["", ""])
    assert inputs.shape == (2, 0)
    assert labels.tolist() == [[1], [1]]


def test_an_end_written_in_a_transcript_is_no_second_end(tokens: Tokens) -> None:
    assert tokens.encode("a</s>b") == tokens.encode("ab")


def test_text_round_trip_and_unknown_characters(tokens: Tokens) -> None:
    assert tokens.decode(tokens.encode("one two")) == "one two"
    assert tokens.decode(tokens.encode("a3b")) == "ab"


def test_decoders_of_another_kind_are_refused(tmp_path: Path) -> None:
    GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=4, n_positions=4)).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="'gpt2' model; expected one of Llama's type"):
        load_decoder(str(tmp_path), dtype=torch.float32)


def test_missing_weights_are_refused(llama_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(llama_folder, tmp_path / "broken"))
    weights = load_file(folder / "model.safetensors")
    save_file({n: t for n, t in weights.items() if "v_proj" not in n}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigError, match=r"lacks 2 of its weights, such as 'model\.layers\.0\.self_attn\.v_proj"):
        load_decoder(str(folder), dtype=torch.float32)


def test_tokenizer_without_end_is_refused(llama_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(llama_folder, tmp_path / "endless"))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["eos_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(ConfigError, match="no end token"):
        Tokens.load(str(folder))


def test_hub_id_that_cannot_be_had_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"model\.decoder = 'sordino/no-such-model' cannot be loaded"):
        load_decoder("sordino/no-such-model", dtype=torch.float32)
