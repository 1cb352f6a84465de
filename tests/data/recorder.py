"""Makes small recordings in any format, whole and damaged."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import soundfile

from sordino.data import LeftOut, Prepared, Source, Utterance, prepare


def record(path: Path, *, seconds: float = 0.5, seed: int | None = None, peak: float = 0.1, rate: int = 16_000) -> Path:
    """Noise, different in every file unless the seed says otherwise; the ending names the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(zlib.crc32(str(path).encode()) if seed is None else seed)
    samples = rng.uniform(-peak, peak, int(rate * seconds)).astype(np.float32)
    opus = {"format": "OGG", "subtype": "OPUS"} if path.suffix == ".opus" else {}
    soundfile.write(path, samples, rate, **opus)
    return path


def truncate(path: Path) -> Path:
    """Keeps the header and the first half of the rest."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def write(path: Path, text: str | bytes) -> Path:
    """A file with exactly this content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def found(source: Source, folder: Path) -> tuple[list[Utterance], set[tuple[str, str]]]:
    """What a source finds: the utterances, and path below the folder and kind of what it leaves out."""
    items = list(source.read(folder))
    return [item for item in items if isinstance(item, Utterance)], {
        (item.audio.relative_to(folder).as_posix(), item.kind) for item in items if isinstance(item, LeftOut)
    }


def kinds(prepared: Prepared) -> dict[str, str]:
    """Kind of what was left out by the recording's name."""
    return {item.audio.name: item.kind for item in prepared.left_out}


def prepared_by(source: Source, folder: Path, **options: object) -> Prepared:
    return prepare(source.read(folder), **options)  # type: ignore[arg-type]
