"""Corpora of synthetic speech: rendered once, kept in the cache with a manifest, and read from there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sordino.data.cache import cached_folder
from sordino.data.manifest import read_manifest, write_manifest
from sordino.data.rendering import Job, render
from sordino.data.source import SPLIT
from sordino.data.utterance import Utterance

__all__ = ["rendered", "spoken"]


def rendered(
    name: str, key: Mapping[str, Any], plan: Callable[[], Iterable[tuple[Job, Utterance]]]
) -> Mapping[str, tuple[Utterance, ...]]:
    """The utterances by their attribute ``split``, made now unless the cache has them.

    Args:
        name: of the corpus.
        key: everything that the samples depend on, as JSON values.
        plan: every utterance with how it is made, as `spoken` gives it.

    Raises:
        ConfigError: the cache cannot be written, or espeak-ng is not installed.
        DataError: a text cannot be said.
    """

    def build(folder: Path) -> None:
        jobs, utterances = zip(*plan(), strict=True)
        lengths = render(jobs, folder)
        write_manifest(
            folder / "manifest.jsonl",
            (replace(u, audio=folder / u.audio, duration_s=s) for u, s in zip(utterances, lengths, strict=True)),
        )

    splits: dict[str, list[Utterance]] = {}
    for utterance in read_manifest(cached_folder(name, key, build) / "manifest.jsonl"):
        splits.setdefault(utterance.attributes[SPLIT], []).append(utterance)
    return {split: tuple(utterances) for split, utterances in splits.items()}


def spoken(job: Job, speaker: str, attributes: Mapping[str, str]) -> Utterance:
    """What a job will be: its file is still relative, and its length unknown."""
    return Utterance(
        audio=Path(job.file),
        text=job.text,
        speaker=speaker,
        duration_s=0.0,
        language=job.voice.language,
        attributes=attributes,
    )
