"""The texts of an experiment as client and server know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from sordino.data.texts import Example, division
from sordino.errors import ConfigError
from sordino.experiments.split.serving import Served
from sordino.experiments.tasks.split import SplitExperiment
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds
from sordino.split.embedding import ClientEmbedding
from sordino.split.exchange import Exchange
from sordino.split.layer_filter import contributions, strongest
from sordino.split.sending import Sender
from sordino.split.sequences import Sequences

__all__ = ["Material", "Texts", "chosen_layers", "divided", "exchanges"]

PRIVATE = ("train", "test")


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
class Material:
    """Everything that is exchanged, by set; nothing is fetched before it is asked for.

    Attributes:
        sequences: tokens of ``train``, ``test`` and ``public``.
        noised: what the server gets of private texts, and of public ones as a client would noise them.
        clean: public texts as they are, from the server; private ones from the model in the client's own process.
        rows: clean embeddings of all tokens.
        noised_rows: the same, noised.
    """

    sequences: Mapping[str, Sequences]
    noised: Mapping[str, Exchange]
    clean: Mapping[str, Exchange]
    rows: Mapping[str, torch.Tensor]
    noised_rows: Mapping[str, torch.Tensor]


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
    stream = NoiseSource(Seeds(options.seed)).stream("public")
    rehearsed = sender.noise.rehearse(rows["public"].numpy(), space=sender.space, stream=stream)
    noised = {**sender.once({name: rows[name] for name in PRIVATE}), "public": torch.from_numpy(rehearsed)}
    return Material(
        sequences=sequences,
        noised={
            name: Exchange(
                tokens, clean=rows[name], noised=noised[name], server=served.server, folder=_made(folder / name)
            )
            for name, tokens in sequences.items()
        },
        clean={
            name: Exchange(
                tokens,
                clean=rows[name],
                noised=rows[name],
                server=served.server if name == "public" else _Local(served),
            )
            for name, tokens in sequences.items()
        },
        rows=rows,
        noised_rows=noised,
    )


class _Local:
    """The model in this process, loaded when it is first asked."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.describe = served.server.describe

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        """See `StateServer.states`."""
        return self._served.local.states(noised, mask, layers=layers, reduction=reduction)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def chosen_layers(options: SplitExperiment, served: Served, train: Exchange) -> tuple[int, ...]:
    """The blocks that come back: those given, or the strongest by integrated gradients on noised training texts."""
    if options.model.layers is not None:
        served.server.describe().require_layers(options.model.layers, reduction=options.model.reduction)
        return options.model.layers
    mask = train.mask[: options.model.calibration]
    longest = int(mask.sum(dim=1).max())
    figures = contributions(served.local, train.noised[: options.model.calibration, :longest], mask[:, :longest])
    return strongest(figures, keep=options.model.keep)
