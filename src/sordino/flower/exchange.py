"""Sends messages through Flower's grid and takes in the answers a few at a time, as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

__all__ = ["exchange"]

_AT_ONCE: Final = 8
"""Answers fetched together: what bounds the server's memory, however many nodes were asked."""


def exchange(
    grid: Grid, contents: Sequence[tuple[int, RecordDict]], *, kind: str, timeout_s: float, poll_s: float = 0.1
) -> Iterator[tuple[int, Message]]:
    """Yields ``(index of the content, answer)``; an answer may be an error, and those that are late are never seen.

    Args:
        grid: Flower's connection to the nodes.
        contents: node and what it is sent; they may share records.
        kind: Flower's message type.
        timeout_s: seconds after which nobody is waited for any more, and the messages expire.
        poll_s: seconds between looks.
    """
    messages = [Message(content, node, kind, ttl=timeout_s) for node, content in contents]
    sent = set(grid.push_messages(messages)) if messages else set()
    # A grid leaves out, or gives None for, what it could not deliver; the ids are on the messages.
    waiting = {m.metadata.message_id: i for i, m in enumerate(messages) if m.metadata.message_id in sent}
    del messages
    deadline = time.monotonic() + timeout_s
    while waiting and time.monotonic() < deadline:
        arrived = False
        for few in _in_parts(list(waiting)):
            for answer in grid.pull_messages(few):
                index = waiting.pop(answer.metadata.reply_to_message_id, None)
                if index is not None:
                    arrived = True
                    yield index, answer
        if not arrived:
            time.sleep(poll_s)


def _in_parts(ids: list[str]) -> Iterator[list[str]]:
    for first in range(0, len(ids), _AT_ONCE):
        yield ids[first : first + _AT_ONCE]
