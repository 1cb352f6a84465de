"""The pocket speech-LLM: small enough to ship and to train on a laptop, made of the same classes as the large ones.

It has learnt digit strings from clean synthetic voices (``scripts/make_pocket.py`` makes it), and so it has everything
left to learn about other timbres, noise and real people: that is what federated adaptation is shown with.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sordino.models.connectors.linear import Linear

if TYPE_CHECKING:
    from transformers import LlamaConfig, WhisperConfig

    from sordino.models.speech_llm import SpeechLLM


__all__ = ["ALPHABET", "CONNECTOR", "FOLDER", "PROMPT", "WINDOW_S", "untrained"]

FOLDER: Final = Path(__file__).parent / "pocket"
"""Where the weights lie inside the installed package."""

WINDOW_S: Final = 2.0
CONNECTOR: Final = Linear(stack=4)
PROMPT: Final = ":"

ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz' :-àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿāăąćčďđēėęěğģīįıķļłńņňőœřśşšșťțūůűųźżžß"
"""The characters it can write; each is one token. Everything else is read as unknown and never written."""

_WIDTH: Final = 128
_LAYERS: Final = 3
_HEADS: Final = 2
_UNKNOWN: Final = "<unk>"
_END: Final = "</s>"


def untrained(*, seed: int) -> SpeechLLM:
    """The pocket model with random weights, all of them trained; what pretraining starts from."""
    import torch
    from transformers import LlamaForCausalLM
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    from sordino.models.decoders import Tokens
    from sordino.models.frame_stack import FrameStack
    from sordino.models.speech_llm import SpeechLLM

    tokens = Tokens(_tokenizer())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = WhisperEncoder(_encoder_config())
        decoder = LlamaForCausalLM(_decoder_config(len(tokens.tokenizer), end=tokens.end))
        connector = FrameStack.new(CONNECTOR, frame_width=_WIDTH, token_width=_WIDTH)
    return SpeechLLM(encoder, connector, decoder, tokens=tokens, prompt=PROMPT)


def _tokenizer() -> Any:
    """One token a character; like many Llamas' tokenizers it pads with the end token."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.decoders import Fuse
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import NFC, Lowercase, Sequence
    from tokenizers.pre_tokenizers import Split
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate((_UNKNOWN, _END, *ALPHABET))}
    characters = Tokenizer(WordLevel(vocabulary, unk_token=_UNKNOWN))
    characters.normalizer = Sequence([NFC(), Lowercase()])
    characters.pre_tokenizer = Split(Regex("."), behavior="isolated")
    characters.decoder = Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=characters,
        unk_token=_UNKNOWN,
        eos_token=_END,
        pad_token=_END,
        clean_up_tokenization_spaces=False,
    )


def _encoder_config() -> WhisperConfig:
    """A Whisper encoder of 3 layers for 2 s of 80-band log-mel; its unused text decoder is made as small as can be."""
    from transformers import WhisperConfig

    return WhisperConfig(
        num_mel_bins=80,
        d_model=_WIDTH,
        encoder_layers=_LAYERS,
        encoder_attention_heads=_HEADS,
        encoder_ffn_dim=2 * _WIDTH,
        activation_function="relu",
        max_source_positions=int(WINDOW_S * 50),
        vocab_size=1,
        decoder_layers=0,
        decoder_attention_heads=1,
        decoder_ffn_dim=1,
        max_target_positions=1,
        pad_token_id=0,
        bos_token_id=0,
        eos_token_id=0,
        decoder_start_token_id=0,
    )


def _decoder_config(vocabulary: int, *, end: int) -> LlamaConfig:
    """A Llama of 3 layers whose output layer is its embedding table."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=_WIDTH,
        intermediate_size=2 * _WIDTH,
        num_hidden_layers=_LAYERS,
        num_attention_heads=_HEADS,
        num_key_value_heads=_HEADS,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=end,
    )
