"""The word error rate of a finished run's model, on its own test clips or on others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sordino.data import FeatureStore, read_manifest
from sordino.errors import ConfigError
from sordino.evaluation import score, transcribe
from sordino.experiments.loading import load_experiment
from sordino.models import load_trained
from sordino.records import RunFolder
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
    folder = RunFolder.open(path)
    if not folder.model.is_dir():
        raise ConfigError(f"{path} has no model yet; finish the run with: sordino run --resume --out {path}")
    options = load_experiment(folder.config)
    model = load_trained(options.model, folder.model)
    if manifest is None:
        splits = options.data.corpus.load(model.window_s)
        utterances, test_is = list(splits.test), splits.test_is
    else:
        utterances, test_is = read_manifest(manifest), str(manifest)
    features = FeatureStore(model.num_mels, model.window_s)
    samples = transcribe(model, features, utterances, batch_size=options.evaluation.batch_size)
    return {"test_is": test_is, **score(samples, seeds=Seeds(options.seed).at("bootstrap")).dump()}
