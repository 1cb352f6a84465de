"""The word error rate of a finished run's model, on its own test clips or on others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sordino.data import FeatureStore, read_manifest
from sordino.evaluation import score, transcribe
from sordino.experiments.finished import load_finished
from sordino.seeds import Seeds

__all__ = ["evaluate_run"]


def evaluate_run(path: Path, *, manifest: Path | None = None) -> dict[str, Any]:
    """What ``sordino evaluate --json`` prints.

    Args:
        path: folder of a finished run.
        manifest: test clips; the run's own if not given.

    Raises:
        ConfigError: no run there, or it has no model yet.
        DataError: recordings that cannot be used.
    """
    options, model = load_finished(path)
    if manifest is None:
        splits = options.data.corpus.load(model.window_s)
        utterances, test_is = list(splits.test), splits.test_is
    else:
        utterances, test_is = read_manifest(manifest), str(manifest)
    features = FeatureStore(model.num_mels, model.window_s, limit_mb=options.data.memory_mb)
    samples = transcribe(model, features, utterances, batch_size=options.evaluation.batch_size)
    return {"test_is": test_is, **score(samples, seeds=Seeds(options.seed).at("bootstrap")).dump()}
