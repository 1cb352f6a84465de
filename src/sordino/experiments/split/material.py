"""The texts of an experiment as client and server know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sordino.data.texts import Example, division
from sordino.errors import ConfigError
from sordino.experiments.split.exchanging import PRIVATE, Exchanged, exchanged
from sordino.experiments.split.serving import Served
from sordino.experiments.tasks.split import SplitExperiment
from sordino.seeds import Seeds
from sordino.split.embedding import ClientEmbedding
from sordino.split.sending import Sender
from sordino.split.sequences import Sequences

__all__ = ["Material", "Texts", "divided", "exchanges"]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Examples by set, and the labels that there are."""

    sets: Mapping[str, Sequence[Example]]
    labels: tuple[str, ...]

    @property
    def num_private(self) -> int:
        """Texts that noise protects."""
        return sum(len(self.sets[name]) for name in PRIVATE)


@dataclass(frozen=True, kw_only=True)
class Material(Exchanged):
    """What is exchanged of texts.

    Attributes:
        sequences: tokens of ``train``, ``test`` and ``public``.
    """

    sequences: Mapping[str, Sequences]


def divided(options: SplitExperiment) -> Texts:
    """Reads the texts and deals them out.

    Raises:
        ConfigError: the set has no labels.
        DataError: too few texts, or damaged ones.
    """
    sizes = {"train": options.data.train, "test": options.data.test, "public": options.data.public}
    sets = division(list(options.data.texts.read()), sizes=sizes, seeds=Seeds(options.seed))
    labels = tuple(sorted({example.label for example in sets["train"]}))
    if len(labels) < 2:
        raise ConfigError(
            f'data.texts = "{options.data.texts.name}": expected at least two labels to tell apart, found {list(labels)}; '
            "name a text set with labels."
        )
    return Texts(sets=sets, labels=labels)


def exchanges(
    options: SplitExperiment, texts: Texts, served: Served, *, embedding: ClientEmbedding, sender: Sender, folder: Path
) -> Material:
    """Draws the noise of all private texts, once, and makes the exchanges.

    Args:
        options: the experiment.
        texts: by set.
        served: the server.
        embedding: the client's table.
        sender: pays.
        folder: states are kept here.
    """
    sequences = {
        name: embedding.encode(
            examples, labels=texts.labels if name in PRIVATE else (), max_tokens=options.data.max_tokens
        )
        for name, examples in texts.sets.items()
    }
    rows = {name: embedding.rows(tokens) for name, tokens in sequences.items()}
    made = exchanged(sequences, rows, served, sender=sender, seeds=Seeds(options.seed), folder=folder)
    return Material(
        sequences=sequences, noised=made.noised, clean=made.clean, rows=made.rows, noised_rows=made.noised_rows
    )
