"""How a CTC recogniser's output becomes text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sordino._check import at_least
from sordino.config import option
from sordino.errors import ConfigError

__all__ = ["DecodingOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingOptions:
    """The likeliest path or the likeliest text, of any words or of those of a list.

    Raises:
        ConfigError: a beam below 1, or a closed vocabulary without a search.
    """

    search: Literal["greedy", "beam"] = option(
        "greedy takes the likeliest unit of each frame, beam sums over alignments.", "greedy"
    )
    beam: int = option("Prefixes that beam search keeps after each frame.", 16)
    closed: bool = option("Let only words of model.vocabulary out; needs beam search.", default=False)

    def __post_init__(self) -> None:
        at_least("evaluation.decoding.beam", self.beam, 1)
        if self.closed and self.search == "greedy":
            raise ConfigError(
                'evaluation.decoding.closed = true with search = "greedy": a likeliest path can spell anything; set '
                'evaluation.decoding.search = "beam".'
            )
