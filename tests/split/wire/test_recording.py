"""Nothing but what is declared crosses the wire: every byte of it is recorded and looked at."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import grpc
import numpy as np
import pytest
import torch
from served import TOKEN, Served, serving
from test_verbs import EXPERIMENT

from sordino.split.local_server import LocalStates
from sordino.split.wire import RemoteStates
from sordino.split.wire.holders import TOKEN_VARIABLE

TEXT = "Ferdinand has been ill since Tuesday"
IDS = torch.tensor([[11, 3, 60, 7, 7, 23], [45, 2, 9, 0, 0, 0]])
MASK = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])


@dataclass
class Recorded:
    """Messages, or bytes, by direction."""

    up: list[bytes] = field(default_factory=list)
    down: list[bytes] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def message_recorder(server: Served) -> Iterator[tuple[int, Recorded]]:
    """A gRPC server that passes everything on, and keeps what it saw."""
    seen = Recorded()
    onward = grpc.insecure_channel(f"127.0.0.1:{server.port}")

    class Everything(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            def pass_on(data: bytes, context: grpc.ServicerContext) -> bytes:
                seen.up.append(data)
                seen.headers.extend((key, value) for key, value in context.invocation_metadata())
                reply: bytes = onward.unary_unary(details.method)(
                    data, metadata=(("authorization", f"Bearer {TOKEN}"),)
                )
                seen.down.append(reply)
                return reply

            return grpc.unary_unary_rpc_method_handler(pass_on)

    recorder = grpc.server(ThreadPoolExecutor(2), handlers=(Everything(),))
    port = recorder.add_insecure_port("127.0.0.1:0")
    recorder.start()
    try:
        yield port, seen
    finally:
        recorder.stop(5).wait()
        onward.close()


@contextmanager
def byte_recorder(server: Served) -> Iterator[tuple[int, Recorded]]:
    """A plain relay of one TCP connection."""
    seen = Recorded()

    def relay(source: socket.socket, target: socket.socket, kept: list[bytes]) -> None:
        with suppress(OSError):  # the other side may have closed already
            while data := source.recv(1 << 16):
                kept.append(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def run(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with closing(client), closing(socket.create_connection(("127.0.0.1", server.port))) as behind:
            back = threading.Thread(target=relay, args=(behind, client, seen.down))
            back.start()
            relay(client, behind, seen.up)
            back.join()

    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=run, args=(listener,))
        thread.start()
        yield listener.getsockname()[1], seen
        thread.join(20)
        assert not thread.is_alive()


def header(data: bytes) -> tuple[dict[str, object], dict[str, object]]:
    """Tensors and values of a message, read without the package's own code."""
    length = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + length])
    said = json.loads(table.pop("__metadata__")["sordino"])
    assert len(data) == 8 + length + max((end["data_offsets"][1] for end in table.values()), default=0)
    return {name: (entry["dtype"], entry["shape"]) for name, entry in table.items()}, said


@pytest.fixture(scope="module")
def model(tiny_qwen: Path) -> LocalStates:
    return LocalStates.load(str(tiny_qwen))


@pytest.fixture
def clean(model: LocalStates) -> torch.Tensor:
    embeddings: torch.Tensor = model.stack.get_input_embeddings()(IDS).detach()  # type: ignore[operator]
    return embeddings


@pytest.fixture
def noised(clean: torch.Tensor) -> torch.Tensor:
    return clean + torch.randn(clean.shape, generator=torch.Generator().manual_seed(1))


def test_every_message_holds_the_declared_tensors_and_nothing_else(
    model: LocalStates, noised: torch.Tensor, tmp_path: Path
) -> None:
    with serving(model) as server, message_recorder(server) as (port, seen):
        endpoint = replace(server.endpoint(tmp_path), address=f"127.0.0.1:{port}")
        with RemoteStates(endpoint) as remote:
            remote.states(noised, MASK, layers=[4, 28], reduction=8)
    fingerprint = model.describe().fingerprint
    assert [header(data) for data in seen.up] == [
        ({}, {}),
        (
            {"noised": ("F32", [9, 64]), "lengths": ("I32", [2])},
            {"card": fingerprint, "layers": [4, 28], "reduction": 8},
        ),
    ]
    described, states = (header(data) for data in seen.down)
    assert described[0] == {}
    assert described[1]["card"] == model.describe().to_json()
    assert set(described[1]) == {"card", "limits"}
    assert states == ({"states": ("F32", [9, 2, 8])}, {"card": fingerprint})
    assert {key for key, _ in seen.headers} <= {"authorization", "user-agent"}
    assert all(value.startswith("grpc-python/") for key, value in seen.headers if key == "user-agent")


def test_no_clean_embedding_token_or_text_is_among_the_bytes(
    model: LocalStates, clean: torch.Tensor, noised: torch.Tensor, tmp_path: Path
) -> None:
    with serving(model) as server, byte_recorder(server) as (port, seen):
        endpoint = replace(server.endpoint(tmp_path), address=f"127.0.0.1:{port}")
        with RemoteStates(endpoint) as remote:
            # Padding may hold anything: here it holds clean embeddings, which must stay at home all the same.
            padded = torch.where(MASK[..., None], noised, clean)
            remote.states(padded, MASK, layers=[28])
            traffic = remote.traffic
    up, down = b"".join(seen.up), b"".join(seen.down)
    assert noised[0, 0].numpy().tobytes() in up  # the search would find a row
    for data in (up, down):
        assert not any(row.tobytes() in data for row in clean.reshape(-1, 64).numpy())
        for kind in (np.int64, np.int32, np.uint16):
            assert IDS[0].numpy().astype(kind).tobytes() not in data
        assert not any(word.encode() in data for word in TEXT.split() if len(word) > 3)
    assert traffic.message_up < len(up) < traffic.message_up + 1000  # what HTTP/2 adds
    assert traffic.message_down < len(down) < traffic.message_down + 1000


def test_a_whole_experiment_sends_the_declared_tensors_and_no_private_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sordino.experiments import load_experiment
    from sordino.split.tiny_model import save_tiny_model

    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    folder = tmp_path / "model"
    save_tiny_model(folder, texts=[TEXT], seed=0)
    local = LocalStates.load(str(folder))
    with serving(local) as server, message_recorder(server) as (port, seen):
        text = EXPERIMENT.replace("MODEL", str(folder))
        (tmp_path / "notes.toml").write_text(
            f'{text}[server]\nplace = "remote"\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
        )
        options = load_experiment(tmp_path / "notes.toml")
        result = options.run(tmp_path / "run")
    described, *asked = (header(data) for data in seen.up)
    assert described == ({}, {})
    assert asked
    for tensors, said in asked:
        assert {name: (kind, len(shape)) for name, (kind, shape) in tensors.items()} == {  # type: ignore[misc]
            "noised": ("F32", 2),
            "lengths": ("I32", 1),
        }
        assert set(said) == {"card", "layers", "reduction"}
    assert result["wire"]["message"] == {"up": sum(map(len, seen.up)), "down": sum(map(len, seen.down))}
    table = local.stack.get_input_embeddings().weight.detach().numpy()  # type: ignore[union-attr, operator]
    up = b"".join(seen.up)
    assert not any(row.tobytes() in up for row in table)
    texts = [example.text for example in options.data.texts.read()]  # type: ignore[attr-defined]
    assert not any(word.encode() in up for text in texts for word in text.split() if len(word) > 6)
