"""Keys are new, private, of the kind that Flower reads, and good for the names they were made for."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from sordino.errors import ConfigError
from sordino.flower.keys import make_keys


def handshake(folder: Path, name: str, *, authority: Path) -> None:
    """A client that knows only the authority connects to a server under this name."""
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(folder / "server.crt", folder / "server.key")
    mine = ssl.create_default_context(cafile=authority)
    mine.verify_flags |= ssl.VERIFY_X509_STRICT
    left, right = socket.socketpair()

    def serve() -> None:
        try:
            theirs.wrap_socket(left, server_side=True).close()
        except OSError:
            left.close()

    server = threading.Thread(target=serve)
    server.start()
    try:
        mine.wrap_socket(right, server_hostname=name).close()
    finally:
        right.close()
        server.join(10)


def test_a_certificate_is_good_for_its_hosts_and_under_its_authority_alone(tmp_path: Path) -> None:
    make_keys(tmp_path / "ours", hosts=["federation.example", "10.0.0.7"])
    make_keys(tmp_path / "others", hosts=["federation.example"])
    for name in ("federation.example", "10.0.0.7", "localhost", "127.0.0.1"):
        handshake(tmp_path / "ours", name, authority=tmp_path / "ours" / "ca.crt")
    for name, authority in (("elsewhere.example", "ours"), ("federation.example", "others")):
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(tmp_path / "ours", name, authority=tmp_path / authority / "ca.crt")


def test_nodes_have_pairs_that_flower_reads(tmp_path: Path) -> None:
    made = make_keys(tmp_path / "keys", nodes=["a", "b"])
    assert len(made) == 8
    publics = set()
    for node in "ab":
        private = load_ssh_private_key((tmp_path / "keys" / f"{node}.key").read_bytes(), None)
        public = load_ssh_public_key((tmp_path / "keys" / f"{node}.pub").read_bytes())
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        assert private.public_key() == public
        publics.add((tmp_path / "keys" / f"{node}.pub").read_text())
    assert len(publics) == 2


def test_private_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    for path in make_keys(tmp_path / "keys", nodes=["a"]):
        assert (path.stat().st_mode & 0o077 == 0) == (path.suffix == ".key")


@pytest.mark.parametrize("node", ["ca", "server", "../up", "a/b", ""])
def test_a_name_that_is_no_file_name_is_refused_before_anything_is_written(node: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="plain name"):
        make_keys(tmp_path / "keys", nodes=[node])
    assert not (tmp_path / "keys").exists()


def test_a_node_named_twice_or_a_term_past_all_calendars_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="each name once"):
        make_keys(tmp_path / "keys", nodes=["a", "a"])
    with pytest.raises(ConfigError, match=r"--days = 99999999: expected at most"):
        make_keys(tmp_path / "keys", days=99_999_999)
    assert not (tmp_path / "keys").exists()


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys")
    before = (tmp_path / "keys" / "ca.key").read_bytes()
    with pytest.raises(ConfigError, match="never overwritten"):
        make_keys(tmp_path / "keys")
    assert (tmp_path / "keys" / "ca.key").read_bytes() == before


def test_a_host_that_cannot_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--host"):
        make_keys(tmp_path / "keys", hosts=["a" * 80 + ".example"])
    assert not (tmp_path / "keys").exists()
