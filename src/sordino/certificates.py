"""A certificate for one's own server, and the authority that clients check it by; P-384 throughout.

Everything is made with the ``cryptography`` library.
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

from sordino._check import at_least, free_folder
from sordino.errors import ConfigError

__all__ = ["Key", "make_certificates", "new_key", "require_file_names", "write_new"]

Key: TypeAlias = ec.EllipticCurvePrivateKey

_MOST_DAYS: Final = 36_500
_LOOPBACK: Final = ("localhost", "127.0.0.1")
"""Whatever runs on the server's own machine reaches it under these."""


def make_certificates(
    folder: Path, *, authority: str, server: str, hosts: Sequence[str] = (), days: int = 365
) -> tuple[Path, ...]:
    """Makes ``ca.key``, ``server.key``, ``ca.crt`` and ``server.crt``.

    Args:
        folder: absent or empty.
        authority: common name of the authority.
        server: common name of the server.
        hosts: names and addresses under which the server is reached, besides its own machine's.
        days: how long the certificates are good.

    Returns:
        The files, private ones readable by their owner alone.

    Raises:
        ConfigError: there is something in the folder, a host that cannot be, or a term that is too short or too long;
            nothing is written then.
    """
    at_least("--days", days, 1)
    if days > _MOST_DAYS:
        raise ConfigError(f"--days = {days}: expected at most {_MOST_DAYS}, a hundred years; lower --days.")
    free_folder(folder, remedy="keys are never overwritten, choose another.")
    ca_key, server_key = new_key(), new_key()
    until = datetime.now(UTC) + timedelta(days=days)
    issuer = _name(authority)
    ca = _builder(issuer, ca_key, issuer, ca_key, until)
    ca = ca.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    ca = ca.add_extension(_usage(signs=True), critical=True)
    leaf = _builder(_name(server), server_key, issuer, ca_key, until)
    leaf = leaf.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    leaf = leaf.add_extension(_usage(signs=False), critical=True)
    leaf = leaf.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    names = dict.fromkeys([*_LOOPBACK, *hosts])
    leaf = leaf.add_extension(x509.SubjectAlternativeName([_alternative(host) for host in names]), critical=False)
    folder.mkdir(parents=True, exist_ok=True)
    made = [write_new(folder / "ca.key", _pem(ca_key)), write_new(folder / "server.key", _pem(server_key))]
    for file, certificate in (("ca.crt", ca), ("server.crt", leaf)):
        signed = certificate.sign(ca_key, hashes.SHA384())
        made.append(write_new(folder / file, signed.public_bytes(serialization.Encoding.PEM), public=True))
    return tuple(made)


def require_file_names(option: str, names: Sequence[str], *, reserved: Sequence[str]) -> None:
    """Raises ConfigError unless all are different plain file names, and none is ``reserved``."""
    for name in names:
        if Path(name).name != name or name in (*reserved, ""):
            raise ConfigError(
                f"{option} {name!r}: expected a plain name, other than {' and '.join(reserved)}; choose another."
            )
    if len(set(names)) < len(names):
        raise ConfigError(f"{option} {', '.join(names)}: expected each name once; leave out the second.")


def new_key() -> Key:
    """A new private key."""
    return ec.generate_private_key(ec.SECP384R1())


def write_new(path: Path, content: bytes, *, public: bool = False) -> Path:
    """Writes a file that must not be there yet; a private one is never readable by others, not even for a moment."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644 if public else 0o600), "wb") as file:
        file.write(content)
    return path


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, key: Key, issuer: x509.Name, signer: Key, until: datetime) -> x509.CertificateBuilder:
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


def _pem(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
