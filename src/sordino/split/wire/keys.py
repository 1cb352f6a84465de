"""What the owner of a model gives out, and keeps: a certificate, the authority behind it, and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sordino.certificates import make_certificates, require_file_names, write_new
from sordino.split.wire.holders import Holders, new_token

__all__ = ["make_keys"]


def make_keys(
    folder: Path, *, hosts: Sequence[str] = (), holders: Sequence[str] = ("client",), days: int = 365
) -> tuple[Path, ...]:
    """Makes the certificate of a server, the authority that clients check it by, and a token for each client.

    | file | for |
    |---|---|
    | ``server.crt``, ``server.key``, ``holders.toml`` | the server |
    | ``ca.crt`` | clients: shows them that they talk to this server |
    | ``NAME.token`` | one client, over a private channel |
    | ``ca.key`` | nobody: signs a new certificate when this one ends; keep it off line |

    For another client later, make keys in another folder, and add the line of its ``holders.toml`` to the server's.

    Args:
        folder: absent or empty.
        hosts: names and addresses under which the server is reached, besides this machine's own.
        holders: names of clients.
        days: how long the certificates are good.

    Returns:
        The files, private ones readable by their owner alone.

    Raises:
        ConfigError: there is something in the folder, or a name that is no file name.
    """
    require_file_names("--client", holders, reserved=("ca", "server", "holders"))
    tokens = {name: new_token() for name in holders}
    made = make_certificates(folder, authority="sordino split learning", server="sordino split", hosts=hosts, days=days)
    for name, token in tokens.items():
        made += (write_new(folder / f"{name}.token", f"{token}\n".encode()),)
    return (*made, write_new(folder / "holders.toml", Holders.of(tokens).to_toml().encode()))
