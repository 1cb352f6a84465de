from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from sordino import ConfigError
from sordino.models import SpeechLLM, load_model
from sordino.models.prompts import Prompt, in_chat

CHAT = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
)


@pytest.fixture
def tokenizer(llama_folder: Path) -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(llama_folder)


@pytest.fixture
def beginning(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """Begins every text with <s> and ends it with </s>, as some Llamas' tokenizers do."""
    tokenizer.add_special_tokens({"bos_token": "<s>"})
    first, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", first), ("</s>", end)]
    )
    assert tokenizer.encode("a") == [first, 2, end]
    return tokenizer


def test_audio_stands_first_unless_the_prompt_says_where(tokenizer: PreTrainedTokenizerFast) -> None:
    assert Prompt.of("ab", tokenizer) == Prompt((), (2, 3))
    assert Prompt.of("a{audio}b", tokenizer) == Prompt((2,), (3,))
    assert Prompt.of("a{audio}", tokenizer) == Prompt((2,), ())
    assert Prompt.of("", tokenizer) == Prompt((), ())


def test_an_end_token_in_a_prompt_is_kept(tokenizer: PreTrainedTokenizerFast) -> None:
    assert Prompt.of("a{audio}b</s>c", tokenizer).after == (3, tokenizer.eos_token_id, 4)


def test_special_tokens_are_themselves_where_a_tokenizer_spells_them(llama_folder: Path) -> None:
    spelling = AutoTokenizer.from_pretrained(llama_folder, split_special_tokens=True)
    assert spelling.encode("</s>", add_special_tokens=False) != [spelling.eos_token_id]
    assert Prompt.of("a</s>b{audio}</s>", spelling) == Prompt((2, spelling.eos_token_id, 3), (spelling.eos_token_id,))


def test_a_sequence_begins_once_as_the_tokenizer_begins_texts(beginning: PreTrainedTokenizerFast) -> None:
    first = beginning.bos_token_id
    assert Prompt.of("ab", beginning) == Prompt((first,), (2, 3))
    assert Prompt.of("a{audio}b", beginning) == Prompt((first, 2), (3,))
    assert Prompt.of("<s>a{audio}b", beginning) == Prompt((first, 2), (3,))


def test_chat_makes_the_prompt_the_users_turn(tokenizer: PreTrainedTokenizerFast) -> None:
    tokenizer.chat_template = CHAT
    assert in_chat("say", tokenizer) == "<user>{audio}say</s><a>"
    assert in_chat("hear {audio} say", tokenizer) == "<user>hear {audio} say</s><a>"


def test_chat_that_cannot_be_is_refused_with_the_remedy(tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(ConfigError, match=r"has no chat template; write the turns out in model\.prompt"):
        in_chat("say", tokenizer)
    tokenizer.chat_template = "nobody is heard"
    with pytest.raises(ConfigError, match="shows the user's turn 0 times"):
        in_chat("say", tokenizer)
    with pytest.raises(ConfigError, match="has 2 places marked"):
        Prompt.of("{audio} and {audio}", tokenizer)


def test_the_model_reads_text_audio_text(
    make_model: Callable[..., SpeechLLM], features: torch.Tensor, llama_folder: Path
) -> None:
    model = make_model(prompt="ab{audio}c")
    prefix, embedded = model.prefix(features), model.decoder.get_input_embeddings().weight
    assert torch.equal(prefix[:, :2], embedded[[2, 3]].expand(5, -1, -1))
    assert torch.equal(prefix[:, -1], embedded[4].expand(5, -1))
    assert torch.equal(prefix[:, 2:-1], make_model(prompt="").prefix(features))


def test_chat_as_an_option(make_options: Callable[..., object], llama_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(llama_folder, tmp_path / "chatty"))
    (folder / "chat_template.jinja").write_text(CHAT)
    model = load_model(make_options(decoder=str(folder), prompt="say", chat=True))
    assert model.prompt == "<user>{audio}say</s><a>"
