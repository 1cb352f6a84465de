"""Recordings in, mono 16 kHz samples out, whatever their rate, channel count and format."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from sordino.data.tears import missing_part
from sordino.errors import DataError

__all__ = ["ROUNDING_S", "SAMPLE_RATE_HZ", "audio_duration", "audio_header", "read_audio", "write_audio"]

SAMPLE_RATE_HZ: Final = 16_000
"""What every model here listens at, in Hz."""

ROUNDING_S: Final = 0.01
"""A piece that ends this close to the end of its recording goes to the end: manifests round durations."""


def read_audio(path: Path, *, offset_s: float = 0.0, duration_s: float | None = None) -> npt.NDArray[np.float32]:
    """Reads a recording, or a piece of one: channels averaged, resampled to 16 kHz.

    A piece that ends within `ROUNDING_S` of the end of the file is read to its end.

    Returns:
        float32 [samples] at `SAMPLE_RATE_HZ`, at least one sample.

    Raises:
        DataError: the file is missing, empty, not audio, damaged or cut off, holds NaN or infinity, or ends before
            ``offset_s``.
    """
    samples, rate = read_samples(path, offset_s=offset_s, duration_s=duration_s)
    mono: npt.NDArray[np.float32] = samples.mean(axis=1, dtype=np.float32)
    if rate == SAMPLE_RATE_HZ:
        return mono
    resampled = np.asarray(soxr.resample(mono, rate, SAMPLE_RATE_HZ), np.float32)
    return resampled if len(resampled) else np.zeros(1, np.float32)


def read_samples(
    path: Path, *, offset_s: float = 0.0, duration_s: float | None = None
) -> tuple[npt.NDArray[np.float32], int]:
    """As `read_audio`, but as recorded: float32 [samples, channels] and the file's own rate in Hz."""
    with _open(path) as file:
        start = round(offset_s * file.samplerate)
        if start >= file.frames:
            raise DataError(
                f"{path}: offset {offset_s} s lies behind its end at {file.frames / file.samplerate:.3f} s; "
                "correct the offset."
            )
        stop = file.frames
        if duration_s is not None and duration_s < (stop - start) / file.samplerate - ROUNDING_S:
            stop = start + max(1, round(duration_s * file.samplerate))
        try:
            file.seek(start)
            samples = file.read(stop - start, dtype="float32", always_2d=True)
        except soundfile.LibsndfileError as error:
            raise DataError(f"{path} is damaged ({error}); record or copy it again, or leave it out.") from None
        rate = int(file.samplerate)
    if len(samples) < stop - start - ROUNDING_S * rate:
        raise DataError(
            f"{path} is damaged: {len(samples) / rate:.3f} s where its header promises {(stop - start) / rate:.3f} s; copy "
            "it again or leave it out."
        )
    if not np.isfinite(samples).all():
        raise DataError(f"{path} holds samples that are NaN or infinite; convert it again or leave it out.")
    return samples, rate


def audio_duration(path: Path) -> float:
    """Length in seconds from the header alone.

    Raises:
        DataError: the file is missing, empty, not audio or cut off.
    """
    return audio_header(path)[0]


def audio_header(path: Path) -> tuple[float, int]:
    """As `audio_duration`, and the rate in Hz."""
    with _open(path) as file:
        return float(file.frames / file.samplerate), int(file.samplerate)


def _open(path: Path) -> soundfile.SoundFile:
    if not path.is_file():
        raise DataError(f"{path} does not exist or is no file; correct the path or leave it out.")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is an empty file; record or copy it again, or leave it out.")
    try:
        file = soundfile.SoundFile(path)
    except (soundfile.LibsndfileError, TypeError) as error:
        reason = getattr(error, "error_string", "the name ends in .raw")
        raise DataError(
            f"{path} is not an audio file that can be read ({reason}); convert it to WAV or FLAC, or leave it out."
        ) from None
    if file.frames == 0:
        file.close()
        raise DataError(f"{path} holds no samples; record or copy it again, or leave it out.")
    missing = missing_part(path, file)
    if missing is not None:
        file.close()
        raise DataError(f"{path} is damaged: {missing}; copy it again or leave it out.")
    return file


def write_audio(path: Path, audio: npt.NDArray[np.float32]) -> float:
    """Writes mono 16 kHz samples as 16-bit FLAC and returns their length in seconds.

    Args:
        path: file to write; its folder must exist.
        audio: float32 [samples] in [-1, 1].
    """
    # Through memory: given a path, libsndfile waits for the disk after every file, 3 ms each.
    encoded = io.BytesIO()
    soundfile.write(encoded, audio, SAMPLE_RATE_HZ, format="FLAC", subtype="PCM_16")
    path.write_bytes(encoded.getbuffer())
    return len(audio) / SAMPLE_RATE_HZ
