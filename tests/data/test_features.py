from __future__ import annotations

import numpy as np
import pytest
from transformers import WhisperFeatureExtractor
from transformers.audio_utils import mel_filter_bank

from sordino.data.features import LogMel, mel_filters
from sordino.errors import ConfigError, DataError


def noise(samples: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(samples) * 0.1).astype(np.float32)


@pytest.mark.parametrize("num_mels", [40, 80, 128])
def test_filters_are_those_of_transformers(num_mels: int) -> None:
    reference = mel_filter_bank(201, num_mels, 0, 8000, 16_000, norm="slaney", mel_scale="slaney")
    np.testing.assert_allclose(mel_filters(num_mels), reference, atol=1e-7)


@pytest.mark.parametrize("num_mels", [80, 128])
@pytest.mark.parametrize(("window_s", "samples"), [(30, 1), (30, 70_001), (30, 480_000)])
def test_same_as_transformers_on_thirty_seconds(num_mels: int, window_s: int, samples: int) -> None:
    reference = WhisperFeatureExtractor(feature_size=num_mels)(noise(samples), sampling_rate=16_000)["input_features"][
        0
    ]
    np.testing.assert_allclose(LogMel(num_mels, window_s)(noise(samples)), reference, atol=2e-5)


@pytest.mark.parametrize("samples", [1, 2, 199, 200, 201, 399, 16_000, 31_599, 31_600, 31_601, 31_801, 31_999, 32_000])
def test_same_as_transformers_on_a_short_window(samples: int) -> None:
    extractor = WhisperFeatureExtractor(feature_size=80, chunk_length=2)
    features = LogMel(80, 2.0)(noise(samples))
    assert features.dtype == np.float32
    assert features.shape == (80, 200)
    np.testing.assert_allclose(
        features, extractor(noise(samples), sampling_rate=16_000)["input_features"][0], atol=2e-5
    )


@pytest.mark.parametrize("samples", [1, 8_000, 31_600])
def test_a_window_is_the_beginning_of_a_longer_one(samples: int) -> None:
    np.testing.assert_array_equal(LogMel(80, 2.0)(noise(samples)), LogMel(80, 30.0)(noise(samples))[:, :200])


def test_silence_is_finite() -> None:
    assert np.isfinite(LogMel(80, 1.0)(np.zeros(8_000, np.float32))).all()


def test_what_does_not_fit_is_refused() -> None:
    for samples in (0, 32_001):
        with pytest.raises(DataError, match=r"does not fit into the window of 2\.0 s; split it, raise model\.window_s"):
            LogMel(80, 2.0)(noise(samples))
    with pytest.raises(ConfigError, match="num_mels"):
        LogMel(0, 2.0)
    for window_s in (0.0, -1.0, float("nan"), 1e-5, 2.005):
        with pytest.raises(ConfigError, match="window_s"):
            LogMel(80, window_s)
