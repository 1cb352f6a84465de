"""What a run measures of its model, and where that is shown."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Literal

import torch

from sordino.data import Utterance
from sordino.evaluation import Sample, WerReport, score, transcribe
from sordino.experiments.assembly import Assembly
from sordino.records import RunFolder

__all__ = ["brief", "measure", "measure_seen", "versions"]


def measure(
    parts: Assembly, values: torch.Tensor, folder: RunFolder, *, keep: Literal["before", "after"] | None = None
) -> WerReport | None:
    """Word error rate of an adapter on the test clips; None where showing it would be outside the guarantee.

    Args:
        parts: the experiment.
        values: the adapter, float32 [layout.size].
        folder: where transcripts are kept.
        keep: also keep the transcripts under this name.
    """
    return _measure(parts, values, folder, keep, seen=False) if parts.may_measure else None


def measure_seen(parts: Assembly, values: torch.Tensor, folder: RunFolder) -> WerReport | None:
    """Word error rate on held-out clips of training speakers, which no guarantee covers: debug telemetry only."""
    shown = parts.splits.seen and parts.options.telemetry == "debug"
    return _measure(parts, values, folder, "seen", seen=True) if shown else None


def _measure(parts: Assembly, values: torch.Tensor, folder: RunFolder, keep: str | None, *, seen: bool) -> WerReport:
    utterances = parts.splits.seen if seen else parts.splits.test
    known = parts.shared.transcripts.get(parts.shared.origin(parts.options)) if keep == "before" else None
    samples = known or _listen(parts, values, utterances)
    if keep == "before":
        parts.shared.transcripts[parts.shared.origin(parts.options)] = samples
    if keep is not None:
        folder.write_lines(folder.transcripts(keep), (asdict(sample) for sample in samples))
    return score(samples, seeds=parts.seeds.at("bootstrap"))


def _listen(parts: Assembly, values: torch.Tensor, utterances: Sequence[Utterance]) -> list[Sample]:
    for model in (parts.model, *parts.copies):
        model.flat.load(values)
    batch_size = parts.options.evaluation.batch_size
    return transcribe(parts.model, parts.features, utterances, batch_size=batch_size, copies=parts.copies)


def brief(report: WerReport | None) -> dict[str, Any] | None:
    """Rate and interval alone, for a line of ``rounds.jsonl``."""
    return {"wer": report.wer, "ci95": list(report.ci95) if report.ci95 else None} if report else None


def versions() -> dict[str, str]:
    """What computed a result."""
    packages = ("sordino", "torch", "transformers", "peft", "dp-accounting")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
