"""Pitch of tones that are known, and of sounds that have none."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.data.prosody import PROSODY, pitch_track, prosody

RATE = 16_000


def tone(hz: float, *, seconds: float = 0.5, partials: tuple[float, ...] = (0.3, 0.2, 0.1)) -> np.ndarray:
    t = np.arange(int(seconds * RATE)) / RATE
    return sum(a * np.sin(2 * np.pi * hz * k * t + k) for k, a in enumerate(partials, start=1)).astype(np.float32)


@pytest.mark.parametrize("hz", [65.0, 100.5, 150.0, 220.3, 333.0, 480.0])
@pytest.mark.parametrize("partials", [(0.3, 0.2, 0.1), (0.05, 0.3, 0.3)], ids=["strong", "weak fundamental"])
def test_pitch_of_a_tone(hz: float, partials: tuple[float, ...]) -> None:
    inside = slice(3, -3)  # frames that lie wholly within the tone
    track = pitch_track(tone(hz, partials=partials))
    np.testing.assert_allclose(track.hz[inside], hz, rtol=2e-3)
    assert track.voiced[inside].all()


def test_pitch_follows_a_glide() -> None:
    hz = np.linspace(120, 240, RATE)
    track = pitch_track((0.3 * np.sin(2 * np.pi * np.cumsum(hz) / RATE)).astype(np.float32))
    np.testing.assert_allclose(track.hz[3:-3], hz[::320][3 : len(track.hz) - 3], rtol=0.02)


def test_noise_and_silence_have_no_pitch() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    assert pitch_track(noise).voiced.mean() < 0.02
    assert not pitch_track(np.zeros(RATE, np.float32)).voiced.any()
    assert not pitch_track(1e-5 * tone(200)).voiced.any()


def test_columns() -> None:
    audio = np.concatenate([tone(100), np.zeros(RATE // 2, np.float32), tone(200)])
    frames = prosody(audio)
    assert frames.dtype == np.float32
    assert frames.shape == (1 + len(audio) // 320, len(PROSODY))
    pitch, voicing, energy, pitch_slope, energy_slope = frames.T
    np.testing.assert_allclose(pitch[3:22], 0, atol=0.01)
    np.testing.assert_allclose(pitch[-22:-3], 1, atol=0.01)
    assert (np.diff(pitch[26:49]) > 0).all(), "drawn through the silence"
    np.testing.assert_array_equal(voicing[[10, 37, -10]], [1, 0, 1])
    rms = np.sqrt((0.3**2 + 0.2**2 + 0.1**2) / 2)
    np.testing.assert_allclose(energy[5:20], 2 + np.log10(rms), atol=0.02)
    assert energy[37] == -2
    assert pitch_slope[37] > 0.2
    assert energy_slope[25] < -1 < 1 < energy_slope[50]


def test_ten_times_louder_is_one_more_and_no_other_pitch() -> None:
    soft, loud = prosody(tone(150) / 10), prosody(tone(150))
    np.testing.assert_allclose(loud[3:-3, 2] - soft[3:-3, 2], 1, atol=1e-4)
    np.testing.assert_allclose(loud[3:-3, 0], soft[3:-3, 0], atol=1e-4)


def test_one_sample_is_a_clip() -> None:
    assert np.isfinite(prosody(np.zeros(1, np.float32))).all()
    assert prosody(np.ones(1, np.float32)).shape == (1, len(PROSODY))
