"""Who is there: Flower's nodes, each greeted once before it is given work."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import Self

from flwr.app import MessageType, RecordDict
from flwr.serverapp import Grid

from sordino.errors import ConfigError, PrivacyError, SordinoError
from sordino.federated import ClientFailed
from sordino.flower.codec import Greeting, decode_greeting
from sordino.flower.exchange import content_of, look, send
from sordino.flower.settings import FlowerSettings

__all__ = ["Nodes"]


class Nodes:
    """The nodes that are connected and have this experiment's model.

    A node that cannot take part (another model, no recordings, a missing module) is left out, and the reason noted. Before
    the first round, once enough are there, others that have been greeted have as long again as that took. Later nobody is
    waited for, and whoever comes is in the next round.

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
        self._greeted: dict[int, float] = {}  # not heard of since, and until when they may answer
        self._greetings: dict[str, int] = {}
        self._met: dict[int, Greeting] = {}
        self._refused: dict[int, str] = {}

    @classmethod
    def of(cls, grid: Grid, settings: FlowerSettings, *, digest: str, note: Callable[[str], None]) -> Self:
        """Those that a run's settings ask for."""
        return cls(
            grid,
            digest=digest,
            dealt=not settings.own_recordings,
            enough=settings.nodes,
            wait_s=settings.wait_s,
            timeout_s=settings.timeout_s,
            note=note,
        )

    def here(self) -> Sequence[tuple[int, Greeting]]:
        """Ids and greetings of those that are connected now, in a fixed order; waits for the first ones.

        Raises:
            ClientFailed: all that came were left out, or one of a simulation was.
            ConfigError: too few came in time.
        """
        start, ready = time.monotonic(), math.inf
        while True:
            online = set(self.grid.get_node_ids())
            self._greet(online - self._met.keys() - self._refused.keys() - self._greeted.keys())
            self._listen()
            here = sorted(
                ((node, self._met[node]) for node in online & self._met.keys()),
                key=lambda pair: (pair[1].partition, pair[0]),
            )
            enough = 1 if self._begun else max([self._enough, *(greeting.partitions for _, greeting in here)])
            taken, awaited = time.monotonic() - start, online & self._greeted.keys()
            if len(here) >= enough:
                ready = min(ready, taken)
                if self._begun or not awaited or taken > 2 * ready:
                    self._begun = True
                    return here
            elif self._refused and (self.dealt or not (here or awaited)):
                raise ClientFailed(f"no node can take part: {next(iter(self._refused.values()))}")
            elif taken > self._wait_s:
                raise ConfigError(
                    f"{len(here)} nodes came within {self._wait_s:g} s: expected at least {enough}; start SuperNodes "
                    "that reach this SuperLink, or raise wait_s."
                )
            time.sleep(self.poll_s)

    def _greet(self, strangers: Collection[int]) -> None:
        nodes = tuple(strangers)
        contents = ((node, RecordDict()) for node in nodes)
        sent = send(self.grid, contents, kind=MessageType.QUERY, timeout_s=self._timeout_s)
        self._greetings |= {name: nodes[index] for name, index in sent.items()}
        self._greeted |= dict.fromkeys((nodes[index] for index in sent.values()), time.monotonic() + self._timeout_s)

    def _listen(self) -> None:
        """Takes in what has come; those that were away, or late, are greeted anew when they are seen again."""
        for node, heard in look(self.grid, self._greetings):
            try:
                self._meet(node, decode_greeting(content_of(heard)))
            except SordinoError as error:
                self._refused[node] = str(error)
                self._note(f"node {node} is left out: {error}")
        now, awaited = time.monotonic(), set(self._greetings.values())
        self._greeted = {node: until for node, until in self._greeted.items() if node in awaited and now < until}
        self._greetings = {name: node for name, node in self._greetings.items() if node in self._greeted}

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
