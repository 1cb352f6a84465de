"""The backend whose clients are Flower's nodes. The round loop sees no difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from flwr.app import ArrayRecord, MessageType, RecordDict

from sordino.errors import ConfigError, PrivacyError
from sordino.federated import Backend, ClientFailed, FederatedMethod, Reply, Task
from sordino.flower.codec import Greeting, decode_answer, encode_assignment, encode_values
from sordino.flower.exchange import Heard, content_of, exchange
from sordino.flower.nodes import Nodes
from sordino.privacy import Parcel
from sordino.privacy.intake import Upload
from sordino.privacy.local_noise import Noising

__all__ = ["FlowerGrid"]


class FlowerGrid(Backend):
    """Gives tasks to nodes and streams their replies; each is checked and clipped again before anything sees it.

    | a node | counts as |
    |---|---|
    | that is away, late, or fails while others have answered in this run | a drop-out |
    | that sends another layout or shape, no answer of ours, or what Flower cannot read | a drop-out |
    | that answers a message of an earlier round, or twice | unheard |
    | that sends NaN or infinity | zero |
    | that sends too large an update | its update clipped to C; to m C for m clients that it has drawn itself |
    | if everybody fails before anybody has answered | the end of the run, and nothing is charged for the round |

    Args:
        nodes: who is there.
        names: in a simulation, the client that each part of the data stands for; otherwise nodes go by their ids.
        rate: probability q with which nodes draw their own clients; None if the server draws the nodes.
        measured: ask for losses and norms, which no guarantee covers.
        dropout_rate: chance that a drawn client never answers, to rehearse unreliable sites.
        timeout_s: seconds that a round waits for answers.
        note: is told in words why nodes fail; under private telemetry not which node, nor when.
    """

    def __init__(
        self,
        nodes: Nodes,
        *,
        names: Sequence[str] = (),
        rate: float | None,
        measured: bool,
        dropout_rate: float = 0.0,
        timeout_s: float,
        note: Callable[[str], None],
    ) -> None:
        self._nodes, self._names, self._rate, self._measured = nodes, names, rate, measured
        self._dropout_rate, self._timeout_s, self._note = dropout_rate, timeout_s, note
        self._here: dict[str, tuple[int, Greeting]] = {}
        self._noted: set[str] = set()
        self._anybody_answered = False

    def clients(self) -> Sequence[str]:
        """Those that are connected now."""
        self._here = {self._name(node, greeting): (node, greeting) for node, greeting in self._nodes.here()}
        return tuple(self._here)

    def gather(self, method: FederatedMethod, tasks: Sequence[Task]) -> Iterator[Reply]:  # noqa: ARG002
        """Replies as they come; the nodes have the method from the experiment.

        Raises:
            ClientFailed: all have failed, and nobody has answered in this run.
            ConfigError: nodes draw their clients themselves, in a phase that needs to know who they are.
        """
        self._refuse_sums(tasks)
        asked = [task for task in tasks if not task.drops_out(self._dropout_rate)]
        if not asked:
            return
        reason = ""
        answers = exchange(
            self._nodes.grid,
            self._contents(asked),
            kind=MessageType.TRAIN,
            timeout_s=self._timeout_s,
            poll_s=self._nodes.poll_s,
        )
        for index, heard in answers:
            try:
                reply = self._reply(asked[index], heard)
            except (PrivacyError, ClientFailed) as error:
                reason = str(error)
                self._note_failure(asked[index].client, reason)
                continue
            self._anybody_answered = True
            yield reply
        if reason and not self._anybody_answered:
            raise ClientFailed(f"every client that answered has failed: {reason}")

    def _contents(self, asked: Sequence[Task]) -> Iterator[tuple[int, RecordDict]]:
        """What each node is sent; one record serves all neighbours that start from the same model, most often all."""
        start, record = None, ArrayRecord()
        for task in asked:
            if task.start is not start:
                start, record = task.start, encode_values(task.start)
            yield self._here[task.client][0], encode_assignment(task, record, rate=self._rate, measured=self._measured)

    def _reply(self, task: Task, heard: Heard) -> Reply:
        content = content_of(heard)
        size, sealed = task.bounding.clipper.size if task.sends else 0, task.noising is not None or not task.sends
        answer = decode_answer(content, size=size, measured=self._measured, sealed=sealed)
        upload = self._received(task, answer.parcel)
        return Reply(task.client, upload, math.nan if answer.loss is None else answer.loss, answer.steps)

    def _received(self, task: Task, parcel: Parcel) -> Upload:
        """What came, checked and bounded again; what a client has noised cannot be bounded any more."""
        if not task.sends:
            return None
        if task.noising is not None:
            return task.noising.receive(parcel)
        return task.bounding.receive(parcel, clients=1 if self._rate is None else self._here[task.client][1].clients)

    def _refuse_sums(self, tasks: Sequence[Task]) -> None:
        """Nodes with several clients send one sum, of clients whom they draw anew for every message."""
        if self._rate is None:
            return
        if any(task.moment[1] > 0 or isinstance(task.noising, Noising) or not task.sends for task in tasks):
            raise ConfigError(
                "the nodes draw their own clients, and the method's rounds have several phases or single uploads: expected "
                "one client a node, whom the server draws once a round; use as many nodes as clients."
            )

    def _name(self, node: int, greeting: Greeting) -> str:
        if len(self._names) == greeting.partitions > 0:
            return self._names[greeting.partition]
        return f"node-{greeting.partition if greeting.partitions else node}"

    def _note_failure(self, client: str, reason: str) -> None:
        """Under private telemetry each reason once, since who was drawn, and when, is not to be told."""
        if self._measured:
            self._note(f"client {client!r} failed: {reason}")
        elif reason not in self._noted:
            self._noted.add(reason)
            self._note(f"a client failed: {reason}")
