"""Sequences that grow over the wire have the states of the whole ones, and outlive the server's memory of them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
import torch
from served import OTHER_TOKEN, Served, serving

from sordino.errors import ConfigError, DataError
from sordino.split.local_server import LocalStates
from sordino.split.wire import Limits, RemoteStates
from sordino.split.wire.batches import Batch
from sordino.split.wire.messages import GROWN, Message, decode, encode


@pytest.fixture(scope="module")
def model(tiny_qwen: Path) -> LocalStates:
    return LocalStates.load(str(tiny_qwen))


def sequences(tokens: int, *, count: int = 2, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, tokens, 64, generator=torch.Generator().manual_seed(seed))


def whole(model: LocalStates, noised: torch.Tensor) -> torch.Tensor:
    return model.states(noised, torch.ones(noised.shape[:2], dtype=torch.bool), layers=[28, 5], reduction=8)


def test_a_grown_sequence_has_the_states_of_the_whole_and_only_new_tokens_travel(
    model: LocalStates, tmp_path: Path
) -> None:
    noised = sequences(8)
    with serving(model) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        growth = remote.open(layers=[28, 5], reduction=8)
        states, up, down = [], [], []
        for part in noised.split((5, 1, 2), dim=1):
            before = remote.traffic
            states.append(growth.extend(part))
            up.append(remote.traffic.payload_up - before.payload_up)
            down.append(remote.traffic.payload_down - before.payload_down)
        assert growth.tokens == 8
        assert len(server.service._growths) == 1
        (kept,) = server.service._growths._kept.values()
        timer = kept.timer
        growth.extend(sequences(1))
        assert timer is not None
        assert timer.cancelled()  # or what is extended would be forgotten in the middle
        growth.close()
        assert len(server.service._growths) == 0
    torch.testing.assert_close(torch.cat(states, dim=2), whole(model, noised))
    assert up == [4 * (2 * 5 * 64 + 2), 4 * 2 * 64, 4 * 2 * 2 * 64]
    assert down == [4 * 2 * tokens * 2 * 8 for tokens in (5, 1, 2)]


def test_a_server_that_forgot_is_sent_the_same_again(model: LocalStates, tmp_path: Path) -> None:
    noised = sequences(6)
    with serving(model) as server:
        port, remote = server.port, RemoteStates(server.endpoint(tmp_path))
        growth = remote.open(layers=[28, 5], reduction=8)
        states = [growth.extend(noised[:, :4])]
    with serving(model, port=port) as server, remote:
        states.append(growth.extend(noised[:, 4:5]))
        server.service._growths._forget(next(iter(server.service._growths._kept)))
        states.append(growth.extend(noised[:, 5:]))
        growth.close()
    torch.testing.assert_close(torch.cat(states, dim=2), whole(model, noised))


def test_an_answer_that_was_lost_is_not_counted_twice(model: LocalStates, tmp_path: Path) -> None:
    """The server has extended, and the client does not know: it asks for the same again."""
    noised = sequences(6)
    with serving(model) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        growth = remote.open(layers=[28, 5], reduction=8)
        states = [growth.extend(noised[:, :4])]
        said = {"growth": growth._name, "at": 4}
        server.raw("Extend", encode(Message(said, {"noised": noised[:, 4:5].flatten(0, 1)})))
        states.append(growth.extend(noised[:, 4:]))
    torch.testing.assert_close(torch.cat(states, dim=2), whole(model, noised))


def test_growths_that_nobody_extends_are_forgotten(model: LocalStates, tmp_path: Path) -> None:
    limits = Limits(growth_idle_s=0.3)
    with serving(model, limits=limits) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        remote.open(layers=[1]).extend(sequences(3))
        (kept,) = server.service._growths._kept.values()
        assert kept.timer is not None
        time.sleep(0.6)
        assert len(server.service._growths) == 0


def test_one_too_many_takes_the_place_of_the_client_s_own_oldest(model: LocalStates, tmp_path: Path) -> None:
    noised = sequences(4)
    with serving(model, limits=Limits(growths_at_once=2)) as server:
        one, other = (RemoteStates(server.endpoint(tmp_path, token=token)) for token in ("t" * 40, OTHER_TOKEN))
        theirs = other.open(layers=[28, 5], reduction=8)
        theirs.extend(noised[:, :3])
        growths = [one.open(layers=[28, 5], reduction=8) for _ in range(3)]
        for growth in growths:
            growth.extend(noised[:, :3])
        assert len(server.service._growths) == 3
        before = other.traffic.calls
        for growth in (theirs, *growths):
            torch.testing.assert_close(growth.extend(noised[:, 3:]), whole(model, noised)[:, :, 3:])
        assert other.traffic.calls == before + 1
        one.close()
        other.close()


def refusal(server: Served, method: str, data: bytes, **token: str) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        server.raw(method, data, **token)
    return str(caught.value.code().name)


def test_what_cannot_be_is_refused_and_the_server_goes_on(model: LocalStates, tmp_path: Path) -> None:
    limits = Limits(max_tokens=8, max_batch=3)
    card, noised = model.describe(), sequences(3)
    opening = Batch.of(card, noised, torch.ones(2, 3, dtype=torch.bool), layers=[5], reduction=None)
    with serving(model, limits=limits) as server:
        uneven = replace(opening, lengths=(4, 2))
        assert refusal(server, "Open", encode(uneven.to_message())) == "INVALID_ARGUMENT"
        assert refusal(server, "Open", encode(replace(opening, layers=(29,)).to_message())) == "INVALID_ARGUMENT"
        assert len(server.service._growths) == 0

        def following(tokens: int, *, at: int = 3, width: int = 64, name: str | None = None) -> bytes:
            name = name or decode(server.raw("Open", encode(opening.to_message())), GROWN).said["growth"]
            return encode(Message({"growth": name, "at": at}, {"noised": torch.zeros(tokens, width)}))

        assert refusal(server, "Extend", following(3)) == "INVALID_ARGUMENT"
        assert refusal(server, "Extend", following(0)) == "INVALID_ARGUMENT"
        assert refusal(server, "Extend", following(2, width=63)) == "INVALID_ARGUMENT"
        assert refusal(server, "Extend", following(12)) == "OUT_OF_RANGE"
        assert refusal(server, "Extend", following(2, at=2)) == "NOT_FOUND"
        assert refusal(server, "Extend", following(2, name="x" * 22)) == "NOT_FOUND"
        assert refusal(server, "Extend", following(2), token=OTHER_TOKEN) == "NOT_FOUND"
        assert refusal(server, "Close", encode(Message({"growth": "x"}))) == "NOT_FOUND"
        assert server.raw("Extend", following(4))
        with RemoteStates(server.endpoint(tmp_path)) as remote:
            growth = remote.open(layers=[5])
            growth.extend(sequences(7))
            with pytest.raises(DataError, match="max_tokens = 8, and the batch has 9"):
                growth.extend(sequences(2))
            with pytest.raises(DataError, match="3 sequences"):
                growth.extend(sequences(1, count=3))
            with pytest.raises(ConfigError):
                remote.open(layers=[0])


def test_an_encoder_does_not_grow(tiny_t5: Path, tmp_path: Path) -> None:
    local = LocalStates.load(str(tiny_t5))
    with serving(local) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        with pytest.raises(ConfigError, match="see those that come later"):
            remote.open(layers=[1])
        batch = Batch.of(
            local.describe(), torch.zeros(1, 2, 32), torch.ones(1, 2, dtype=torch.bool), layers=[1], reduction=None
        )
        assert refusal(server, "Open", encode(batch.to_message())) == "INVALID_ARGUMENT"
