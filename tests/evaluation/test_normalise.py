"""The text normaliser: what it keeps, what it unifies, and that it changes nothing the second time."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sordino.evaluation import normalise

LANGUAGES = st.sampled_from(["", "en", "de", "fr", "fr-CA", "tr", "TR_tr", "az", "pl"])
AWKWARD = st.text(
    st.sampled_from("aAiIİıßẞΣσςéE'’`´-‐—\u00ad\u200d\u0301\u0307\u0327 .,lLdqu\n\t_½Ⅷ²ǅ€\ud800"), max_size=12
)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Don’t STOP — now!", "en", "don't stop now"),
        ("don`t", "en", "don't"),
        ("DON\u02bcT", "en", "don't"),
        ("‘quoted’ and 'quoted'", "en", "quoted and quoted"),
        ("'tis the dogs' rock 'n' roll", "en", "tis the dogs rock n roll"),
        ("well-known well‑known well–known", "en", "well known well known well known"),
        ("co\u00adop ze\u200bro", "en", "coop zero"),
        ("  one\t\ntwo\u00a0three ", "en", "one two three"),
        ("3.14 is 22/7, 50%", "en", "3 14 is 22 7 50"),
        ("snake_case", "en", "snake case"),
        ("Cafe\u0301", "fr", "caf\u00e9"),
        ("Straße", "de", "straße"),
        ("GROẞ", "de", "groß"),
        ("ISPARTA İzmir Iğdır", "tr", "ısparta izmir ığdır"),
        ("ISPARTA İzmir", "tr-TR", "ısparta izmir"),
        ("I\u0307zmir", "tr", "izmir"),
        ("ISLE İzmir", "en", "isle izmir"),
        ("L’Homme", "fr", "l'homme"),
        ("l' homme qu’ il d'\u00a0eau", "fr", "l'homme qu'il d'eau"),
        ("Aujourd’hui, c'est-à-dire", "fr", "aujourd'hui c'est à dire"),
        ("avec l' ", "fr", "avec l"),
        ("l' homme", "en", "l homme"),
        ("Racja, ten pomysł jest najlepszy.", "pl", "racja ten pomysł jest najlepszy"),
        ("हिन्दी।", "hi", "हिन्दी"),
        ("?!…", "en", ""),
        ("", "en", ""),
    ],
)
def test_spelling(text: str, language: str, expected: str) -> None:
    assert normalise(text, language) == expected


@settings(max_examples=500)
@given(text=st.one_of(st.text(st.characters(codec=None)), AWKWARD), language=LANGUAGES)
@example(text="i\u0327\u0307", language="en")
@example(text="İ\u0307", language="en")
@example(text="l' l' 'a", language="fr")
def test_twice_is_once(text: str, language: str) -> None:
    once = normalise(text, language)
    assert normalise(once, language) == once


@settings(max_examples=500)
@given(text=st.one_of(st.text(), AWKWARD), language=LANGUAGES)
def test_only_words_and_single_spaces_remain(text: str, language: str) -> None:
    result = normalise(text, language)
    assert result == result.strip()
    assert "  " not in result
    assert {char for char in result if unicodedata.category(char)[0] not in "LMN"} <= {" ", "'"}
    assert unicodedata.is_normalized("NFC", result)
    assert result == result.lower()


@given(text=st.text())
def test_composed_and_decomposed_text_are_one(text: str) -> None:
    assert normalise(unicodedata.normalize("NFD", text)) == normalise(unicodedata.normalize("NFC", text))
