"""Two processes: a server that is killed comes back, one that is told nonsense says so, and none outlives its parent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
import torch
from served import batch

from sordino.split.local_server import LocalStates
from sordino.split.wire import RemoteStates, ServerRefused
from sordino.split.wire.service import SERVICE
from sordino.split.wire.spawn import ServerProcess, spawned


@pytest.fixture(scope="module")
def model(tiny_t5: Path) -> LocalStates:
    return LocalStates.load(str(tiny_t5))


@pytest.fixture(scope="module")
def server(tiny_t5: Path) -> Iterator[ServerProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        with spawned(str(tiny_t5), "--set", "max_message_mib=0.5") as running:
            yield running


@pytest.mark.slow
def test_a_client_trains_through_its_server_s_death(server: ServerProcess, model: LocalStates) -> None:
    """A small network learns from states; in the middle the server is killed, and started again."""
    torch.manual_seed(0)
    head = torch.nn.Linear(32, 2)
    optimiser = torch.optim.SGD(head.parameters(), lr=0.1)
    losses = []
    with RemoteStates(server.endpoint) as remote:
        for step in range(8):
            if step == 4:
                server.kill()
                restart = threading.Thread(target=server.start)
                restart.start()
            noised, mask = batch(32, (4, 2, 3), seed=step)
            states = remote.states(noised, mask, layers=[3])
            assert torch.equal(states, model.states(noised, mask, layers=[3]))
            loss = torch.nn.functional.cross_entropy(head(states[:, 0].mean(dim=1)), torch.tensor([0, 1, 0]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        restart.join()
        traffic = remote.traffic
    assert len(losses) == 8
    assert traffic.calls == 9
    assert traffic.repeats > 0


def test_refusals_leave_the_server_alive(server: ServerProcess, model: LocalStates, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("w" * 43)
    with pytest.raises(ServerRefused, match=r"the token is not one of this server's.*UNAUTHENTICATED"):
        RemoteStates(replace(server.endpoint, token=tmp_path / "token"))
    token = ("authorization", f"Bearer {server.endpoint.token.read_text().strip()}")  # type: ignore[union-attr]
    with server.endpoint.channel() as channel:
        for data, code in (
            (b"\0" * 600_000, "RESOURCE_EXHAUSTED"),
            (b"hello", "INVALID_ARGUMENT"),
            (b"", "INVALID_ARGUMENT"),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary(f"/{SERVICE}/States")(data, metadata=(token,), timeout=20)
            assert caught.value.code().name == code
    noised, mask = batch(32)
    with RemoteStates(server.endpoint) as remote:
        assert torch.equal(remote.states(noised, mask, layers=[1]), model.states(noised, mask, layers=[1]))
    log = server.log
    assert "a stranger, Describe: the token is not one of this server's" in log
    assert "Traceback" not in log


def test_a_server_whose_parent_is_gone_ends(server: ServerProcess) -> None:
    """A parent's death, of whatever kind, closes the pipe that only it holds."""
    process = server._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == 0
    assert "ended after" in server.log
