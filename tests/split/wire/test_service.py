"""Whatever comes, the server says what is wrong with it and goes on."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
import torch
from served import OTHER_TOKEN, TOKEN, Served, batch, serving
from test_messages import BAD

from sordino.split import ModelCard
from sordino.split.growing import Growth
from sordino.split.local_server import LocalStates
from sordino.split.wire import Limits
from sordino.split.wire.batches import Batch
from sordino.split.wire.messages import CARD, Message, decode, encode

LIMITS = Limits(max_message_mib=0.5, max_batch=8, max_tokens=32, max_places=128, read_s=0.3, calls_at_once=2)
CODE = grpc.StatusCode


@pytest.fixture(scope="module")
def model(tiny_qwen: Path) -> LocalStates:
    return LocalStates.load(str(tiny_qwen))


@pytest.fixture(scope="module")
def served(model: LocalStates) -> Iterator[Served]:
    with serving(model, limits=LIMITS) as server:
        yield server


def asked(model: ModelCard, **changed: object) -> bytes:
    noised, mask = batch(model.width)
    whole = Batch.of(model, noised, mask, layers=[1, 5], reduction=None)
    return encode(replace(whole, **changed).to_message())  # type: ignore[arg-type]


def refused(call: Callable[[], object]) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value


@pytest.fixture(autouse=True)
def alive(served: Served, model: LocalStates) -> Iterator[None]:
    """After every test of this file the server answers as before."""
    yield
    assert decode(served.raw("Describe", encode(Message())), CARD).said["card"] == model.describe().to_json()
    assert served.raw("States", asked(model.describe()))


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_malformed_message(data: bytes, served: Served) -> None:
    error = refused(lambda: served.raw("States", data))
    assert error.code() is CODE.INVALID_ARGUMENT
    assert error.details()


@pytest.mark.parametrize("method", ["Describe", "States"])
@pytest.mark.parametrize("token", ["", "x" * 40, TOKEN[:-1], TOKEN + "t", "ü" * 3])
def test_a_wrong_token(method: str, token: str, served: Served) -> None:
    if token.isascii():
        assert refused(lambda: served.raw(method, b"", token=token)).code() is CODE.UNAUTHENTICATED
    else:
        with pytest.raises((grpc.RpcError, ValueError)):
            served.raw(method, b"", token=token)


def test_a_stranger_s_message_is_not_even_read(served: Served) -> None:
    error = refused(lambda: served.raw("States", bytes(8 << 20), token="x" * 40))
    assert error.code() is CODE.UNAUTHENTICATED


def test_an_oversized_message(served: Served) -> None:
    error = refused(lambda: served.raw("States", bytes(LIMITS.max_bytes + 1)))
    assert error.code() is CODE.RESOURCE_EXHAUSTED
    assert f"{LIMITS.max_bytes + 1} vs. {LIMITS.max_bytes}" in error.details()


def test_a_batch_above_the_limits(served: Served, model: LocalStates) -> None:
    card = model.describe()
    for lengths, name in (((1,) * 9, "max_batch"), ((33,), "max_tokens"), ((32, 1, 1, 1, 1), "max_places")):
        noised, mask = batch(card.width, lengths)
        data = encode(Batch.of(card, noised, mask, layers=[1], reduction=None).to_message())
        error = refused(lambda data=data: served.raw("States", data))  # type: ignore[misc]
        assert error.code() is CODE.OUT_OF_RANGE
        assert name in error.details()
    noised, mask = batch(card.width, (32, 32, 32, 32))
    data = encode(Batch.of(card, noised, mask, layers=range(1, 29), reduction=None).to_message())
    error = refused(lambda: served.raw("States", data))
    assert error.code() is CODE.OUT_OF_RANGE
    assert "max_message_mib" in error.details()  # of what would come back


@pytest.mark.parametrize(
    "changed",
    [
        {"layers": (0,)},
        {"layers": (29,)},
        {"layers": (1, 1)},
        {"layers": ()},
        {"reduction": 5},
        {"reduction": 0},
        {"reduction": -8},
        {"rows": torch.zeros(14, 63)},
        {"rows": torch.zeros(14, 0)},
        {"lengths": (14, 1)},
        {"lengths": (15, -1)},
        {"lengths": (1 << 30, 14 - (1 << 30))},
    ],
    ids=str,
)
def test_what_the_model_does_not_have(changed: dict[str, object], served: Served, model: LocalStates) -> None:
    error = refused(lambda: served.raw("States", asked(model.describe(), **changed)))
    assert error.code() is CODE.INVALID_ARGUMENT
    assert "expected" in error.details() or "correct what sends" in error.details()


def test_another_model_s_states(served: Served, model: LocalStates) -> None:
    error = refused(lambda: served.raw("States", asked(model.describe(), card="f" * 16)))
    assert error.code() is CODE.FAILED_PRECONDITION
    assert model.describe().fingerprint in error.details()


def test_a_method_that_is_not(served: Served) -> None:
    assert refused(lambda: served.raw("Weights", b"")).code() is CODE.UNIMPLEMENTED


def test_a_message_that_never_comes(served: Served) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{served.port}") as channel:
        hold = threading.Event()

        def nothing() -> Iterator[bytes]:
            hold.wait(10)
            yield b""

        call = channel.stream_unary("/sordino.split.v1.States/States")
        started = time.monotonic()
        error = refused(lambda: call(nothing(), metadata=(("authorization", f"Bearer {TOKEN}"),), timeout=10))
        hold.set()
    assert error.code() is CODE.ABORTED
    assert "read_s" in error.details()
    assert time.monotonic() - started < 5


def test_bytes_that_are_no_grpc(served: Served) -> None:
    for noise in (
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(range(256)) * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 500,
    ):
        with socket.create_connection(("127.0.0.1", served.port), timeout=5) as line:
            line.sendall(noise)


def test_the_log_quotes_nothing_that_came(model: LocalStates) -> None:
    with serving(model) as server:
        _quotes_nothing(server, model)


def _quotes_nothing(served: Served, model: LocalStates) -> None:
    secret = "Ferdinand"
    refused(lambda: served.raw("States", encode(Message({secret: secret}, {secret: torch.zeros(1)}))))
    refused(lambda: served.raw("States", asked(model.describe(), card=secret)))
    refused(lambda: served.raw("States", asked(model.describe(), layers=(secret,))))
    refused(lambda: served.raw(secret, b""))
    assert served.notes
    assert not any(secret in note for note in served.notes)
    assert all(note.startswith("one, States") for note in served.notes)


def test_nobody_can_fill_the_log(model: LocalStates) -> None:
    with serving(model) as server, grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call = channel.unary_unary("/sordino.split.v1.States/States")
        for _ in range(40):
            refused(lambda: call(b"", timeout=20))
    assert len(server.notes) == 6  # the 1st, 2nd, 4th, ... 32nd
    assert "32 of this kind so far" in server.notes[-1]


class Slow:
    """A model that takes its time, or fails."""

    def __init__(self, model: LocalStates, *, seconds: float = 0.0) -> None:
        self.model, self.seconds, self.fail, self.at_once, self.most = model, seconds, False, 0, 0

    def describe(self) -> ModelCard:
        return self.model.describe()

    def open(self, *, layers: Sequence[int], reduction: int | None = None) -> Growth:
        return self.model.open(layers=layers, reduction=reduction)

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        time.sleep(self.seconds)
        self.at_once -= 1
        if self.fail:
            raise RuntimeError("out of memory at Ferdinand")
        return self.model.states(noised, mask, layers=layers, reduction=reduction)


def test_a_model_that_fails_is_told_without_details_and_the_next_call_is_answered(model: LocalStates) -> None:
    slow = Slow(model)
    slow.fail = True
    with serving(slow) as server:
        error = refused(lambda: server.raw("States", asked(model.describe())))
        assert error.code() is CODE.INTERNAL
        assert error.details() == "the model failed (RuntimeError)"
        slow.fail = False
        assert server.raw("States", asked(model.describe()))
        assert server.notes == ["one, States: the model failed (RuntimeError)"]
        assert server.service.counts == {"INTERNAL": 1, "OK": 1}


def test_one_client_s_rate_is_not_another_s(model: LocalStates) -> None:
    limits = Limits(calls_per_minute=3, max_places=21, places_per_minute=42)
    with serving(model, limits=limits) as server:
        for _ in range(2):
            server.raw("States", asked(model.describe()))
        error = refused(lambda: server.raw("States", asked(model.describe())))
        assert error.code() is CODE.RESOURCE_EXHAUSTED
        assert "places_per_minute = 42" in error.details()
        assert 20_000 < int(dict(error.trailing_metadata())["retry-after-ms"]) < 31_000
        error = refused(lambda: server.raw("Describe", encode(Message())))
        assert "calls_per_minute = 3" in error.details()
        assert server.raw("States", asked(model.describe()), token=OTHER_TOKEN)


def test_calls_at_once_are_counted_for_each_client_and_computed_one_after_the_other(model: LocalStates) -> None:
    slow = Slow(model, seconds=0.3)
    results: list[str] = []

    def call(server: Served, token: str) -> None:
        try:
            server.raw("States", asked(model.describe()), token=token)
            results.append("OK")
        except grpc.RpcError as error:
            results.append(error.code().name)

    with serving(slow, limits=replace(LIMITS, read_s=20)) as server:
        threads = [threading.Thread(target=call, args=(server, t)) for t in (TOKEN, TOKEN, TOKEN, OTHER_TOKEN)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == ["OK", "OK", "OK", "RESOURCE_EXHAUSTED"]
    assert slow.most == 1


def test_a_client_that_goes_away_leaves_its_place(model: LocalStates) -> None:
    slow = Slow(model, seconds=0.2)
    with serving(slow, limits=LIMITS) as server:
        for _ in range(4):
            error = refused(lambda: server.raw("States", asked(model.describe()), timeout=0.05))
            assert error.code() in (CODE.DEADLINE_EXCEEDED, CODE.RESOURCE_EXHAUSTED)
        time.sleep(0.5)
        assert server.raw("States", asked(model.describe()))


def test_calls_under_way_are_answered_when_the_server_is_told_to_end(model: LocalStates) -> None:
    slow = Slow(model, seconds=0.5)
    replies: list[bytes] = []
    with serving(slow) as server:
        thread = threading.Thread(target=lambda: replies.append(server.raw("States", asked(model.describe()))))
        thread.start()
        while not slow.at_once:
            time.sleep(0.01)
    thread.join()
    assert len(replies) == 1
