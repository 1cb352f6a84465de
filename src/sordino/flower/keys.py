"""What a deployment needs to know its own: a certificate for the SuperLink, and a pair of keys for each node.

P-384 throughout, as Flower asks of its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from sordino.certificates import Key, make_certificates, new_key, require_file_names, write_new

__all__ = ["make_keys"]


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
    require_file_names("--node", nodes, reserved=("ca", "server"))
    made = make_certificates(folder, authority="sordino federation", server="superlink", hosts=hosts, days=days)
    for name in nodes:
        key = new_key()
        made += (
            write_new(folder / f"{name}.key", _ssh(key)),
            write_new(folder / f"{name}.pub", _ssh_public(key), public=True),
        )
    return made


def _ssh(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )


def _ssh_public(key: Key) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH) + b"\n"
