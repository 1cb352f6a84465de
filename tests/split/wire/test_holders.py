"""Tokens: whose is whose, where they may stand, and that files are their owner's alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino.errors import ConfigError
from sordino.split.wire.holders import TOKEN_VARIABLE, Holders, new_token, read_token
from sordino.split.wire.keys import make_keys


def test_a_token_names_its_holder_and_nothing_else_does(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys", holders=["a", "b"])
    holders = Holders.read(tmp_path / "keys" / "holders.toml")
    tokens = {name: read_token(tmp_path / "keys" / f"{name}.token") for name in "ab"}
    assert tokens["a"] != tokens["b"]
    assert not any(token in (tmp_path / "keys" / "holders.toml").read_text() for token in tokens.values())
    for name, token in tokens.items():
        assert holders.holder(f"Bearer {token}") == name
        wrong = (
            "",
            "Bearer ",
            token,
            f"bearer {token}",
            f"Bearer {token} ",
            f"Bearer {token[:-1]}",
            f"Bearer {new_token()}",
        )
        assert {holders.holder(text) for text in wrong} == {None}
    digest = holders.digests["a"]
    assert holders.holder(f"Bearer {digest}") is None


def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    for path in make_keys(tmp_path / "keys", holders=["a"]):
        assert (path.stat().st_mode & 0o077 == 0) == (path.suffix in (".key", ".token")) or path.name == "holders.toml"


@pytest.mark.parametrize("text", ["short", "x" * 31, "x" * 20 + " " + "x" * 20, "x" * 40 + "\n" + "y" * 40, "x" * 600])
def test_what_is_no_token_is_refused_before_it_is_sent(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ConfigError, match="no token"):
        read_token(tmp_path / "token")
    monkeypatch.setenv(TOKEN_VARIABLE, text)
    with pytest.raises(ConfigError, match=TOKEN_VARIABLE) as caught:
        read_token(None)
    assert text not in str(caught.value)


def test_no_token_says_where_it_may_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    with pytest.raises(ConfigError, match=f"--token, or set {TOKEN_VARIABLE}"):
        read_token(None)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_token(tmp_path / "none")


@pytest.mark.parametrize("text", ["", "[holders]", "holders = 3", "[holders]\na = 'x'", "[holders", "\xff"])
def test_a_list_of_holders_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "holders.toml").write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError, match=r"holders\.toml"):
        Holders.read(tmp_path / "holders.toml")


def test_a_client_s_name_is_a_file_name(tmp_path: Path) -> None:
    for name in ("ca", "../up", ""):
        with pytest.raises(ConfigError, match="--client"):
            make_keys(tmp_path / "keys", holders=[name])
    assert not (tmp_path / "keys").exists()
