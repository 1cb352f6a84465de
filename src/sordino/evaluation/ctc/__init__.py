"""Decoding of CTC recognisers: greedy, or by prefix beam search with or without a closed vocabulary."""

from typing import TYPE_CHECKING, Any

from sordino.evaluation.ctc.lexicon import Lexicon
from sordino.evaluation.ctc.options import DecodingOptions
from sordino.evaluation.ctc.search import beam_search, greedy_path

if TYPE_CHECKING:
    from sordino.evaluation.ctc.transcribing import Decoder, transcribe_clips

__all__ = ["Decoder", "DecodingOptions", "Lexicon", "beam_search", "greedy_path", "transcribe_clips"]


def __getattr__(name: str) -> Any:
    if name in ("Decoder", "transcribe_clips"):  # the only names here that need torch
        from sordino.evaluation.ctc import transcribing

        return getattr(transcribing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
