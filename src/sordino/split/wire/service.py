"""The server's half of a call: who asks, may they, is it a message of ours, and then the model.

gRPC runs without generated code: a method is a name, and takes and gives bytes (`sordino.split.wire.messages`).

Edge cases, none of which ends the server:

| what comes | status |
|---|---|
| no token, or nobody's | ``UNAUTHENTICATED``, before the message is read |
| a holder's calls, or places, above what a minute allows; too many at once | ``RESOURCE_EXHAUSTED``, with the time to wait |
| a message above ``max_message_mib`` | ``RESOURCE_EXHAUSTED``, before it is read |
| one that does not arrive | ``ABORTED`` |
| not safetensors; tensors, dtypes, shapes or keys not declared; numbers not finite | ``INVALID_ARGUMENT`` |
| embeddings of another width; blocks or reductions that the model does not have | ``INVALID_ARGUMENT`` |
| a batch above a limit | ``OUT_OF_RANGE`` |
| growing sequences that are not there, another client's, or of another length | ``NOT_FOUND`` |
| states of another model expected than the one that is served | ``FAILED_PRECONDITION`` |
| the model fails | ``INTERNAL``, with the kind of error and nothing else |

Nothing that a client sends is logged: a line of the log names a holder, a method and a reason in words of the server's own.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Final

import grpc
import torch

from sordino.errors import DataError, SordinoError
from sordino.split.growing import GrowingServer
from sordino.split.wire.batches import Batch, pack, unpack
from sordino.split.wire.growths import Growths, Kept
from sordino.split.wire.holders import Holders
from sordino.split.wire.limits import Allowance, Limits
from sordino.split.wire.messages import BATCH, FOLLOWING, GROWTH, NOTHING, Form, Message, decode, encode
from sordino.split.wire.refusal import Refusal, busy

__all__ = ["CLOSE", "DESCRIBE", "EXTEND", "OPEN", "SERVICE", "STATES_OF", "StatesService"]

SERVICE: Final = "sordino.split.v1.States"
DESCRIBE: Final = "Describe"
STATES_OF: Final = "States"

OPEN: Final = "Open"
EXTEND: Final = "Extend"
CLOSE: Final = "Close"

_Context = grpc.aio.ServicerContext[bytes, bytes]
_Answer = Callable[[str, Message], Awaitable[Message]]


@dataclass(slots=True)
class _Account:
    """What a holder has used."""

    calls: Allowance
    places: Allowance
    at_once: int = 0


class StatesService:
    """Answers clients' calls from a model, one batch after the other.

    Args:
        model: whose states are asked for.
        holders: who may ask.
        limits: how much.
        note: takes a line for the server's log.

    Attributes:
        counts: how many calls ended in which status.
    """

    def __init__(
        self, model: GrowingServer, *, holders: Holders, limits: Limits, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self._model, self._holders, self._limits, self._note = model, holders, limits, note
        self._card = model.describe()
        self._accounts = {
            name: _Account(Allowance(limits.calls_per_minute), Allowance(limits.places_per_minute))
            for name in holders.digests
        }
        # One thread: the model has all cores for one batch, and memory for no more than one.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._growths = Growths(limits)
        self.counts: Counter[str] = Counter()
        self._refusals: Counter[tuple[str, str, str]] = Counter()

    def handler(self) -> grpc.GenericRpcHandler:
        """What a gRPC server needs to call this."""
        methods = {
            DESCRIBE: self._method(DESCRIBE, NOTHING, self._describe),
            STATES_OF: self._method(STATES_OF, BATCH, self._states),
            OPEN: self._method(OPEN, BATCH, self._open),
            EXTEND: self._method(EXTEND, FOLLOWING, self._extend),
            CLOSE: self._method(CLOSE, GROWTH, self._close),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def close(self) -> None:
        """Forgets batches that wait; the one that is computed is computed to its end."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _method(self, name: str, form: Form, answer: _Answer) -> grpc.RpcMethodHandler[bytes, bytes]:
        async def call(_: AsyncIterator[bytes], context: _Context) -> bytes:
            reply = await self._reply(name, form, answer, context)
            self.counts["OK" if isinstance(reply, bytes) else reply.code.name] += 1
            if isinstance(reply, Refusal):
                await context.abort(reply.code, reply.reason, reply.trailing)
            return reply

        # To gRPC a message is a stream of one. Taken as a stream, it is read when the handler asks for it, not before:
        # a stranger's is never read at all.
        return grpc.stream_unary_rpc_method_handler(call)

    async def _reply(self, name: str, form: Form, answer: _Answer, context: _Context) -> bytes | Refusal:
        holder, noted = None, ""
        try:
            holder = self._authenticated(context)
            with self._admitted(holder):
                return encode(await answer(holder, decode(await self._read(context), form)))
        except Refusal as known:
            refusal = known
        except SordinoError as error:  # quotes the message, so it is for the client alone
            refusal = Refusal(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            noted = "a message that is not one of ours, or does not fit the model"
        except Exception as error:  # the server outlives whatever a message or a model brings about
            refusal = Refusal(grpc.StatusCode.INTERNAL, f"the model failed ({type(error).__name__})")
        self._log(holder or "a stranger", name, refusal.code.name, noted or refusal.reason)
        return refusal

    def _log(self, who: str, method: str, code: str, reason: str) -> None:
        """Notes the 1st, 2nd, 4th, 8th ... refusal of a kind, so that nobody can fill a disk."""
        self._refusals[who, method, code] += 1
        times = self._refusals[who, method, code]
        if times & (times - 1) == 0:
            self._note(f"{who}, {method}: {reason}{f' ({times} of this kind so far)' if times > 1 else ''}")

    def _authenticated(self, context: _Context) -> str:
        given = dict(context.invocation_metadata() or ()).get("authorization", "")
        holder = self._holders.holder(given if isinstance(given, str) else "")
        if holder is None:
            raise Refusal(
                grpc.StatusCode.UNAUTHENTICATED, "the token is not one of this server's; ask its owner for one"
            )
        return holder

    @contextmanager
    def _admitted(self, holder: str) -> Iterator[None]:
        account = self._accounts[holder]
        if account.at_once >= self._limits.calls_at_once:
            raise busy(f"calls_at_once = {self._limits.calls_at_once}", 0.1)
        if wait_s := account.calls.take(1):
            raise busy(f"calls_per_minute = {self._limits.calls_per_minute}", wait_s)
        account.at_once += 1
        try:
            yield
        finally:
            account.at_once -= 1

    async def _read(self, context: _Context) -> bytes:
        try:
            data = await asyncio.wait_for(context.read(), self._limits.read_s)
        except TimeoutError:
            raise Refusal(
                grpc.StatusCode.ABORTED,
                f"the message did not arrive in read_s = {self._limits.read_s:g} seconds; send smaller batches",
            ) from None
        return data if isinstance(data, bytes) else b""  # gRPC's mark of an end, where a client sends nothing

    async def _describe(self, _: str, __: Message) -> Message:
        return Message({"card": self._card.to_json(), "limits": asdict(self._limits)})

    async def _states(self, holder: str, message: Message) -> Message:
        batch = self._batch(holder, message)
        mask = batch.mask
        noised = unpack(batch.rows, mask)
        states = await self._computed(
            lambda: self._model.states(noised, mask, layers=batch.layers, reduction=batch.reduction)
        )
        return Message({"card": self._card.fingerprint}, {"states": pack(states.transpose(1, 2), mask)})

    async def _open(self, holder: str, message: Message) -> Message:
        batch = self._batch(holder, message)
        if len(set(batch.lengths)) > 1:
            raise DataError("sequences of several lengths cannot grow together; open a growth for each length.")
        kept = Kept(
            holder=holder,
            growth=self._model.open(layers=batch.layers, reduction=batch.reduction),
            batch=len(batch.lengths),
            layers=batch.layers,
            reduction=batch.reduction,
        )
        with self._growths.opened(kept) as name:
            return await self._grown(kept, name, batch.rows)

    async def _extend(self, holder: str, message: Message) -> Message:
        name, at, rows = message.said["growth"], message.said["at"], message.tensors["noised"]
        with self._growths.extended(holder, name, at=at) as kept:
            more, left = divmod(len(rows), kept.batch)
            if left or not more:
                raise DataError(f"{len(rows)} embeddings for {kept.batch} sequences; send the same number for each.")
            whole = Batch(
                card=self._card.fingerprint,
                rows=rows,
                lengths=(at + more,) * kept.batch,
                layers=kept.layers,
                reduction=kept.reduction,
            )
            self._require_within_limits(holder, whole, places=len(rows))
            return await self._grown(kept, name, rows)

    async def _close(self, holder: str, message: Message) -> Message:
        self._growths.close(holder, message.said["growth"])
        return Message()

    async def _grown(self, kept: Kept, name: str, rows: torch.Tensor) -> Message:
        noised = rows.view(kept.batch, -1, rows.shape[1])
        states = await self._computed(lambda: kept.growth.extend(noised))
        return Message(
            {"card": self._card.fingerprint, "growth": name}, {"states": states.transpose(1, 2).flatten(0, 1)}
        )

    def _batch(self, holder: str, message: Message) -> Batch:
        batch = Batch.from_message(message, width=self._card.width)
        self._require_card(batch.card)
        self._card.require_layers(batch.layers, reduction=batch.reduction)
        self._require_within_limits(holder, batch, places=batch.places)
        return batch

    def _require_card(self, fingerprint: str) -> None:
        if fingerprint != self._card.fingerprint:
            raise Refusal(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"states of another model were asked for than the one that is served now, {self._card.model} with card "
                f"{self._card.fingerprint}; begin anew with it, or have the former served again",
            )

    def _require_within_limits(self, holder: str, batch: Batch, *, places: int) -> None:
        if too_much := self._limits.excess(batch):
            raise Refusal(grpc.StatusCode.OUT_OF_RANGE, f"the server has {too_much}; send smaller batches")
        if wait_s := self._accounts[holder].places.take(places):
            raise busy(f"places_per_minute = {self._limits.places_per_minute}", wait_s)

    async def _computed(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        return await asyncio.get_running_loop().run_in_executor(self._thread, compute)
