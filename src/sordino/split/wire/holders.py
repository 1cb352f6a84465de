"""Who may ask a server: holders of tokens. The server knows the tokens' digests only.

| file | holds | for |
|---|---|---|
| ``NAME.token`` | one token | the holder, who names it, or puts it into ``SORDINO_SPLIT_TOKEN`` |
| ``holders.toml`` | a table ``[holders]``, from names to SHA-256 digests | the server |

A token has 256 random bits, so a plain digest of it says nothing about it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import tomli_w

from sordino.errors import ConfigError

__all__ = ["TOKEN_VARIABLE", "Holders", "new_token", "read_token"]

TOKEN_VARIABLE: Final = "SORDINO_SPLIT_TOKEN"  # noqa: S105 - its name, not its value
"""Environment variable of a token; never an argument, which every user of the machine could read."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9_.~+/=-]{32,512}")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_BEARER: Final = "Bearer "


@dataclass(frozen=True, slots=True)
class Holders:
    """Names and token digests.

    Attributes:
        digests: SHA-256 of each holder's token, in hexadecimal digits.
    """

    digests: Mapping[str, str]

    @classmethod
    def of(cls, tokens: Mapping[str, str]) -> Self:
        """From the tokens themselves, by name."""
        return cls({name: _digest(token) for name, token in tokens.items()})

    @classmethod
    def read(cls, path: Path) -> Self:
        """From ``holders.toml``.

        Raises:
            ConfigError: it cannot be read, or is not such a file.
        """
        try:
            digests = tomllib.loads(path.read_text(encoding="utf-8"))["holders"]
        except OSError as error:
            raise ConfigError(f"{path} cannot be read ({error.strerror}); make one with sordino split keys.") from None
        except (ValueError, KeyError):
            digests = None
        if not isinstance(digests, dict) or not digests:
            raise ConfigError(f"{path}: expected TOML with a table [holders]; make one with sordino split keys.")
        for name, digest in digests.items():
            if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
                raise ConfigError(
                    f"{path}: {name} has no SHA-256 digest in 64 hexadecimal digits; make one with sordino split keys."
                )
        return cls(digests)

    def to_toml(self) -> str:
        """What `read` reads."""
        return tomli_w.dumps({"holders": dict(self.digests)})

    def holder(self, authorization: str) -> str | None:
        """Whose token stands in an ``authorization`` header; None if nobody's. Takes as long whosever it is."""
        given = _digest(authorization.removeprefix(_BEARER)) if authorization.startswith(_BEARER) else ""
        found = None
        for name, digest in self.digests.items():
            if hmac.compare_digest(digest, given):
                found = name
        return found


def new_token() -> str:
    """256 random bits, as text."""
    return secrets.token_urlsafe(32)


def read_token(path: Path | None) -> str:
    """The token of a file, or without one that of the environment variable.

    Raises:
        ConfigError: there is none, or it is no token.
    """
    if path is not None:
        try:
            token, where = path.read_text(encoding="ascii").strip(), str(path)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{path} cannot be read as a token ({error}); name the file that the server's owner gave."
            ) from None
    else:
        token, where = os.environ.get(TOKEN_VARIABLE, ""), TOKEN_VARIABLE
        if not token:
            raise ConfigError(f"no token was given; name its file with --token, or set {TOKEN_VARIABLE}.")
    if not _TOKEN.fullmatch(token):
        raise ConfigError(
            f"{where} holds {len(token)} characters that are no token: expected 32 or more letters, digits and -_.~+/=; "
            "make one with sordino split keys."
        )
    return token


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
