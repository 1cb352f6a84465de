"""espeak-ng, the speech synthesiser behind the synthetic voices, driven through ctypes.

The library comes with the optional extra ``synthetic`` (GPL-3), so nothing here loads it before the first word is
spoken. What espeak-ng says depends on everything it said before: parts of its state survive even ``espeak_Terminate``.
Each call therefore loads the library anew (about 1 ms), with both of its random sources seeded, behind a lock.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sordino._check import one_of
from sordino.errors import ConfigError

__all__ = ["RATE_HZ", "languages", "speak", "timbres", "version"]

RATE_HZ: Final = 22_050
"""What espeak-ng renders at, in Hz."""

_SYNCHRONOUS: Final = 2
_DO_NOT_EXIT_ON_ERROR: Final = 0x8000
_SPEAKING_RATE: Final = 1
_PITCH: Final = 3
_UTF8: Final = 1
_LOCK: Final = threading.Lock()
_ON_SAMPLES = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


@cache
def _paths() -> tuple[Path, Path]:
    """Where the shared library and its data folder are."""
    try:
        import espeakng_loader
    except ImportError:
        raise ConfigError(
            "synthetic voices need espeak-ng, which is not installed; run: pip install 'sordino[synthetic]'."
        ) from None
    return Path(espeakng_loader.get_library_path()), Path(espeakng_loader.get_data_path())


@cache
def timbres() -> tuple[str, ...]:
    """Names of all voice variants that the installed espeak-ng has, sorted.

    Raises:
        ConfigError: the extra ``synthetic`` is not installed.
    """
    return tuple(sorted(file.name for file in (_paths()[1] / "voices" / "!v").iterdir() if file.is_file()))


def languages() -> tuple[str, ...]:
    """Names of all languages that the installed espeak-ng has, sorted.

    Raises:
        ConfigError: the extra ``synthetic`` is not installed.
    """
    return tuple(sorted(_languages()))


@cache
def _languages() -> Mapping[str, str]:
    """File of each language inside espeak-ng's data. Given the file, it need not look through all voices first (4 ms)."""
    return {
        file.name: f"{file.parent.name}/{file.name}" for file in (_paths()[1] / "lang").glob("*/*") if file.is_file()
    }


@cache
def version() -> str:
    """Version of the installed espeak-ng, part of every cache key."""
    with _LOCK, _fresh_engine() as engine:
        engine.espeak_Info.restype = ctypes.c_char_p
        return str(engine.espeak_Info(None).decode())


def speak(text: str, *, language: str, timbre: str, pitch: int, rate: int) -> npt.NDArray[np.float32]:
    """Speaks one utterance; the same arguments always give the same samples, in any order and process.

    Args:
        text: words in the spelling of ``language``.
        language: espeak-ng's name of the language, e.g. ``"en"``.
        timbre: one of `timbres`.
        pitch: 0 (low) to 99 (high); 50 is the variant's own.
        rate: words a minute, 80 to 450.

    Returns:
        float32 [samples] in [-1, 1] at `RATE_HZ`.

    Raises:
        ConfigError: the extra is not installed, or it has no such language or timbre.
    """
    one_of("timbre", timbre, timbres())
    voice = f"{_languages()[one_of('language', language, languages())]}+{timbre}"
    pieces: list[npt.NDArray[np.int16]] = []

    def keep(samples: ctypes._Pointer[ctypes.c_short], count: int, _events: object) -> int:
        if count > 0:
            pieces.append(np.ctypeslib.as_array(samples, (count,)).astype(np.int16))
        return 0

    on_samples = _ON_SAMPLES(keep)
    encoded = text.encode() + b"\0"
    with _LOCK, _fresh_engine() as engine:
        engine.espeak_SetSynthCallback(on_samples)
        if engine.espeak_SetVoiceByName(voice.encode()) != 0:
            raise ConfigError(f"espeak-ng cannot load voice {voice!r}; choose another timbre or language.")
        engine.espeak_SetParameter(_SPEAKING_RATE, rate, 0)
        engine.espeak_SetParameter(_PITCH, pitch, 0)
        size = ctypes.c_size_t(len(encoded))
        zero = ctypes.c_uint(0)
        engine.espeak_Synth(encoded, size, zero, 0, zero, ctypes.c_uint(_UTF8), None, None)
        engine.espeak_Synchronize()
    return np.concatenate(pieces or [np.zeros(0, np.int16)]).astype(np.float32) / np.float32(32768)


@contextmanager
def _fresh_engine() -> Iterator[ctypes.CDLL]:
    """A newly loaded library in its initial state; the caller holds `_LOCK`."""
    library, data = _paths()
    engine = ctypes.CDLL(str(library))
    process = ctypes.CDLL(None)
    try:
        if engine.espeak_Initialize(_SYNCHRONOUS, 0, str(data).encode(), _DO_NOT_EXIT_ON_ERROR) != RATE_HZ:
            raise ConfigError(f"espeak-ng cannot use {data}; reinstall: pip install --force-reinstall espeakng-loader.")
        # Breath noise comes from espeak's own generator, that of the Klatt voices from the C library's.
        engine.espeak_ng_SetRandSeed(ctypes.c_long(1))
        process.srand(1)
        yield engine
    finally:
        engine.espeak_Terminate()
        process.dlclose(ctypes.c_void_p(engine._handle))
