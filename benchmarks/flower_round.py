"""A round on Flower's messages: our backend against Flower's own server-side fixed clipping.

64 clients whose training costs next to nothing send 2.7 M parameters in 282 tensors. Both go through the same grid in this
process, every message in Flower's wire form both ways, so that what differs is what each does with them.

    OMP_NUM_THREADS=1 python benchmarks/flower_round.py [--json]
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.serverapp import Grid
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.supercore.task_identity import TaskIdentity
from interleaving import print_result, ratios, seconds
from trivial import Nudge, layout

from sordino.federated import ServerState, run_round
from sordino.federated.methods.fedavg import FedAvg as OurFedAvg
from sordino.flower import FlowerGrid, Nodes, Site, make_client_app
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyPlan, Terms
from sordino.seeds import Seeds

CLIENTS, SIZE, TENSORS = 64, 2_700_000, 282


class Loopback(Grid):
    """Carries messages to a function in this process."""

    def __init__(self, answer: Callable[[Message], Message]) -> None:
        self.answer, self.waiting = answer, dict[str, Message]()

    def get_node_ids(self) -> Iterable[int]:
        return range(1, CLIENTS + 1)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid4())
            self.waiting[message.metadata.message_id] = message
        return list(self.waiting)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [self._answered(self.waiting.pop(name)) for name in list(message_ids)]

    def _answered(self, message: Message) -> Message:
        answer = self.answer(Message(carried(message.content), metadata=message.metadata))  # type: ignore[call-overload]
        answer.content = carried(answer.content)
        return answer

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:  # noqa: ARG002
        return self.pull_messages(self.push_messages(messages))

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *args: Any, **kwargs: Any) -> Message:
        raise NotImplementedError


def carried(records: RecordDict) -> RecordDict:
    return recorddict_from_proto(recorddict_to_proto(records))


def our_round(ledger: Ledger) -> Callable[[], None]:
    """`run_round` with every client drawn, clipped where it is, received and clipped again, summed and noised."""
    learner = Nudge(layout(SIZE, tensors=TENSORS))
    plan = PrivacyPlan(learner.layout, Poisson(rate=1.0), CLIENTS, noise_multiplier=1.0)
    site = Site(learner=learner, method=OurFedAvg(), clients=("c",), noise=NoiseSource())
    app = make_client_app(lambda *_: site)
    context = Context(run_id=1, node_id=2, node_config={}, state=RecordDict(), run_config={"experiment": ""})
    nodes = Nodes(
        Loopback(lambda message: app(message, context)),
        digest=learner.layout.digest,
        dealt=False,
        enough=CLIENTS,
        wait_s=60,
        timeout_s=600,
        note=print,
    )
    backend = FlowerGrid(nodes, rate=None, measured=False, timeout_s=600, note=print)
    state = [ServerState(0, torch.zeros(SIZE))]

    def once() -> None:
        done = run_round(
            state[0],
            plan,
            method=OurFedAvg(),
            backend=backend,
            ledger=ledger,
            noise=NoiseSource(),
            seeds=Seeds(0),
        )
        state[0] = done.state

    return once


def flowers_round() -> Callable[[], None]:
    """The wrapper that clips at the server, around Flower's FedAvg."""

    def answer(message: Message) -> Message:
        old = message.content.array_records["arrays"]
        new = ArrayRecord({name: Array(array.numpy() + np.float32(0.01)) for name, array in old.items()})
        return Message(RecordDict({"arrays": new, "metrics": MetricRecord({"num-examples": 1})}), reply_to=message)

    grid = Loopback(answer)
    strategy = DifferentialPrivacyServerSideFixedClipping(
        FedAvg(fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=CLIENTS, min_available_nodes=CLIENTS),
        noise_multiplier=1.0,
        clipping_norm=1.0,
        num_sampled_clients=CLIENTS,
    )
    slots = layout(SIZE, tensors=TENSORS).slots
    arrays = [ArrayRecord({slot.name: Array(np.zeros(slot.shape, np.float32)) for slot in slots})]

    def once() -> None:
        messages = strategy.configure_train(1, arrays[0], ConfigRecord(), grid)
        arrays[0], _ = strategy.aggregate_train(1, grid.send_and_receive(messages))  # type: ignore[assignment]

    return once


def main() -> None:
    torch.set_num_threads(1)
    logging.getLogger("flwr").setLevel(logging.ERROR)
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    terms = Terms(unit="client", population=CLIENTS, clients_per_speaker=1, delta=1e-5)
    with TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.jsonl", terms=terms) as ledger:
        taken = seconds({"ours": our_round(ledger), "flower": flowers_round()}, repeats=5, warm_up=1)
    print_result({"CPU of a round, ours / Flower's": ratios(taken, floor="flower")["ours"]})


if __name__ == "__main__":
    main()
