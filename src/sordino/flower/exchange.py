"""Sends messages through Flower's grid a few at a time, and takes in the answers one by one, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from flwr.app import Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid
from flwr.supercore.run import RunNotRunningException
from httpx import HTTPError

from sordino.errors import PrivacyError
from sordino.federated import ClientFailed
from sordino.flower.records import quoted

__all__ = ["Heard", "content_of", "exchange", "look", "send"]

Heard: TypeAlias = Message | PrivacyError
"""What a node answers, be it an error; or why it cannot be read."""

_AT_ONCE: Final = 8
"""Messages sent together: what bounds the server's memory if each brings a model of its own."""
_AWAY: Final = {ErrorCode.MESSAGE_UNAVAILABLE, ErrorCode.REPLY_MESSAGE_UNAVAILABLE, ErrorCode.NODE_UNAVAILABLE}


def exchange(
    grid: Grid, contents: Iterable[tuple[int, RecordDict]], *, kind: str, timeout_s: float, poll_s: float = 0.1
) -> Iterator[tuple[int, Heard]]:
    """Yields ``(index of the content, answer)``; of nodes that are away or late nothing is seen.

    Args:
        grid: Flower's connection to the nodes.
        contents: node and what it is sent; they may share records. Each is made when it is sent.
        kind: Flower's message type.
        timeout_s: seconds after which nobody is waited for any more, and the messages expire.
        poll_s: seconds between looks; as many as a look takes, where that is more.
    """
    waiting = send(grid, contents, kind=kind, timeout_s=timeout_s)
    deadline = time.monotonic() + timeout_s
    while waiting and (start := time.monotonic()) < deadline:
        yield from look(grid, waiting)
        if waiting:
            time.sleep(max(poll_s, time.monotonic() - start))


def send(grid: Grid, contents: Iterable[tuple[int, RecordDict]], *, kind: str, timeout_s: float) -> dict[str, int]:
    """Sends to nodes; gives the index of each content that was delivered, by the id of its message."""
    rest, waiting, first = iter(contents), dict[str, int](), 0
    while few := [Message(content, node, kind, ttl=timeout_s) for node, content in islice(rest, _AT_ONCE)]:
        sent = set(grid.push_messages(few))
        # A grid leaves out, or gives None for, what it could not deliver; the ids are on the messages.
        names = ((index, message.metadata.message_id) for index, message in enumerate(few, first))
        waiting |= {name: index for index, name in names if name in sent}
        first += len(few)
    return waiting


def look(grid: Grid, waiting: dict[str, int]) -> Iterator[tuple[int, Heard]]:
    """Yields those of the answers that have come, and takes them, and those that will not come, out of ``waiting``.

    They are fetched one by one: no more than one is in memory, and one that Flower cannot read takes no other with it.
    """
    for name in list(waiting):
        for heard in _heard(grid, name):
            index = waiting.pop(name)
            if isinstance(heard, PrivacyError) or not (heard.has_error() and heard.error.code in _AWAY):
                yield index, heard
            del heard


def content_of(heard: Heard) -> RecordDict:
    """What the node sent.

    Raises:
        ClientFailed: it sent an error.
        PrivacyError: what it sent cannot be read.
    """
    if isinstance(heard, PrivacyError):
        raise heard
    if heard.has_error():
        raise ClientFailed(quoted(heard.error.reason))
    return heard.content


def _heard(grid: Grid, name: str) -> Iterator[Heard]:
    """The answer to a message, if it has come."""
    try:
        answers = [answer for answer in grid.pull_messages([name]) if answer.metadata.reply_to_message_id == name]
    except (HTTPError, RunNotRunningException):
        raise
    except Exception as error:
        yield PrivacyError(
            f"an answer arrived that Flower cannot read ({type(error).__name__}); look at that node's log."
        )
        return
    if answers:
        yield answers.pop()
