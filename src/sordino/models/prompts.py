"""What the decoder reads around the audio: text before it, text after it, and how a sequence begins."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from sordino.errors import ConfigError

__all__ = ["AUDIO", "Prompt", "in_chat"]

AUDIO: Final = "{audio}"
"""Where the audio stands in a prompt; in front of the text if the prompt does not say."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as token ids.

    | prompt | decoder reads |
    |---|---|
    | ``"Transcribe: "`` | audio, text |
    | ``"User: {audio} Transcribe."`` | text, audio, text |
    | any, and the tokenizer begins every text with a token (Llama's ``<s>``) | that token once, then as above |

    Special tokens may be written out, e.g. ``<|im_start|>``. Unlike in a transcript an end token is kept: chats close
    the user's turn with it.

    Attributes:
        before: ids in front of the audio.
        after: ids between the audio and the transcript.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, text: str, tokenizer: Any) -> Prompt:
        """Reads a prompt; raises ConfigError when it names the audio's place more than once."""
        if text.count(AUDIO) > 1:
            raise ConfigError(
                f"model.prompt has {text.count(AUDIO)} places marked {AUDIO}: expected at most one; remove the others."
            )
        before, _, after = text.rpartition(AUDIO)
        first = _beginning(tokenizer)
        ids = _ids(before, tokenizer)
        return cls(ids if ids[: len(first)] == first else first + ids, _ids(after, tokenizer))


def in_chat(text: str, tokenizer: Any) -> str:
    """The prompt as the user's turn in the tokenizer's chat template, with the beginning of the model's answer.

    Raises:
        ConfigError: the tokenizer has no template, or it drops or repeats what the user says.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise ConfigError(
            "model.chat = true, but the decoder's tokenizer has no chat template; write the turns out in model.prompt, "
            f"with {AUDIO} where the speech goes, and remove model.chat."
        )
    turn = text if AUDIO in text else AUDIO + text
    chat: str = tokenizer.apply_chat_template(
        [{"role": "user", "content": turn}], tokenize=False, add_generation_prompt=True
    )
    if chat.count(AUDIO) != 1:
        raise ConfigError(
            f"model.chat = true: the decoder's chat template shows the user's turn {chat.count(AUDIO)} times, expected "
            "once; write the turns out in model.prompt and remove model.chat."
        )
    return chat


def _ids(text: str, tokenizer: Any) -> tuple[int, ...]:
    """Ids of a piece of a prompt; a special token is itself even for tokenizers that would spell it, as Mistral's do."""

    def encode(piece: str) -> list[int]:
        return list(tokenizer.encode(piece, add_special_tokens=False)) if piece else []

    named = {token: tokenizer.convert_tokens_to_ids(token) for token in tokenizer.all_special_tokens if token in text}
    spelled = [token for token, number in named.items() if encode(token) != [number]]
    if not spelled:
        return tuple(encode(text))
    pieces = re.split("(" + "|".join(map(re.escape, spelled)) + ")", text)
    return tuple(number for piece in pieces for number in ([named[piece]] if piece in spelled else encode(piece)))


def _beginning(tokenizer: Any) -> tuple[int, ...]:
    """What the tokenizer puts in front of every text by itself, which is how the decoder has seen all of them begin."""
    return tuple(token for token in tokenizer.encode("") if token == tokenizer.bos_token_id)
