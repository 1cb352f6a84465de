"""Spectra from frames: all of them from clean ones, none from noise."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import DataError
from sordino.evaluation.attacks.spectrum import rebuild_spectrum
from sordino.seeds import Seeds


def attacked(*, noise: float) -> float:
    """Frames are a linear map of spectra that change slowly."""
    random = np.random.default_rng(0)
    mixing = random.standard_normal((6, 8))

    def recordings(count: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
        lengths = random.integers(5, 30, size=count).tolist()
        heard = np.concatenate([np.cumsum(random.standard_normal((length, 6)), axis=0) for length in lengths])
        frames = heard @ mixing + noise * random.standard_normal((len(heard), 8))
        return frames.astype(np.float32), heard.astype(np.float32), lengths

    (noised, spectra, lengths), (examples, answers, own) = recordings(40), recordings(60)
    found = rebuild_spectrum(noised, spectra, lengths, examples=examples, answers=answers, own=own, seeds=Seeds(0))
    assert found.ci95[0] <= found.explained <= found.ci95[1]
    assert found.to_json()["success"] >= 0
    return found.explained


def test_noise_takes_the_spectrum_away() -> None:
    clean, some, much = (attacked(noise=noise) for noise in (0.0, 3.0, 1e4))
    assert clean > 0.999
    assert 0.5 < some < 0.95
    assert much < 0.02


def test_neighbours_help_against_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    together = attacked(noise=6.0)
    monkeypatch.setattr("sordino.evaluation.attacks.spectrum._NEIGHBOURS", 0)
    assert together > attacked(noise=6.0) + 0.05


def test_lengths_that_do_not_add_up() -> None:
    rows = np.zeros((4, 3), np.float32)
    with pytest.raises(DataError, match="expected as many of each"):
        rebuild_spectrum(rows, rows, [3], examples=rows, answers=rows, own=[4], seeds=Seeds(0))
