"""The ``[model]`` table of an experiment: which speech-LLM, and which of its parameters are trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from sordino._check import at_least, fraction, positive
from sordino.config import Choice, FolderOrName, option
from sordino.errors import ConfigError
from sordino.models.connectors import CONNECTORS, Connector

__all__ = ["LoraOptions", "ModelOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraOptions:
    """Low-rank adapters: each target's output gains ``alpha / rank * B A x``.

    Targets are paths inside one transformer layer, and only layers of the encoder and of the decoder are searched:
    Whisper's own text decoder, whose layers have the same names, is never touched.

    Raises:
        ConfigError: rank below 1, alpha not above 0, dropout outside [0, 1).
    """

    rank: int = option("rank r of each adapter", 8)
    alpha: float = option("scale of each adapter; its output is multiplied by alpha / rank", 16.0)
    dropout: float = option("dropout on the adapters' inputs while training", 0.0)
    encoder_targets: tuple[str, ...] = option(
        "linear layers adapted in every encoder layer",
        ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    )
    decoder_targets: tuple[str, ...] = option(
        "linear layers adapted in every decoder layer", ("self_attn.q_proj", "self_attn.v_proj")
    )
    train: Literal["both", "b"] = option(
        "train A and B, or B alone with A fixed and shared, so that averaging clients averages the products BA", "both"
    )

    def __post_init__(self) -> None:
        at_least("model.lora.rank", self.rank, 1)
        positive("model.lora.alpha", self.alpha)
        fraction("model.lora.dropout", self.dropout, zero=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """A speech-LLM: either a ready ``base``, or an ``encoder`` and a ``decoder`` joined by a new connector.

    A base brings its own connector, and unless it is a Voxtral also its window and prompt, because its weights only fit
    those.

    Raises:
        ConfigError: base and parts together, one of the two parts alone, or what a base brings given for it.
    """

    base: Annotated[str, FolderOrName(reserved=("pocket",))] | None = option(
        '"pocket" (shipped, 1.1 M parameters), the folder of a speech-LLM saved by sordino, or a Voxtral (hub id or folder)',
        None,
    )
    encoder: Annotated[str, FolderOrName()] | None = option(
        "hub id or folder of a Whisper-type model, whose encoder is used", None
    )
    decoder: Annotated[str, FolderOrName()] | None = option(
        "hub id or folder of a Llama-type causal language model with its tokenizer", None
    )
    connector: Annotated[Connector, Choice(CONNECTORS)] | None = option(
        "what joins encoder and decoder; linear with 4 stacked frames if not given", None
    )
    window_s: float | None = option(
        "seconds of audio the encoder sees at once; the encoder's full window if not given", None
    )
    prompt: str | None = option(
        "text between the audio and the transcript; {audio} marks the audio's place if text stands before it too", None
    )
    chat: bool = option("put the prompt into the decoder's chat template, as the user's turn", False)  # noqa: FBT003
    start: Path | None = option(
        "folder of a finished run of the same model, whose adapters and connector are the starting point", None
    )
    train_encoder: bool = option("give the encoder adapters; false leaves it frozen", True)  # noqa: FBT003
    train_connector: bool = option("train the connector, in full rank", True)  # noqa: FBT003
    lora: LoraOptions = option("the adapters", factory=LoraOptions)
    dtype: Literal["float32", "bfloat16"] = option(
        "number format of the frozen weights; what is trained is float32", "float32"
    )
    device: str = option("where the model runs: cpu, cuda, cuda:1, or auto for a GPU if there is one", "cpu")
    gradient_checkpointing: bool = option(
        "compute activations again in the backward pass instead of keeping them: less memory, more time",
        False,  # noqa: FBT003
    )

    def __post_init__(self) -> None:
        parts = (self.encoder, self.decoder)
        if self.base is None and parts == (None, None):
            object.__setattr__(self, "base", "pocket")
        if self.base is not None and parts != (None, None):
            raise ConfigError(
                f"model.base = {self.base!r} already has an encoder and a decoder; "
                "remove model.base, or model.encoder and model.decoder."
            )
        if self.base is None and None in parts:
            missing = "encoder" if self.encoder is None else "decoder"
            raise ConfigError(f"model.{missing} is missing; name it too, or name a ready model as model.base.")
        if self.base == "pocket":
            self.leave_to_base()
        elif self.base is not None:
            self.leave_to_base("connector")
        if self.window_s is not None:
            positive("model.window_s", self.window_s)

    def leave_to_base(self, *keys: str) -> None:
        """Raises ConfigError if one of ``keys`` is set, or of all that a base saved by sordino brings itself."""
        for key in keys or ("connector", "window_s", "prompt", "chat"):
            if getattr(self, key) not in (None, False):
                raise ConfigError(
                    f"model.{key} = {getattr(self, key)!r}: base {self.base!r} brings its own; remove model.{key}."
                )
