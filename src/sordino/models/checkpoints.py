"""Reading configs and weights of transformers models, with errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sordino.errors import ConfigError

__all__ = ["read_config", "reading"]


def reading(what: str, source: str, read: Callable[[], Any]) -> Any:
    """Calls ``read``; turns what transformers raises for a missing or broken model into a ConfigError.

    Args:
        what: the option that named the model, e.g. ``model.encoder``.
        source: its value.
        read: loads from it.
    """
    try:
        return read()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = (str(error) or type(error).__name__).strip().splitlines()[0].rstrip(".")
        raise ConfigError(
            f"{what} = {source!r} cannot be loaded ({reason}); name an existing folder, or a hub id that is in the "
            "local cache or can be downloaded (HF_HUB_OFFLINE forbids downloading)."
        ) from error


def read_config(what: str, source: str) -> Any:
    """The transformers config of the model at ``source``, without its weights; raises ConfigError if there is none."""
    from transformers import AutoConfig

    return reading(what, source, lambda: AutoConfig.from_pretrained(source))
