"""Over the wire it is the same model: states, errors, bytes; and a client outlives its server."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from served import TOKEN, batch, serving

from sordino.errors import ConfigError, DataError
from sordino.split import ModelCard
from sordino.split.local_server import LocalStates
from sordino.split.wire import Endpoint, Limits, RemoteStates, ServerRefused, ServerUnreachable
from sordino.split.wire.keys import make_keys
from sordino.split.wire.serving import Certificate


@pytest.fixture(scope="module")
def deep(tiny_qwen: Path) -> LocalStates:
    return LocalStates.load(str(tiny_qwen))


@pytest.fixture(scope="module")
def model(tiny_t5: Path) -> LocalStates:
    return LocalStates.load(str(tiny_t5))


@pytest.mark.parametrize("reduction", [None, 8])
@pytest.mark.parametrize("family", ["decoder", "encoder"])
def test_states_are_those_of_the_model_to_the_bit(
    family: str, reduction: int | None, deep: LocalStates, model: LocalStates, tmp_path: Path
) -> None:
    local = deep if family == "decoder" else model
    noised, mask = batch(local.describe().width)
    with serving(local) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        assert remote.describe() == local.describe()
        came = remote.states(noised, mask, layers=[3, 1], reduction=reduction)
    assert torch.equal(came, local.states(noised, mask, layers=[3, 1], reduction=reduction))


def test_returned_bytes_are_counted(deep: LocalStates, tmp_path: Path) -> None:
    """4 of 28 blocks are a seventh of all; reduction 8 is an eighth of that."""
    noised, mask = batch(64, (7, 2, 5))
    with serving(deep) as server, RemoteStates(server.endpoint(tmp_path)) as remote:

        def down(**asked: object) -> tuple[int, int]:
            before = remote.traffic
            remote.states(noised, mask, **asked)  # type: ignore[arg-type]
            after = remote.traffic
            assert after.payload_up - before.payload_up == 4 * (14 * 64 + 3)
            return after.payload_down - before.payload_down, after.message_down - before.message_down

        all_blocks, _ = down(layers=range(1, 29))
        four, _ = down(layers=[4, 9, 17, 28])
        reduced, whole = down(layers=[4, 9, 17, 28], reduction=8)
        total = remote.traffic
    assert all_blocks == 14 * 28 * 64 * 4
    assert four * 7 == all_blocks  # 85.7 % less
    assert reduced * 8 == four == 14 * 4 * 64 * 4
    assert reduced < whole < reduced + 300
    assert total.calls == len(total.latencies_s) == 4
    assert total.repeats == 0
    assert total.to_json()["latency_s"]["longest"] == max(total.latencies_s)


def test_a_large_batch_travels_in_parts(model: LocalStates, tmp_path: Path) -> None:
    noised, mask = batch(32, (7, 2, 5, 1, 1, 9, 3))
    for limits, calls in (
        (Limits(max_batch=2), 4),
        (Limits(max_places=10, places_per_minute=1000), 5),
        (Limits(max_message_mib=(4096 + 9 * 128 + 40) / (1 << 20)), 4),
        (Limits(), 1),
    ):
        with serving(model, limits=limits) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
            came = remote.states(noised, mask, layers=[3])
            assert remote.traffic.calls == 1 + calls
        torch.testing.assert_close(came, model.states(noised, mask, layers=[3]))


def test_one_sequence_that_is_too_long_is_told_before_anything_is_sent(model: LocalStates, tmp_path: Path) -> None:
    noised, mask = batch(32, (4, 11))
    with serving(model, limits=Limits(max_tokens=10)) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        before = remote.traffic
        with pytest.raises(DataError, match="max_tokens = 10, and the batch has 11"):
            remote.states(noised, mask, layers=[1])
        assert remote.traffic == before


def test_mistakes_are_told_as_the_local_model_tells_them(model: LocalStates, tmp_path: Path) -> None:
    noised, mask = batch(32)
    holes = mask.clone()
    holes[0, 3] = False
    with serving(model) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        before = remote.traffic
        for error, embeddings, places, layers, reduction in (
            (ConfigError, noised, mask, [29], None),
            (ConfigError, noised, mask, [1], 7),
            (DataError, noised[:, :, :31], mask, [1], None),
            (DataError, noised, mask[:, 1:], [1], None),
            (DataError, noised, holes, [1], None),
            (DataError, noised, torch.zeros_like(mask), [1], None),
            (DataError, noised, mask.long(), [1], None),
            (DataError, noised / 0, mask, [1], None),
        ):
            with pytest.raises(error):
                remote.states(embeddings, places, layers=layers, reduction=reduction)
        assert remote.traffic == before


def test_a_speech_embedding_passes(model: LocalStates, tmp_path: Path) -> None:
    """To the wire the outputs of a speech encoder are embeddings like any others."""
    frames = torch.randn(1, 100, 32)
    mask = torch.ones(1, 100, dtype=torch.bool)
    with serving(model) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        came = remote.states(frames, mask, layers=[2, 3], reduction=4)
    assert torch.equal(came, model.states(frames, mask, layers=[2, 3], reduction=4))


@pytest.mark.parametrize("width", [1280, 4096])
def test_the_default_limits_leave_room_for_half_a_minute_of_whisper(width: int) -> None:
    from sordino.split.wire.batches import Batch

    whole = Batch(card="", rows=torch.zeros(1500, width), lengths=(1500,), layers=(1, 2, 3, 4), reduction=8)
    assert Limits().excess(whole) == ""


def test_a_server_that_comes_back_is_asked_again(model: LocalStates, tmp_path: Path) -> None:
    noised, mask = batch(32)
    with serving(model) as server:
        port = server.port
        remote = RemoteStates(server.endpoint(tmp_path), patience_s=20)
        remote.states(noised, mask, layers=[1])
    came: list[torch.Tensor] = []
    waiting = threading.Thread(target=lambda: came.append(remote.states(noised, mask, layers=[3])))
    waiting.start()
    time.sleep(0.5)
    assert not came
    with remote, serving(model, port=port):
        waiting.join(20)
    assert torch.equal(came[0], model.states(noised, mask, layers=[3]))
    traffic = remote.traffic
    assert traffic.repeats > 0
    assert traffic.payload_up == (2 + traffic.repeats) * 4 * (14 * 32 + 3)


def test_a_server_that_stays_away_is_given_up(model: LocalStates, tmp_path: Path) -> None:
    noised, mask = batch(32)
    with serving(model) as server:
        remote = RemoteStates(server.endpoint(tmp_path), patience_s=0.6)
    started = time.monotonic()
    with remote, pytest.raises(ServerUnreachable, match=r"gave no answer in 0\.6 seconds"):
        remote.states(noised, mask, layers=[1])
    assert time.monotonic() - started < 3
    with pytest.raises(ServerUnreachable):
        RemoteStates(server.endpoint(tmp_path), patience_s=0.2)


def test_a_server_that_comes_back_with_another_model_is_refused(
    model: LocalStates, tiny_t5: Path, tmp_path: Path
) -> None:
    noised, mask = batch(32)
    other = LocalStates.load(str(tiny_t5), projection_seed=1)
    assert other.describe().fingerprint != model.describe().fingerprint
    with serving(model) as server:
        port, endpoint = server.port, server.endpoint(tmp_path)
        remote = RemoteStates(endpoint)
    with serving(other, port=port):
        with remote, pytest.raises(ServerRefused, match="states of another model") as caught:
            remote.states(noised, mask, layers=[1])
        assert caught.value.code == "FAILED_PRECONDITION"
        with pytest.raises(ServerRefused, match="which this client has learned with"):
            RemoteStates(endpoint, expected=model.describe())
        RemoteStates(endpoint, expected=other.describe()).close()


def test_a_busy_server_is_waited_for(model: LocalStates, tmp_path: Path) -> None:
    limits = Limits(max_places=6080, places_per_minute=6080)
    with serving(model, limits=limits) as server, RemoteStates(server.endpoint(tmp_path)) as remote:
        remote.states(*batch(32, (*(1,) * 63, 95)), layers=[1])  # a minute's worth
        started = time.monotonic()
        remote.states(*batch(32, (95,)), layers=[1])
        assert 0.3 < time.monotonic() - started < 5
        assert remote.traffic.repeats == 1


def test_several_clients_and_threads_at_once(model: LocalStates, tmp_path: Path) -> None:
    with serving(model, limits=Limits(calls_at_once=2)) as server:
        remotes = [RemoteStates(server.endpoint(tmp_path)) for _ in range(2)]

        def ask(seed: int) -> bool:
            noised, mask = batch(32, (3, 1 + seed % 5), seed=seed)
            came = remotes[seed % 2].states(noised, mask, layers=[2])
            return torch.equal(came, model.states(noised, mask, layers=[2]))

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask, range(12)))
        assert sum(remote.traffic.calls for remote in remotes) == 12 + 2
        for remote in remotes:
            remote.close()


def test_tls_shows_the_server_and_hides_the_rest(model: LocalStates, tmp_path: Path) -> None:
    make_keys(tmp_path / "ours")
    make_keys(tmp_path / "others")
    with serving(model, certificate=Certificate.read(tmp_path / "ours")) as server:
        known = server.endpoint(tmp_path)
        good = replace(known, insecure=False, authority=tmp_path / "ours" / "ca.crt")
        RemoteStates(good).close()
        RemoteStates(replace(good, address=f"localhost:{server.port}")).close()
        for wrong in (replace(good, authority=tmp_path / "others" / "ca.crt"), replace(good, authority=None)):
            with pytest.raises(ConfigError, match="shows a certificate that"):
                RemoteStates(wrong)  # at once, however long the patience
        with pytest.raises(ServerUnreachable):
            RemoteStates(known, patience_s=1)  # without TLS
        wrong_token = server.endpoint(tmp_path, token="w" * 40).token
        with pytest.raises(ServerRefused, match="UNAUTHENTICATED"):
            RemoteStates(replace(good, token=wrong_token))


def test_an_endpoint_that_cannot_be_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    for address in ("", "host", "host:", "host:0", "host:70000", "host:1:2", "http://host:1", "a b:1"):
        with pytest.raises(ConfigError, match="HOST:PORT"):
            RemoteStates(Endpoint(address=address, token=tmp_path / "token"))
    for address in ("models.example:1", "10.0.0.1:1", "0.0.0.0:1", "[::2]:1", "localhost.example:1"):
        with pytest.raises(ConfigError, match="loopback"):
            RemoteStates(Endpoint(address=address, token=tmp_path / "token", insecure=True))
    with pytest.raises(ConfigError, match="--ca"):
        RemoteStates(Endpoint(address="localhost:1", token=tmp_path / "token", authority=tmp_path / "none"))


def test_a_card_is_what_the_server_says(model: LocalStates) -> None:
    assert ModelCard.from_json(model.describe().to_json()) == model.describe()
