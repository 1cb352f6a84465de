"""Reading configs and weights of transformers models, with errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError

__all__ = ["read_config", "reading", "require_complete", "without_progress_bars"]


def reading(what: str, source: str, read: Callable[[], Any]) -> Any:
    """Calls ``read``; turns what transformers raises for a missing or broken model into a ConfigError.

    Args:
        what: the option that named the model, e.g. ``model.encoder``.
        source: its value.
        read: loads from it.
    """
    try:
        with _without_reports():
            if not Path(source).is_dir():
                return read()
            with without_progress_bars():
                return read()
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = (str(error) or type(error).__name__).strip().splitlines()[0].rstrip(".")
        raise ConfigError(
            f"{what} = {source!r} cannot be loaded ({reason}); name an existing folder, or a hub id that is in the "
            "local cache or can be downloaded (HF_HUB_OFFLINE forbids downloading)."
        ) from error


def require_complete(what: str, source: str, missing: Iterable[str]) -> None:
    """Raises ConfigError if weights are ``missing``: transformers would go on with random ones."""
    names = sorted(missing)
    if names:
        raise ConfigError(
            f"{what} = {source!r} lacks {len(names)} of its weights, such as {names[0]!r}; name a complete checkpoint."
        )


@contextmanager
def _without_reports() -> Iterator[None]:
    """Hides the list of weights that a model has no use for; those that it lacks are `require_complete`'s to find."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def without_progress_bars() -> Iterator[None]:
    """Hides the bars that transformers shows for every file of weights, short as they are for local ones."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def read_config(what: str, source: str) -> Any:
    """The transformers config of the model at ``source``, without its weights; raises ConfigError if there is none."""
    from transformers import AutoConfig

    return reading(what, source, lambda: AutoConfig.from_pretrained(source))
