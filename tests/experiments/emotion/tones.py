"""A corpus of voices made of tones, which are high and loud when glad."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sordino.data import Utterance, write_audio, write_manifest


def tones(folder: Path, experiment: str) -> Path:
    """Six speakers, each with a pitch of their own, in ``all.jsonl``; and the experiment's file beside it."""
    random, utterances = np.random.default_rng(0), []
    time = np.arange(8_000) / 16_000
    for speaker in range(6):
        for number in range(8):
            emotion, glad = ("gladness", 1.5) if number % 2 else ("sadness", 1.0)
            pitch = (110 + 15 * speaker) * glad * random.uniform(0.95, 1.05)
            tone = sum(np.sin(2 * np.pi * pitch * harmonic * time) / harmonic for harmonic in (1, 2, 3))
            audio = (0.1 * glad * tone + 0.002 * random.normal(size=len(time))).astype(np.float32)
            path = folder / f"{speaker}-{number}.flac"
            seconds = write_audio(path, audio)
            utterances.append(
                Utterance(
                    audio=path, text="a", speaker=f"s{speaker}", duration_s=seconds, attributes={"emotion": emotion}
                )
            )
    write_manifest(folder / "all.jsonl", utterances)
    path = folder / "experiment.toml"
    path.write_text(experiment, encoding="utf-8")
    return path
