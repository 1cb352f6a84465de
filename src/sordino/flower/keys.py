"""What a deployment needs to know its own: a certificate for the SuperLink, and a pair of keys for each node.

Everything is made with the ``cryptography`` library: P-384 throughout, as Flower asks of its nodes.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sordino._check import at_least
from sordino.errors import ConfigError

__all__ = ["make_keys"]

_Key: TypeAlias = ec.EllipticCurvePrivateKey

_MOST_DAYS: Final = 36_500
_LOOPBACK: Final = ("localhost", "127.0.0.1")
"""The ServerApp reaches its SuperLink under these."""


def make_keys(
    folder: Path, *, hosts: Sequence[str] = (), nodes: Sequence[str] = (), days: int = 365
) -> tuple[Path, ...]:
    """Makes an authority, a certificate of it for the SuperLink, and keys for nodes.

    | file | for |
    |---|---|
    | ``ca.crt`` | SuperNodes, and whoever starts runs: shows them that they talk to this SuperLink |
    | ``ca.key`` | nobody: signs a new certificate when this one ends; keep it off line |
    | ``server.crt``, ``server.key`` | the SuperLink |
    | ``NAME.key`` | one SuperNode |
    | ``NAME.pub`` | the SuperLink's operator, who registers the node with it |

    A site had better make its pair itself, with ``ssh-keygen -t ecdsa -b 384``, and send the public half only.

    Args:
        folder: absent or empty.
        hosts: names and addresses under which the SuperLink is reached, besides this machine's own.
        nodes: names of nodes.
        days: how long the certificates are good.

    Returns:
        The files, private ones readable by their owner alone.

    Raises:
        ConfigError: there is something in the folder, or a name that is no file name.
    """
    at_least("--days", days, 1)
    if days > _MOST_DAYS:
        raise ConfigError(f"--days = {days}: expected at most {_MOST_DAYS}, a hundred years; lower --days.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not an empty folder; keys are never overwritten, choose another.")
    for name in nodes:
        if Path(name).name != name or name in ("ca", "server", ""):
            raise ConfigError(f"--node {name!r}: expected a plain name, other than ca and server; choose another.")
    if len(set(nodes)) < len(nodes):
        raise ConfigError(f"--node {', '.join(nodes)}: expected each name once; leave out the second.")
    authority, server = _new_key(), _new_key()
    until = datetime.now(UTC) + timedelta(days=days)
    issuer = _name("sordino federation")
    ca = _builder(issuer, authority, issuer, authority, until)
    ca = ca.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    ca = ca.add_extension(_usage(signs=True), critical=True)
    leaf = _builder(_name("superlink"), server, issuer, authority, until)
    leaf = leaf.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    leaf = leaf.add_extension(_usage(signs=False), critical=True)
    leaf = leaf.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    names = dict.fromkeys([*_LOOPBACK, *hosts])
    leaf = leaf.add_extension(x509.SubjectAlternativeName([_alternative(host) for host in names]), critical=False)
    folder.mkdir(parents=True, exist_ok=True)
    made = [_write(folder / "ca.key", _pem(authority)), _write(folder / "server.key", _pem(server))]
    for file, certificate in (("ca.crt", ca), ("server.crt", leaf)):
        signed = certificate.sign(authority, hashes.SHA384())
        made.append(_write(folder / file, signed.public_bytes(serialization.Encoding.PEM), public=True))
    for name in nodes:
        key = _new_key()
        made += [
            _write(folder / f"{name}.key", _ssh(key)),
            _write(folder / f"{name}.pub", _ssh_public(key), public=True),
        ]
    return tuple(made)


def _new_key() -> _Key:
    return ec.generate_private_key(ec.SECP384R1())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, key: _Key, issuer: x509.Name, signer: _Key, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(minutes=5))  # clocks differ
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host.encode("idna").decode())
    except UnicodeError:
        raise ConfigError(f"--host {host!r}: expected a host name or an address; correct it.") from None


def _pem(key: _Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _ssh(key: _Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )


def _ssh_public(key: _Key) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH) + b"\n"


def _write(path: Path, content: bytes, *, public: bool = False) -> Path:
    """Private files are never readable by others, not even for a moment."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644 if public else 0o600), "wb") as file:
        file.write(content)
    return path
