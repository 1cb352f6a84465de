"""Frames of real recordings taken from disk, against computing them.

    SORDINO_DATA=/data SORDINO_WEIGHTS=/weights python benchmarks/frames_on_disk.py [--json]

Whisper tiny.en, frozen, hears every 25th clip of ``librispeech-10`` in windows of 10 s. Prints processor time from disk
divided by that of computing: of the encoder's output (``encoder_ratio``), of a recogniser's front (``front_ratio``:
convolutions alone) and of log-mels (``log_mel_ratio``); what keeping them costs beside computing them (``written_ratio``);
and the bytes a second of audio that they take. Nothing is kept in memory, and the files are in the system's.
"""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

import torch
from interleaving import print_result, ratios, seconds

from sordino.data import FeatureStore, Utterance, read_manifest
from sordino.data.clips import ClipStore
from sordino.data.shelf import Shelf
from sordino.models.ctc import CtcOptions, load_recogniser
from sordino.models.encoders import load_encoder
from sordino.models.frozen_encoder import FrozenEncoder

WINDOW_S = 10.0


def hear(store: FeatureStore, utterances: list[Utterance], encoder: FrozenEncoder | None) -> None:
    """One pass over everything."""
    for utterance in utterances:
        store.windows(utterance, encoder=encoder)


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    whisper = str(Path(os.environ["SORDINO_WEIGHTS"]) / "whisper-tiny.en")
    utterances = read_manifest(Path(os.environ["SORDINO_DATA"]) / "librispeech-10" / "manifest.jsonl")[::25]
    audio_s = sum(utterance.duration_s for utterance in utterances)
    encoder = FrozenEncoder(load_encoder(whisper, window_s=WINDOW_S, stack=1, dtype=torch.float32).eval())
    recogniser = load_recogniser(CtcOptions(base=whisper, window_s=WINDOW_S))
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(10**10, folder=Path(folder) / "frames")
        windows = partial(FeatureStore, recogniser.front.num_mels or 80, WINDOW_S, limit_mb=0)
        pieces = partial(
            ClipStore,
            recogniser.hear,
            num_mels=recogniser.front.num_mels,
            window_s=WINDOW_S,
            limit_mb=0,
            digest=recogniser.front_digest,
        )

        def fronts(store: ClipStore) -> None:
            for utterance in utterances:
                store.pieces(utterance)

        def written() -> None:
            with tempfile.TemporaryDirectory() as empty:
                hear(windows(shelf=Shelf(10**10, folder=Path(empty) / "frames")), utterances, encoder)

        hear(windows(shelf=shelf), utterances, encoder)
        taken = sum(path.stat().st_size for path in shelf.folder.iterdir())
        hear(windows(shelf=shelf), utterances, None)
        fronts(pieces(shelf=shelf))
        times = seconds(
            {
                "encoder": lambda: hear(windows(shelf=shelf), utterances, encoder),
                "encoder_computed": lambda: hear(windows(), utterances, encoder),
                "written": written,
                "log_mel": lambda: hear(windows(shelf=shelf), utterances, None),
                "log_mel_computed": lambda: hear(windows(), utterances, None),
                "front": lambda: fronts(pieces(shelf=shelf)),
                "front_computed": lambda: fronts(pieces()),
            },
            repeats=3,
            warm_up=0,
        )
    print_result(
        {
            "encoder_ratio": ratios(times, floor="encoder_computed")["encoder"],
            "written_ratio": ratios(times, floor="encoder_computed")["written"],
            "front_ratio": ratios(times, floor="front_computed")["front"],
            "log_mel_ratio": ratios(times, floor="log_mel_computed")["log_mel"],
            "kb_a_second": round(taken / 1000 / audio_s, 1),
        }
    )


if __name__ == "__main__":
    main()
