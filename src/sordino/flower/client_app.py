"""Flower's client half around ours: what a node answers to the messages of a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from sordino.errors import ConfigError
from sordino.flower.codec import decode_assignment, encode_answer, encode_greeting
from sordino.flower.context_memory import ContextMemory
from sordino.flower.settings import FlowerSettings
from sordino.flower.site import Site

__all__ = ["SiteFailed", "make_client_app"]


class SiteFailed(Exception):
    """What the server is told of a failure; the node's own log has the rest."""


def make_client_app(open_site: Callable[[FlowerSettings, Mapping[str, Any]], Site]) -> ClientApp:
    """A ClientApp around a site.

    Args:
        open_site: makes the site of the run's settings and the node's config; called for every message, so it should keep
            what it has loaded.
    """
    app = ClientApp()

    @app.query()
    def greet(message: Message, context: Context) -> Message:
        with _reported():
            site = open_site(FlowerSettings.of(context.run_config), context.node_config)
            return Message(encode_greeting(site.greet()), reply_to=message)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        with _reported():
            site = open_site(FlowerSettings.of(context.run_config), context.node_config)
            site = replace(site, memory=ContextMemory(context.state))
            return Message(encode_answer(site.answer(decode_assignment(message.content))), reply_to=message)

    return app


@contextmanager
def _reported() -> Iterator[None]:
    """Lets nothing out that could quote a recording, a transcript or a name: only what is wrong with a setting is told."""
    try:
        yield
    except Exception as error:
        logging.getLogger("flwr").exception("a message could not be answered")
        told = str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}; the node's own log says more"
        raise SiteFailed(told) from None
