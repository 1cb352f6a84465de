"""The shipped example, made small: three speakers, two passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sordino.experiments.loading import load_experiment
from sordino.experiments.tasks.personalised import PersonalisedExperiment

EXAMPLE = Path(__file__).parents[3] / "examples" / "personalised.toml"
SMALL = (
    "data.corpus.speakers=1",
    "data.corpus.utterances_per_speaker=6",
    "data.corpus.test_utterances_per_speaker=3",
    "start.corpus.speakers=2",
    "start.corpus.utterances_per_speaker=6",
    "start.local.epochs=1",
    "federated.passes=3",
    "simulation.workers=1",
    "model.layers=2",
)


@pytest.fixture(scope="session")
def small() -> Callable[..., PersonalisedExperiment]:
    """The experiment with further overrides."""

    def load(*overrides: str, methods: Sequence[str] = ()) -> PersonalisedExperiment:
        options = load_experiment(EXAMPLE, [*SMALL, *overrides])
        assert isinstance(options, PersonalisedExperiment)
        return options

    return load
