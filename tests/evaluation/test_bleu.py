"""BLEU against sacrebleu's own, and its intervals."""

from __future__ import annotations

import pytest
from sacrebleu.metrics import BLEU

from sordino.errors import ConfigError, DataError
from sordino.evaluation.bleu import bleu
from sordino.seeds import Seeds

REFERENCES = ["the cat sat on the mat .", "anna of graz feels worse today", "no pain at all", "it rains"] * 5
WRITTEN = ["the cat sat on a mat .", "anna of graz feels better today", "pain", ""] * 5


def test_it_is_sacrebleus() -> None:
    found = bleu(WRITTEN, REFERENCES, seeds=Seeds(0))
    assert found.found == pytest.approx(BLEU().corpus_score(WRITTEN, [REFERENCES]).score, abs=1e-9)
    low, high = found.to_json()["bleu_ci95"]
    assert low < found.found < high


def test_the_right_text_has_all_and_no_text_none() -> None:
    right = bleu(REFERENCES, REFERENCES, seeds=Seeds(0))
    assert [right.found, *right.to_json()["bleu_ci95"]] == pytest.approx([100, 100, 100])
    assert bleu([""] * 20, REFERENCES, seeds=Seeds(0)).found == 0


def test_differences_are_paired() -> None:
    one, other = (bleu(texts, REFERENCES, seeds=Seeds(0)) for texts in (WRITTEN, [*WRITTEN[:-1], "it rains"]))
    assert one.against(one).to_json() == {"bleu": 0.0, "bleu_ci95": [0.0, 0.0]}
    assert other.against(one).to_json()["bleu_ci95"][0] >= 0


def test_what_cannot_be_scored() -> None:
    with pytest.raises(DataError, match="expected one each"):
        bleu(["a"], ["a", "b"], seeds=Seeds(0))
    with pytest.raises(DataError, match="at least one"):
        bleu([], [], seeds=Seeds(0))
    with pytest.raises(ConfigError, match="resamples"):
        bleu(["a"], ["a"], seeds=Seeds(0), resamples=0)
