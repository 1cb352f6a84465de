"""Symbols in and out."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino.errors import ConfigError
from sordino.models.ctc import Units


def test_characters_and_words_come_back() -> None:
    characters = Units.of_characters()
    assert characters.decode(characters.encode("it's seven eight")) == "it's seven eight"
    words = Units.of_words(["one", "two"])
    assert words.encode("two one three two") == [2, 1, 2]
    assert words.decode([2, 1]) == "two one"
    assert characters.decode(characters.encode(" a  b ")) == "a b"


def test_frames_needed_counts_a_blank_between_equal_symbols() -> None:
    assert Units.of_characters().frames_needed("three") == 6
    assert Units.of_words(["one"]).frames_needed("one one") == 3


def test_what_cannot_be_written_is_told() -> None:
    assert Units.of_words(["one"]).unwritable("one two one") == ["two"]
    assert Units.of_characters("ab").unwritable("a éb") == [" ", "é"]


def test_a_checkpoints_vocabulary_goes_through_both_ways() -> None:
    vocabulary = {"<pad>": 2, "|": 1, "A": 0, "<s>": 3, "</s>": 4}
    units = Units.of_tokenizer(vocabulary, size=4, blank=2)  # </s> is behind the last output
    assert units == Units(("a", " ", "", ""), 2, words=False)
    assert Units.of_tokenizer(units.vocabulary(), size=4, blank=2) == units


def test_files_come_back_and_damage_is_named(tmp_path: Path) -> None:
    units = Units.of_words(["é", "two"])
    units.write(tmp_path)
    assert Units.read(tmp_path) == units
    assert Units.read(tmp_path / "elsewhere") is None
    (tmp_path / "units.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="save the recogniser again"):
        Units.read(tmp_path)


@pytest.mark.parametrize("symbols", [(), ("", "a", "a")])
def test_useless_units_are_refused(symbols: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"model.vocabulary"):
        Units(symbols, 0, words=True)
    with pytest.raises(ConfigError, match="no blank"):
        Units(("a", "b"), 0, words=True)
