"""A grid whose nodes answer in this process; messages go through Flower's own wire form on their way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from flwr.app import Context, Error, Message, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.serverapp import Grid
from toy import LAYOUT, ToyLearner

from sordino.federated.methods.fedavg import FedAvg
from sordino.flower import FlowerGrid, OpensSites, Site, make_client_app
from sordino.flower.nodes import Nodes
from sordino.privacy import NoiseSource

Node = Callable[[Message], Message | None]


def carried(records: RecordDict) -> RecordDict:
    return recorddict_from_proto(recorddict_to_proto(records))


def node(
    toy: ToyLearner, *clients: str, noise: NoiseSource | None = None, partition: int = -1, partitions: int = 0
) -> Node:
    """The real client app around the toy learner."""
    site = Site(learner=toy, method=FedAvg(), clients=clients, noise=noise or NoiseSource(), partition=partition,
                partitions=partitions)  # fmt: skip
    return serving(lambda *_: site)


def serving(
    open_site: OpensSites,
    *,
    run_config: Mapping[str, Any] | None = None,
    **node_config: Any,
) -> Node:
    app = make_client_app(open_site)
    settings = dict(run_config or {"experiment": ""})
    context = Context(run_id=1, node_id=2, node_config=node_config, state=RecordDict(), run_config=settings)

    def answer(message: Message) -> Message:
        try:
            return app(message, context)
        except Exception as error:
            return Message(Error(code=2, reason=str(error)), reply_to=message)

    return answer


def dealt(toy: ToyLearner) -> dict[int, Node]:
    """One node a client, as a simulation has them; node ids say nothing about the order."""
    names = sorted(toy.targets)
    return {
        900 - 7 * index: node(toy, name, partition=index, partitions=len(names)) for index, name in enumerate(names)
    }


@dataclass
class FakeGrid(Grid):
    """``nodes`` answer at once; what one returns None for never comes."""

    nodes: dict[int, Node]
    online: set[int] | None = None
    sent: list[Message] = field(default_factory=list)
    pushed: list[int] = field(default_factory=list)
    pulled: list[int] = field(default_factory=list)
    waiting: dict[str, Message] = field(default_factory=dict)

    def get_node_ids(self) -> Iterable[int]:
        return list(self.nodes if self.online is None else self.online)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        ids = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid4())
            self.sent.append(message)
            if message.metadata.dst_node_id in self.nodes:
                self.waiting[message.metadata.message_id] = message
                ids.append(message.metadata.message_id)
        self.pushed.append(len(ids))
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        answers = []
        for name in message_ids:
            if name not in self.waiting:
                continue
            message = self.waiting.pop(name)
            arrived = Message(carried(message.content), metadata=message.metadata)  # type: ignore[call-overload]
            answer = self.nodes[message.metadata.dst_node_id](arrived)
            if answer is not None:
                if answer.has_content():
                    answer.content = carried(answer.content)
                answers.append(answer)
        self.pulled.append(len(answers))
        return answers

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return self.pull_messages(self.push_messages(messages))

    def set_run(self, run: object) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *args: Any, **kwargs: Any) -> Message:
        raise NotImplementedError


def backend(grid: FakeGrid, toy: ToyLearner, *, names: Sequence[str] | None = None, rate: float | None = None,
            measured: bool = False, own: bool = False, notes: list[str] | None = None,
            **options: Any) -> FlowerGrid:  # fmt: skip
    note = ([] if notes is None else notes).append
    waits = {"enough": options.pop("enough", 1), "wait_s": options.pop("wait_s", 0.2)}
    nodes = Nodes(grid, digest=LAYOUT.digest, dealt=not own, timeout_s=0.2, note=note, poll_s=0.001, **waits)
    names = (() if own else sorted(toy.targets)) if names is None else names
    return FlowerGrid(nodes, names=names, rate=rate, measured=measured, note=note,
                      **{"timeout_s": 0.2, **options})  # fmt: skip
