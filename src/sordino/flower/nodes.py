"""Who is there: Flower's nodes, each greeted once before it is given work."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from flwr.app import MessageType, RecordDict
from flwr.serverapp import Grid

from sordino.errors import ConfigError, PrivacyError, SordinoError
from sordino.federated import ClientFailed
from sordino.flower.codec import Greeting, decode_greeting
from sordino.flower.exchange import exchange

__all__ = ["Nodes"]


class Nodes:
    """The nodes that are connected and have this experiment's model.

    A node that cannot take part (another model, no recordings, a missing module) is left out, and the reason noted.

    Args:
        grid: Flower's connection to them.
        digest: fingerprint of the model's layout.
        dealt: whether they stand for parts of the experiment's own data, as in a simulation; then all of them must come.
        enough: how many to wait for before the first round; later one will do.
        wait_s: seconds to wait for them.
        timeout_s: seconds that a node has to answer a greeting.
        note: is told in words who is left out.
        poll_s: seconds between looks.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        digest: str,
        dealt: bool,
        enough: int,
        wait_s: float,
        timeout_s: float,
        note: Callable[[str], None],
        poll_s: float = 0.1,
    ) -> None:
        self.grid, self.poll_s, self.dealt = grid, poll_s, dealt
        self._digest, self._enough, self._wait_s, self._timeout_s, self._note = digest, enough, wait_s, timeout_s, note
        self._begun = False
        self._met: dict[int, Greeting] = {}
        self._refused: dict[int, str] = {}

    def here(self) -> Sequence[tuple[int, Greeting]]:
        """Ids and greetings of those that are connected now, in a fixed order; waits for the first ones.

        Raises:
            ClientFailed: all that came were left out, or one of a simulation was.
            ConfigError: too few came in time.
        """
        deadline = time.monotonic() + self._wait_s
        while True:
            online = set(self.grid.get_node_ids())
            self._greet(online - self._met.keys() - self._refused.keys())
            here = sorted(
                ((node, self._met[node]) for node in online & self._met.keys()),
                key=lambda pair: (pair[1].partition, pair[0]),
            )
            enough = 1 if self._begun else max([self._enough, *(greeting.partitions for _, greeting in here)])
            if len(here) >= enough:
                self._begun = True
                return here
            if self._refused and (self.dealt or not here):
                raise ClientFailed(f"no node can take part: {next(iter(self._refused.values()))}")
            if time.monotonic() > deadline:
                raise ConfigError(
                    f"{len(here)} nodes came within {self._wait_s:g} s: expected at least {enough}; start SuperNodes "
                    "that reach this SuperLink, or raise wait_s."
                )
            time.sleep(self.poll_s)

    def _greet(self, strangers: Collection[int]) -> None:
        contents = [(node, RecordDict()) for node in strangers]
        answers = exchange(self.grid, contents, kind=MessageType.QUERY, timeout_s=self._timeout_s, poll_s=self.poll_s)
        for index, message in answers:
            node = contents[index][0]
            try:
                if message.has_error():
                    raise ClientFailed(str(message.error.reason))
                self._meet(node, decode_greeting(message.content))
            except SordinoError as error:
                self._refused[node] = str(error)
                self._note(f"node {node} is left out: {error}")

    def _meet(self, node: int, greeting: Greeting) -> None:
        if greeting.digest != self._digest:
            raise PrivacyError(
                f"it has a model of layout {greeting.digest}: expected {self._digest}; give it the same model and weights."
            )
        if (greeting.partitions > 0) != self.dealt:
            raise ConfigError(
                "the run expects "
                + ("parts of its own data" if self.dealt else "nodes with recordings of their own")
                + ", and this node is of the other kind; set own_recordings to match."
            )
        self._met[node] = greeting
