"""Runs a split experiment in which the client writes, in a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from sordino.data.texts import division
from sordino.errors import ConfigError
from sordino.evaluation.bleu import Bleu, bleu
from sordino.experiments.observer import Observer, Silent
from sordino.experiments.split.attacking import attack, empirical_privacy
from sordino.experiments.split.beginning import Begun, begin
from sordino.experiments.split.exchanging import exchanged
from sordino.experiments.split.finishing import common_result, times_drawn, times_written
from sordino.experiments.split.in_turn import compared, fit_in_turn
from sordino.experiments.split.material import Material, Texts
from sordino.experiments.split.staging import staged
from sordino.experiments.tasks.split_writing import SplitWritingExperiment
from sordino.seeds import Seeds
from sordino.split.embedding import ClientEmbedding
from sordino.split.fitting import FittedCorrector
from sordino.split.growing import require_growing
from sordino.split.keeping import save_corrector
from sordino.split.methods import Fitted
from sordino.split.sending import Sender
from sordino.split.tally import Tally
from sordino.split.written import FittedWriter, NextTokens

__all__ = ["run_split_writing"]

_CAVEATS: Final = ("when the writing after a text ends, which the server sees",)


def run_split_writing(
    options: SplitWritingExperiment, path: Path, *, resume: bool = False, observer: Observer | None = None
) -> dict[str, Any]:
    """Sends each text once, trains the methods, writes of the test texts, and scores what was written.

    Every token that a method writes with the server's help is sent, too, and charged; a run that goes on writes anew.

    Args:
        options: the experiment.
        path: where the run folder is made.
        resume: go on in it: what was drawn is sent again as it was, and what was fetched is not asked for again.
        observer: is told the progress.

    Returns:
        What ``sordino run --json`` prints.

    Raises:
        ConfigError: ``path`` is taken, or holds no run to resume; no such model, server or texts.
    """
    with begin(options, path, deal=_dealt, caveats=_CAVEATS, resume=resume) as begun:
        return begun.finish(_run(options, begun, observer=observer or Silent()))


def _dealt(options: SplitWritingExperiment) -> Texts:
    """The texts by set; there are no labels to tell apart."""
    data = options.data
    examples = list(data.texts.read())
    if not all(example.target.strip() for example in examples):
        raise ConfigError(
            f'data.texts = "{data.texts.name}": expected something to write of every text; name a set with targets, such as '
            "samsum, cnn-dailymail or iwslt."
        )
    sizes = {"train": data.train, "test": data.test, "public": data.public}
    return Texts(sets=division(examples, sizes=sizes, seeds=Seeds(options.seed)), labels=())


def _run(options: SplitWritingExperiment, begun: Begun, *, observer: Observer) -> dict[str, Any]:
    seeds, served, sender, embedding = Seeds(options.seed), begun.served, begun.sender, begun.embedding
    material = _material(options, begun, seeds=seeds)
    scene = staged(options, material, served, readout=NextTokens(embedding.table), sender=sender, observer=observer)
    require_growing(served.server.describe(), scene.layers, reduction=scene.reduction)
    fitted = fit_in_turn(options.methods[: options.num_steps], scene, observer=observer)
    first = fitted[options.methods[0].name][0]
    assert isinstance(first, FittedCorrector)  # noqa: S101 - methods with a linear head were refused
    save_corrector(
        begun.folder.model,
        first,
        labels=(),
        max_tokens=options.data.max_tokens,
        max_written=options.data.max_written,
    )
    attacks: dict[str, Any] = {}
    methods: dict[str, Any] = {}
    if options.telemetry == "debug":
        attacks = attack(options.attacks, begun.texts, material, embedding=embedding, sender=sender, seeds=seeds)
        draws = times_drawn(sender)
        methods = compared(
            options.methods,
            _writers(options, fitted, sender, embedding),
            material.shown("test", options.methods),
            judge=_TextJudge(embedding, [example.target for example in begun.texts.sets["test"]], seeds),
            privacy=lambda method, _: empirical_privacy(attacks, sees=method.sees, draws=draws, gradients=False),
        )
    said = common_result(served, sender, material, place=options.server.place, layers=scene.layers, folder=begun.folder)
    return {
        "task": options.task,
        "run": str(begun.folder.path),
        "methods": methods,
        "attacks": attacks,
        "written": times_written(sender),
        **said,
    }


def _material(options: SplitWritingExperiment, begun: Begun, *, seeds: Seeds) -> Material:
    """Training texts with what is to be written of them; of the others the texts alone."""
    data = options.data
    whole = {
        name: begun.embedding.encode_tasks(examples, max_tokens=data.max_tokens, max_written=data.max_written)
        for name, examples in begun.texts.sets.items()
    }
    sequences = {name: one if name == "train" else one.prompts for name, one in whole.items()}
    rows = {name: begun.embedding.rows(one) for name, one in sequences.items()}
    made = exchanged(sequences, rows, begun.served, sender=begun.sender, seeds=seeds, folder=begun.kept)
    return Material(
        sequences=sequences, noised=made.noised, clean=made.clean, rows=made.rows, noised_rows=made.noised_rows
    )


def _writers(
    options: SplitWritingExperiment,
    fitted: dict[str, tuple[Fitted, float]],
    sender: Sender,
    embedding: ClientEmbedding,
) -> dict[str, tuple[Fitted, float]]:
    """What was fitted, ready to write: with noise where the server sees it, and in the client's own process elsewhere."""
    writers: dict[str, tuple[Fitted, float]] = {}
    for method in options.methods:
        model, seconds = fitted[method.name]
        assert isinstance(model, FittedCorrector)  # noqa: S101 - methods with a linear head were refused
        writer = FittedWriter(
            fitted=model,
            say=sender.written if method.sees == "noised" else torch.clone,
            tally=sender.tally if method.sees == "noised" else Tally(),
            end=embedding.tokenizer.eos_token_id,
            most=options.data.max_written,
        )
        writers[method.name] = (writer, seconds)
    return writers


@dataclass(frozen=True)
class _TextJudge:
    """Scores written texts by what they should be."""

    embedding: ClientEmbedding
    references: Sequence[str]
    seeds: Seeds

    def __call__(self, written: torch.Tensor) -> Bleu:
        texts = [self.embedding.tokenizer.decode(row, skip_special_tokens=True).strip() for row in written.tolist()]
        return bleu(texts, self.references, seeds=self.seeds)
