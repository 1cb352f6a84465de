"""Peak memory of a server's round on Flower's messages, over that of its start, for several sizes of cohort.

    OMP_NUM_THREADS=1 python benchmarks/flower_memory.py [--json]

The nodes, whose training costs next to nothing, are in another process, and every message crosses in Flower's wire form. All
have answered before the server looks for the first answer, which is the worst case. Prints, in 10^6 bytes, the size of an
update, and how far two rounds with 8, 32 and 128 clients lift the peak of the server; each is measured in a process of its
own, by the kernel.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from uuid import uuid4

import torch
from flower_round import Loopback
from flwr.app import Context, Message, RecordDict
from flwr.common.serde import message_from_proto, message_to_proto
from flwr.proto.message_pb2 import Message as Wire
from flwr.supercore.task_identity import TaskIdentity
from interleaving import print_result
from memory import SIZE, peak_kb
from trivial import Nudge, layout, rounds_of

from sordino.federated import ServerState, run_rounds
from sordino.federated.methods.fedavg import FedAvg
from sordino.flower import FlowerGrid, Nodes, Site, make_client_app
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyPlan, Terms
from sordino.seeds import Seeds

COHORTS: Final = (8, 32, 128)
ROUNDS: Final = 2
ANSWERS: Final = dict[str, bytes]()
"""In the nodes' process: what waits to be fetched."""


@lru_cache
def node() -> Callable[[Message, Context], Message]:
    """All nodes, since all have the same client."""
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    site = Site(learner=Nudge(layout(SIZE, tensors=282)), method=FedAvg(), clients=("c",), noise=NoiseSource())
    return make_client_app(lambda *_: site)


def take_in(wire: bytes) -> None:
    """In the nodes' process: a message has come, and is answered at once."""
    message = message_from_proto(Wire.FromString(wire))
    context = Context(run_id=1, node_id=2, node_config={}, state=RecordDict(), run_config={"experiment": ""})
    ANSWERS[message.metadata.message_id] = message_to_proto(node()(message, context)).SerializeToString()


def hand_over(name: str) -> bytes:
    """In the nodes' process: an answer is fetched."""
    return ANSWERS.pop(name)


@dataclass
class Elsewhere(Loopback):
    """Carries messages to nodes in another process, and holds none itself."""

    clients: int
    process: ProcessPoolExecutor

    def get_node_ids(self) -> Iterable[int]:
        return range(1, self.clients + 1)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        names = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = str(uuid4())
            self.process.submit(take_in, message_to_proto(message).SerializeToString()).result()
            names.append(message.metadata.message_id)
        return names

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        wires = (self.process.submit(hand_over, name).result() for name in message_ids)
        return [message_from_proto(Wire.FromString(wire)) for wire in wires]


def measure(clients: int) -> None:
    """Prints how far the rounds lift the peak of this process."""
    torch.set_num_threads(1)
    TaskIdentity.run_id = TaskIdentity.node_id = TaskIdentity.task_id = 1
    with rounds_of(Nudge(layout(1_000)), population=8, rate=1.0, rounds=3) as done:
        list(done)  # whatever is imported or allocated once
    whole = layout(SIZE, tensors=282)
    terms = Terms(unit="client", population=clients, clients_per_speaker=1, delta=1e-5)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process,
        TemporaryDirectory() as folder,
        Ledger(Path(folder) / "ledger.jsonl", terms=terms) as ledger,
    ):
        nodes = Nodes(
            Elsewhere(clients, process),
            digest=whole.digest,
            dealt=False,
            enough=clients,
            wait_s=60,
            timeout_s=600,
            note=print,
        )
        nodes.here()
        before = peak_kb()
        for done in run_rounds(
            ServerState(0, torch.zeros(SIZE)),
            PrivacyPlan(whole, Poisson(rate=1.0), clients, noise_multiplier=1.0),
            rounds=ROUNDS,
            method=FedAvg(),
            backend=FlowerGrid(nodes, rate=None, measured=True, timeout_s=600, note=print),
            ledger=ledger,
            noise=NoiseSource(),
            seeds=Seeds(0),
        ):
            assert done.telemetry.to_json()["replies"] == clients
    print(peak_kb() - before)


def measured(clients: int) -> float:
    """The same, from another process, in 10^6 bytes."""
    call = [sys.executable, __file__, "--measure", str(clients)]
    return round(int(subprocess.run(call, check=True, capture_output=True, text=True).stdout) * 1024 / 1e6, 1)


def main() -> None:
    """Measures and prints."""
    print_result({"update_mb": SIZE * 4 / 1e6, **{f"peak_mb_{n}_clients": measured(n) for n in COHORTS}})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(int(sys.argv[2]))
    else:
        main()
