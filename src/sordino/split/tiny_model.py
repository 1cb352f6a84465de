"""A language model of the real class with few and random weights: for trying things without a download.

Its states say little about language, so it shows how everything works together and nothing about what a large model gives.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

__all__ = ["save_tiny_model"]

_WIDTH: Final = 64
_BLOCKS: Final = 6
_VOCABULARY: Final = 400
_END: Final = "</s>"


def save_tiny_model(folder: Path, *, texts: Sequence[str], seed: int) -> None:
    """Writes a Llama and its tokenizer as a folder that transformers loads, as a whole or not at all.

    Args:
        folder: made.
        texts: public ones, from which the tokenizer learns its pieces; any other text is spelt in bytes where need be.
        seed: of the weights.

    Raises:
        OSError: it cannot be written; nothing of it is left then.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import LlamaConfig, LlamaForCausalLM

    from sordino.models.checkpoints import without_progress_bars

    tokenizer = _tokenizer(texts)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=_WIDTH,
        intermediate_size=2 * _WIDTH,
        num_hidden_layers=_BLOCKS,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        initializer_range=_WIDTH**-0.5,  # embeddings of norm about 1, as those of large models
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None,  # or the end token's embedding would be zero, and nothing could be told to end
    )
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        with torch.random.fork_rng(devices=[]), without_progress_bars():
            torch.manual_seed(seed)
            LlamaForCausalLM(config).save_pretrained(draft)
        tokenizer.save_pretrained(str(draft))
        draft.rename(folder)
    except SafetensorError as error:  # what safetensors makes of a full disk
        raise OSError(errno.EIO, str(error), str(folder)) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _tokenizer(texts: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=[_END],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    pieces.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=pieces, eos_token=_END, pad_token=_END, clean_up_tokenization_spaces=False
    )
