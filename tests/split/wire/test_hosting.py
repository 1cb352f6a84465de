"""``sordino split serve`` and ``keys``: what is wrong is said before a model is loaded, and a signal ends what runs."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest
from served import TOKEN

from sordino.cli import main
from sordino.errors import ConfigError
from sordino.split import ModelCard
from sordino.split.wire import Endpoint, RemoteStates
from sordino.split.wire.holders import TOKEN_VARIABLE
from sordino.split.wire.hosting import Hosting, host_model
from sordino.split.wire.keys import make_keys


def sordino(*arguments: str | Path) -> int:
    with patch.object(sys, "argv", ["sordino", *map(str, arguments)]):
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    make_keys(tmp_path / "keys")
    return tmp_path / "keys"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_after_its_calls(
    number: signal.Signals, tiny_t5: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    cards: list[ModelCard] = []

    def visit(address: str) -> None:
        try:
            with RemoteStates(Endpoint(address=address, insecure=True)) as remote:
                cards.append(remote.describe())
        finally:
            os.kill(os.getpid(), number)

    visitors: list[threading.Thread] = []

    def ready(address: str, card: ModelCard) -> None:
        visitors.append(threading.Thread(target=visit, args=(address,)))
        visitors[0].start()

    counts = host_model(Hosting(model=str(tiny_t5), insecure=True), ready=ready, note=lambda _: None)
    visitors[0].join(20)
    assert counts == {"OK": 1}
    assert cards[0].model == "tiny-t5"
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "without --keys would have no TLS"),
        (("--insecure", "--host", "0.0.0.0"), "--insecure with --host 0.0.0.0: expected a loopback"),
        (("--insecure", "--host", "models.example"), "expected a loopback"),
        (("--insecure",), f"nobody holds a token; name --keys with a holders.toml, or set {TOKEN_VARIABLE}"),
        (("--keys", "nowhere"), "server.crt cannot be read"),
        (("--keys", "KEYS", "--port", "70000"), "--port = 70000"),
        (("--keys", "KEYS", "--host", "192.0.2.1"), "expected a free port on an address of this machine"),
        (("--keys", "KEYS", "--device", "abacus"), "abacus"),
        (("--keys", "KEYS", "--dtype", "int4"), "--dtype = 'int4'"),
        (("--keys", "KEYS", "--set", "max_batches=3"), "did you mean"),
        (("--keys", "KEYS", "--set", "max_batch=0"), "max_batch = 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_sentence(
    arguments: tuple[str, ...],
    said: str,
    keys: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    placed = [str(keys) if argument == "KEYS" else argument for argument in arguments]
    assert sordino("split", "serve", "no-such-model", "--port", "0", *placed) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert "unexpected" not in error


def test_a_port_that_is_taken_is_told_before_the_model_is_loaded(keys: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        hosting = Hosting(model="no-such-model", keys=keys, port=taken.getsockname()[1])
        with pytest.raises(ConfigError, match="expected a free port"):
            host_model(hosting, ready=lambda *_: None, note=lambda _: None)


def test_a_key_that_is_another_s_is_told(tiny_t5: Path, keys: Path, tmp_path: Path) -> None:
    make_keys(tmp_path / "others")
    (keys / "server.key").write_bytes((tmp_path / "others" / "server.key").read_bytes())
    for content in (None, b"no key at all"):
        if content is not None:
            (keys / "server.key").write_bytes(content)
        with pytest.raises(ConfigError, match="certificate"):
            host_model(Hosting(model=str(tiny_t5), keys=keys), ready=lambda *_: None, note=lambda _: None)


def test_keys_are_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        sordino("split", "keys", tmp_path / "keys", "--host", "models.example", "--client", "a", "--client", "b") == 0
    )
    assert {path.name for path in (tmp_path / "keys").iterdir()} == {
        *("ca.crt", "ca.key", "server.crt", "server.key", "holders.toml", "a.token", "b.token")
    }
    assert capsys.readouterr().out.count("wrote ") == 7
    assert sordino("split", "keys", tmp_path / "keys") == 2
    assert "never overwritten" in capsys.readouterr().err


def test_a_token_is_never_an_argument() -> None:
    from typer.main import get_command

    from sordino.cli.app import app

    verbs = get_command(app).commands["split"].commands  # type: ignore[attr-defined]
    for verb in verbs.values():
        for parameter in verb.params:
            if "token" in parameter.name:
                assert parameter.type.name in ("path", "file"), parameter.name
