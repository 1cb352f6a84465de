"""The backend whose clients are Flower's nodes. The round loop sees no difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import torch
from flwr.app import ArrayRecord, MessageType, RecordDict

from sordino.errors import ConfigError, PrivacyError
from sordino.federated import Backend, ClientFailed, FederatedMethod, Reply, Task
from sordino.federated.work import Work
from sordino.flower.codec import Greeting, decode_answer, encode_assignment
from sordino.flower.exchange import content_of, exchange
from sordino.flower.nodes import Nodes
from sordino.flower.records import encode_values
from sordino.flower.trials import Trial, Tried, decode_tried, encode_trial
from sordino.privacy import Parcel
from sordino.privacy.intake import Upload
from sordino.privacy.local_noise import Noising

__all__ = ["FlowerGrid"]


class _Asked(Protocol):
    """What one client is sent."""

    @property
    def client(self) -> str: ...


A = TypeVar("A", bound=_Asked)
R = TypeVar("R")


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
        topic: the part of the experiment that the tasks belong to; empty where it has only one.
        among: the clients that take part, whoever else comes; None for everybody.

    Attributes:
        work: what the clients have done that said so.
        reasons: why clients have failed, by their ids, each the last time; only debug telemetry may tell it.
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
        topic: str = "",
        among: Collection[str] | None = None,
    ) -> None:
        self._nodes, self._names, self._rate, self._measured = nodes, names, rate, measured
        self._dropout_rate, self._timeout_s, self._note = dropout_rate, timeout_s, note
        self._topic, self._among, self.work = topic, among, Work()
        self._here: dict[str, tuple[int, Greeting]] = {}
        self.reasons: dict[str, str] = {}
        self._noted: set[str] = set()
        self._anybody_answered = False

    def clients(self) -> Sequence[str]:
        """Those that are connected now."""
        here = {self._name(node, greeting): (node, greeting) for node, greeting in self._nodes.here()}
        self._here = {name: known for name, known in here.items() if self._among is None or name in self._among}
        return tuple(self._here)

    def greetings(self) -> Mapping[str, Greeting]:
        """What those that are connected now say of themselves."""
        return {client: self._here[client][1] for client in self.clients()}

    def gather(self, method: FederatedMethod, tasks: Sequence[Task]) -> Iterator[Reply]:  # noqa: ARG002
        """Replies as they come; the nodes have the method from the experiment.

        Raises:
            ClientFailed: all have failed, and nobody has answered in this run.
            ConfigError: nodes draw their clients themselves, in a phase that needs to know who they are.
        """
        self._refuse_sums(tasks)
        asked = [task for task in tasks if not task.drops_out(self._dropout_rate)]
        records = _Records()
        contents = (self._assignment(task, records.of(task.start)) for task in asked)
        yield from self._ask(asked, contents, kind=MessageType.TRAIN, read=self._reply)

    def try_models(self, trials: Sequence[Trial]) -> Iterator[tuple[str, Tried]]:
        """What clients' own models make of their own held-out utterances, as they answer; who is away does not.

        Raises:
            ClientFailed: all have failed, and nobody has answered in this topic.
        """
        asked, records = [trial for trial in trials if trial.client in self._here], _Records()
        contents = ((self._here[trial.client][0], encode_trial(trial, records.of(trial.given))) for trial in asked)
        yield from self._ask(asked, contents, kind=MessageType.EVALUATE, read=self._tried)

    def _ask(
        self,
        asked: Sequence[A],
        contents: Iterator[tuple[int, RecordDict]],
        *,
        kind: str,
        read: Callable[[A, RecordDict], R],
    ) -> Iterator[R]:
        """Yields what is made of each answer, as they come; failures are noted."""
        if not asked:
            return
        reason, poll_s = "", self._nodes.poll_s
        answers = exchange(self._nodes.grid, contents, kind=kind, timeout_s=self._timeout_s, poll_s=poll_s)
        for index, heard in answers:
            try:
                answer = read(asked[index], content_of(heard))
            except (PrivacyError, ClientFailed) as error:
                reason = str(error)
                self._note_failure(asked[index].client, reason)
                continue
            self._anybody_answered = True
            yield answer
            del heard, answer  # or they would stay in memory while the next one comes
        if reason and not self._anybody_answered:
            raise ClientFailed(f"every client that answered has failed: {reason}")

    def _assignment(self, task: Task, start: ArrayRecord) -> tuple[int, RecordDict]:
        content = encode_assignment(task, start, rate=self._rate, measured=self._measured, topic=self._topic)
        return self._here[task.client][0], content

    def _tried(self, trial: Trial, content: RecordDict) -> tuple[str, Tried]:
        tried = decode_tried(content, client=trial.client)
        self.work += tried.work
        return trial.client, tried

    def _reply(self, task: Task, content: RecordDict) -> Reply:
        size, sealed = task.bounding.clipper.size if task.sends else 0, task.noising is not None or not task.sends
        answer = decode_answer(content, size=size, measured=self._measured, sealed=sealed)
        self.work += answer.work
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
        self.reasons[client] = reason
        if self._measured:
            self._note(f"client {client!r} failed: {reason}")
        elif reason not in self._noted:
            self._noted.add(reason)
            self._note(f"a client failed: {reason}")


class _Records:
    """One record serves all neighbours that are sent the same model, most often all."""

    def __init__(self) -> None:
        self._values, self._record = torch.empty(0), ArrayRecord()

    def of(self, values: torch.Tensor) -> ArrayRecord:
        if values is not self._values:
            self._values, self._record = values, encode_values(values)
        return self._record
