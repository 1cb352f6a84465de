"""Flower's client half around ours: what a node answers to the messages of a run."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from sordino.errors import BudgetExhausted, ConfigError
from sordino.flower.codec import decode_assignment, encode_answer, encode_greeting
from sordino.flower.context_memory import ContextMemory
from sordino.flower.settings import FlowerSettings
from sordino.flower.site import Site
from sordino.flower.trials import decode_trial, encode_tried

__all__ = ["OpensSites", "SiteFailed", "make_client_app"]


class SiteFailed(Exception):
    """What the server is told of a failure; the node's own log has the rest."""


class OpensSites(Protocol):
    """Makes the site of a run's settings and a node's config.

    It is called for every message, so it should keep what it loads.

    Args:
        settings: the run's.
        node_config: the node's.
        topic: the part of the experiment that the message belongs to; empty for a greeting, and where there is only one.
    """

    def __call__(self, settings: FlowerSettings, node_config: Mapping[str, Any], topic: str, /) -> Site: ...


def make_client_app(open_site: OpensSites) -> ClientApp:
    """A ClientApp around a site, whose clients' memories are kept for the topic that is under way, and no longer."""
    app = ClientApp()

    def opened(context: Context, topic: str) -> Site:
        site = open_site(FlowerSettings.of(context.run_config), context.node_config, topic)
        return replace(site, memory=ContextMemory.about(topic, context.state))

    @app.query()
    def greet(message: Message, context: Context) -> Message:
        with _reported():
            site = open_site(FlowerSettings.of(context.run_config), context.node_config, "")
            return Message(encode_greeting(site.greet()), reply_to=message)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        with _reported():
            assignment = decode_assignment(message.content)
            answer = opened(context, assignment.topic).answer(assignment)
            return Message(encode_answer(answer), reply_to=message)

    @app.evaluate()
    def try_model(message: Message, context: Context) -> Message:
        with _reported():
            trial = decode_trial(message.content)
            return Message(encode_tried(opened(context, trial.topic).try_model(trial)), reply_to=message)

    return app


@contextmanager
def _reported() -> Iterator[None]:
    """Lets nothing out that could quote a recording, a transcript or a name.

    What is wrong with a setting is told, and that a limit is reached, which no recording decides.
    """
    try:
        yield
    except Exception as error:
        logging.getLogger("flwr").exception("a message could not be answered")
        if isinstance(error, ConfigError | BudgetExhausted):
            raise SiteFailed(str(error)) from None
        raise SiteFailed(f"{type(error).__name__}; the node's own log says more") from None
