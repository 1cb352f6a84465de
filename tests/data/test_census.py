from __future__ import annotations

from pathlib import Path

import pytest

from sordino.data import Utterance, census, shared_prompts, shared_speakers


def said(speaker: str, language: str, minutes: float) -> Utterance:
    return Utterance(audio=Path("x"), text="x", speaker=speaker, language=language, duration_s=60 * minutes)


SPLITS = {
    "train": [said("a", "pl", 30), said("a", "pl", 30), said("b", "pl", 60), said("a", "de", 15)],
    "dev": [said("c", "de", 6)],
    "test": [said("a", "de", 3), said("d", "", 3), said("c", "pl", 6)],
}


def test_hours_clients_and_hours_a_client() -> None:
    rows = [(r.split, r.language, r.utterances, r.hours, r.speakers, r.hours_per_speaker) for r in census(SPLITS)]
    assert rows == [
        ("train", "de", 1, 0.25, 1, 0.25),
        ("train", "pl", 3, 2.0, 2, 1.0),
        ("dev", "de", 1, pytest.approx(0.1), 1, pytest.approx(0.1)),
        ("test", "", 1, 0.05, 1, 0.05),
        ("test", "de", 1, 0.05, 1, 0.05),
        ("test", "pl", 1, pytest.approx(0.1), 1, pytest.approx(0.1)),
    ]
    assert census({"train": []}) == ()


def test_speakers_of_two_splits() -> None:
    assert shared_speakers(SPLITS) == {("train", "test"): ("a",), ("dev", "test"): ("c",)}
    assert shared_speakers({"train": SPLITS["train"]}) == {}


def test_texts_of_two_splits() -> None:
    def saying(*texts: str) -> list[Utterance]:
        return [Utterance(audio=Path("x"), text=text, speaker="a", duration_s=1.0) for text in texts]

    found = shared_prompts(
        {"train": saying("Yes  please", "no", "no"), "dev": [], "test": saying("yes please", "maybe")}
    )
    assert list(found) == [("train", "test")]
    assert found["train", "test"].texts == ("yes please",)
    assert found["train", "test"].rates == {"train": 1 / 3, "test": 0.5}
    assert shared_prompts({"train": saying("no"), "test": saying("yes")}) == {}
