"""What several runs of one process need only once: corpora, log-mels, and the untouched model's transcripts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from sordino.config import dump
from sordino.data import Corpus, FeatureStore, Splits, Utterance
from sordino.data.shelf import Shelf
from sordino.evaluation import Sample, normalise
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.models import SpeechLLM

__all__ = ["Shared"]


@dataclass(frozen=True)
class Shared:
    """A store for one process; each thing is made when it is first asked for.

    Attributes:
        transcripts: what untouched models wrote, by `origin`.
    """

    transcripts: dict[str, list[Sample]] = field(default_factory=dict)
    _splits: dict[str, Splits] = field(default_factory=dict)
    _features: dict[tuple[str, int, float, float, float], FeatureStore] = field(default_factory=dict)

    def splits(self, corpus: Corpus, window_s: float) -> Splits:
        """The corpus for a window, its training transcripts normalised."""
        key = _fingerprint(corpus, window_s)
        if key not in self._splits:
            splits = corpus.load(window_s)
            self._splits[key] = replace(splits, train=tuple(_normalised(utterance) for utterance in splits.train))
        return self._splits[key]

    def features(self, corpus: Corpus, model: SpeechLLM, *, limit_mb: float, disk_mb: float = 0) -> FeatureStore:
        """The log-mels that a model wants of a corpus, or what its frozen encoder makes of them."""
        key = (_fingerprint(corpus), model.num_mels, model.window_s, limit_mb, disk_mb)
        if key not in self._features:
            shelf = Shelf(int(disk_mb * 1e6)) if disk_mb else None
            self._features[key] = FeatureStore(model.num_mels, model.window_s, limit_mb=limit_mb, shelf=shelf)
        return self._features[key]

    @staticmethod
    def origin(options: FederatedExperiment) -> str:
        """Names the model before the first round, and the test clips: whatever makes its first measurement what it is."""
        return _fingerprint(options.model, options.data, options.seed)


def _fingerprint(*parts: Any) -> str:
    return json.dumps(
        [
            {"type": type(part).__qualname__, **dump(part)} if hasattr(part, "__dataclass_fields__") else part
            for part in parts
        ],
        sort_keys=True,
    )


def _normalised(utterance: Utterance) -> Utterance:
    return replace(utterance, text=normalise(utterance.text, utterance.language))
