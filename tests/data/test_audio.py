"""Case 15: any rate, channel count and format; empty and broken files are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from recorder import record, truncate

from sordino.data import SAMPLE_RATE_HZ, audio_duration, read_audio, write_audio
from sordino.errors import DataError


def tone(rate: int, seconds: float = 0.5, hertz: float = 440.0) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(rate * seconds)) / rate)).astype(np.float32)


def heard(audio: np.ndarray) -> tuple[float, float]:
    """Frequency and amplitude of the loudest component."""
    middle = audio[len(audio) // 4 : -(len(audio) // 4)]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
    return float(np.argmax(spectrum)) * SAMPLE_RATE_HZ / len(middle), float(np.abs(middle).max())


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_any_rate_and_channel_count_gives_the_same_tone(tmp_path: Path, rate: int, channels: int) -> None:
    file = tmp_path / "tone.wav"
    soundfile.write(file, np.repeat(tone(rate)[:, None], channels, axis=1), rate, subtype="FLOAT")
    audio = read_audio(file)
    assert audio.dtype == np.float32
    assert audio.ndim == 1
    assert len(audio) == pytest.approx(SAMPLE_RATE_HZ / 2, abs=2)
    hertz, amplitude = heard(audio)
    assert hertz == pytest.approx(440, abs=5)
    assert amplitude == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("suffix", "subtype"),
    [
        ("wav", "PCM_U8"),
        ("wav", "PCM_16"),
        ("wav", "PCM_24"),
        ("wav", "DOUBLE"),
        ("wav", "ULAW"),
        ("flac", "PCM_24"),
        ("ogg", "VORBIS"),
        ("aiff", "PCM_16"),
    ],
)
def test_any_format(tmp_path: Path, suffix: str, subtype: str) -> None:
    file = tmp_path / f"tone.{suffix}"
    soundfile.write(file, tone(16_000), 16_000, subtype=subtype)
    hertz, amplitude = heard(read_audio(file))
    assert hertz == pytest.approx(440, abs=5)
    assert amplitude == pytest.approx(0.5, abs=0.03)


def test_channels_are_averaged(tmp_path: Path) -> None:
    file = tmp_path / "left.wav"
    left = tone(16_000)
    soundfile.write(file, np.stack([left, np.zeros_like(left)], axis=1), 16_000, subtype="FLOAT")
    np.testing.assert_array_equal(read_audio(file), left / 2)


def test_tones_above_the_new_range_do_not_fold_back(tmp_path: Path) -> None:
    file = tmp_path / "high.wav"
    soundfile.write(file, tone(44_100, hertz=12_000), 44_100, subtype="FLOAT")
    assert np.abs(read_audio(file)[1000:-1000]).max() < 1e-3


def test_a_piece_of_a_recording(tmp_path: Path) -> None:
    file = tmp_path / "ramp.wav"
    ramp = np.linspace(-1, 1, 16_000, dtype=np.float32)
    soundfile.write(file, ramp, 16_000, subtype="FLOAT")
    np.testing.assert_array_equal(read_audio(file, offset_s=0.25, duration_s=0.5), ramp[4_000:12_000])
    np.testing.assert_array_equal(read_audio(file, offset_s=0.25), ramp[4_000:])
    assert len(read_audio(file, duration_s=0.9997)) == 16_000, "a rounded duration must not cut the end"
    assert len(read_audio(file, duration_s=7.0)) == 16_000
    with pytest.raises(DataError, match=r"offset 1\.5 s lies behind its end at 1\.000 s"):
        read_audio(file, offset_s=1.5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_samples_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    file = tmp_path / "bad.wav"
    audio = tone(16_000)
    audio[100] = value
    soundfile.write(file, audio, 16_000, subtype="FLOAT")
    with pytest.raises(DataError, match=r"bad\.wav holds samples that are NaN or infinite; convert it"):
        read_audio(file)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.wav", b"", r"empty\.wav is an empty file; record"),
        ("text.wav", b"this is no sound at all\n" * 50, r"text\.wav is not an audio file .* convert it to WAV or FLAC"),
        ("text.flac", b"hello", r"text\.flac is not an audio file"),
        ("text.raw", b"hello", r"text\.raw is not an audio file"),
        ("text.mp3", b"hello", r"text\.mp3"),
    ],
)
def test_files_that_are_no_audio_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    for read in (read_audio, audio_duration):
        with pytest.raises(DataError, match=message):
            read(tmp_path / name)


def test_a_header_without_samples_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "zero.wav"
    soundfile.write(file, np.zeros(0, np.float32), 8_000)
    with pytest.raises(DataError, match=r"zero\.wav holds no samples; record"):
        read_audio(file)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.wav", tmp_path):
        with pytest.raises(DataError, match="does not exist or is no file"):
            read_audio(path)


@given(cut=st.floats(0.02, 0.98))
@settings(max_examples=25, deadline=None)
def test_a_damaged_file_is_an_error_or_shorter_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, cut: float
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, 8_000).astype(np.float32)
    write_audio(folder / "whole.flac", noise)
    content = (folder / "whole.flac").read_bytes()
    (folder / "cut.flac").write_bytes(content[: int(len(content) * cut)])
    message, length = "", 0
    try:
        length = len(read_audio(folder / "cut.flac"))
    except DataError as error:
        message = str(error)
    assert "cut.flac" in message or 0 < length < len(noise)


def test_one_sample_at_a_high_rate_is_still_a_sample(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "click.wav", np.ones(1, np.float32) / 2, 96_000)
    assert len(read_audio(tmp_path / "click.wav")) >= 1


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    audio = tone(16_000)
    assert write_audio(tmp_path / "tone.flac", audio) == 0.5
    np.testing.assert_allclose(read_audio(tmp_path / "tone.flac"), audio, atol=2**-15)


def test_real_recordings(data_root: Path) -> None:
    eight = read_audio(data_root / "fsdd" / "s1" / "0_00.flac")
    assert len(eight) == pytest.approx(audio_duration(data_root / "fsdd" / "s1" / "0_00.flac") * 16_000, abs=2)
    assert 0.01 < np.abs(eight).max() <= 1.1


@pytest.mark.parametrize("ending", ["wav", "flac", "mp3", "ogg", "opus", "aiff", "au", "caf"])
def test_half_a_recording_is_no_recording(tmp_path: Path, ending: str) -> None:
    path = record(tmp_path / f"a.{ending}", seconds=4)
    assert read_audio(path).shape[0] == pytest.approx(64_000, abs=2_500)
    with pytest.raises(DataError, match=r"is damaged|is not an audio file"):
        read_audio(truncate(path))


def test_a_length_that_was_not_known_when_the_header_was_written_is_no_damage(tmp_path: Path) -> None:
    path = record(tmp_path / "piped.wav")
    content = bytearray(path.read_bytes())
    for streamed in (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f"):
        content[4:8] = content[40:44] = streamed
        path.write_bytes(content)
        assert len(read_audio(path)) == 8_000
