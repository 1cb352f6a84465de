"""For Flower apps that exist already: a client mod that clips by component, and a strategy that draws, noises and charges.

The app's own ClientApp trains as before and returns its parameters; the mod makes of them one clipped update and lets
nothing else through, since an app's metrics are not covered by any guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from sordino.errors import PrivacyError
from sordino.flower.codec import Answer, decode_answer, decode_bounding, encode_answer, encode_bounding
from sordino.layout import ParameterLayout
from sordino.privacy import Ledger, NoiseSource, Plan, Update

__all__ = ["PrivateStrategy", "clip_by_component", "layout_of"]

_KEY: Final = "sordino"


def layout_of(arrays: ArrayRecord, *, component: Callable[[str], str]) -> ParameterLayout:
    """The layout of an app's parameters, in their own order; counters and other arrays that are not floating stay out.

    Args:
        arrays: the app's initial parameters.
        component: tells from a parameter's name which part of the model it belongs to.
    """
    return ParameterLayout.from_shapes(
        (name, component(name), tuple(array.shape)) for name, array in arrays.items() if _floats(array)
    )


def clip_by_component(message: Message, context: Context, call_next: Callable[[Message, Context], Message]) -> Message:
    """A client mod: ``ClientApp(mods=[clip_by_component])``, as the first one, so that nothing leaves behind it.

    Formal guarantee: what leaves under a `PrivateStrategy` is one update within the bounds of its plan, and nothing else.
    """
    if message.metadata.message_type != MessageType.TRAIN or _KEY not in message.content:
        return call_next(message, context)
    bounding = decode_bounding(message.content.config_records[_KEY]["bounding"])
    del message.content[_KEY]
    (start,) = message.content.array_records.values()
    before, names = _flat(start, _names(start)), _names(start)
    answer = call_next(message, context)
    if answer.has_error():
        return answer
    (trained,) = answer.content.array_records.values()
    update = Update(_flat(trained, names) - before)
    return Message(encode_answer(Answer(parcel=bounding.pack(bounding.clip(update)))), reply_to=message)


class PrivateStrategy(Strategy):
    """Draws cohorts, adds the noise and charges the ledger; evaluation is left to the strategy that it wraps.

    ``theta <- theta + (sum of clipped updates + noise) / n``. A round is charged before its release, and refused before
    anybody is asked if the budget does not cover it. Evaluation metrics are not covered: evaluate on public data.

    Args:
        strategy: for evaluation.
        plan: the guarantee, over ``layout_of`` the initial parameters.
        ledger: open, under terms that belong to the plan.
        noise: where cohorts and noise come from; by default the operating system.
    """

    def __init__(self, strategy: Strategy, *, plan: Plan, ledger: Ledger, noise: NoiseSource | None = None) -> None:
        self.strategy, self.plan, self.ledger, self.noise = strategy, plan, ledger, noise or NoiseSource()
        self._arrays = ArrayRecord()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Draws among the nodes that are connected; the draw may be empty."""
        self.ledger.require(self.plan.event(), round=server_round)
        self._arrays = arrays
        cohort = self.plan.cohort.draw(
            [str(node) for node in sorted(grid.get_node_ids())],
            population=self.plan.population,
            stream=self.noise.stream("cohort", server_round),
        )
        bounding = ConfigRecord({"bounding": encode_bounding(self.plan.bounding)})
        return [
            Message(RecordDict({"arrays": arrays, "config": config, _KEY: bounding}), int(node), MessageType.TRAIN)
            for node in cohort
        ]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Sums one reply a node, charges, releases, and steps; whoever sends something else is a drop-out."""
        total, heard = self.plan.empty_sum(), set[int]()
        for reply in replies:
            node = reply.metadata.src_node_id
            if reply.has_error() or node in heard:
                continue
            heard.add(node)
            try:
                answer = decode_answer(reply.content, size=self.plan.layout.size, measured=False)
                total.add(self.plan.receive(answer.parcel))
            except PrivacyError:
                continue
        receipt = self.ledger.charge(self.plan.event(), round=server_round)
        released = self.plan.release(total, receipt=receipt, noise=self.noise, place=(server_round,))
        self.plan = self.plan.after(released.norms)
        return self._stepped(released.values), None

    def _stepped(self, step: torch.Tensor) -> ArrayRecord:
        slots = {slot.name: slot for slot in self.plan.layout.slots}
        stepped = {}
        for name, array in self._arrays.items():
            old = array.numpy()
            if name in slots:
                slot = slots[name]
                old = (old + step[slot.start : slot.stop].reshape(slot.shape).numpy()).astype(old.dtype)
            stepped[name] = Array(np.asarray(old))
        return ArrayRecord(stepped)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """As the wrapped strategy does it."""
        return self.strategy.configure_evaluate(server_round, arrays, config, grid)

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """As the wrapped strategy does it."""
        return self.strategy.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        """As the wrapped strategy does it."""
        self.strategy.summary()


def _floats(array: Array) -> bool:
    return np.dtype(array.dtype).kind == "f"


def _names(arrays: ArrayRecord) -> list[str]:
    return [name for name, array in arrays.items() if _floats(array)]


def _flat(arrays: ArrayRecord, names: Iterable[str]) -> torch.Tensor:
    """float32 [layout.size]."""
    parts = [np.asarray(arrays[name].numpy(), np.float32).reshape(-1) for name in names]
    return torch.from_numpy(np.concatenate(parts))
