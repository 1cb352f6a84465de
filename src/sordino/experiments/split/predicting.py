"""New texts through a finished split run: noised and paid for, sent once, and told by the client's network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sordino.data.texts import Example
from sordino.errors import ConfigError, DataError
from sordino.experiments.loading import load_experiment
from sordino.experiments.split.serving import Served, model_source, serving
from sordino.experiments.tasks.split import SplitExperiment, SplitServer
from sordino.privacy import Ledger, NoiseSource, make_statement
from sordino.privacy.ledger import read_ledger
from sordino.records import RunFolder
from sordino.seeds import Seeds
from sordino.split.embedding import ClientEmbedding
from sordino.split.exchange import Exchange
from sordino.split.keeping import load_corrector
from sordino.split.noise.base import Unit
from sordino.split.sending import Sender

__all__ = ["predict_split"]


def predict_split(run: Path, texts: Sequence[str], *, server: SplitServer | None = None) -> dict[str, Any]:
    """Labels of new texts. Every call draws noise anew, and charges it to the run's ledger.

    Args:
        run: folder of a finished run whose first method sees hidden states.
        texts: what to label.
        server: where the model is now; None for where the run had it.

    Returns:
        ``predictions`` (text, label, scores by label), ``guarantees`` of one draw, ``draws`` in the ledger, ``wire``.

    Raises:
        ConfigError: no such run, or another model is served than the run's.
        DataError: a text that is empty.
        PrivacyError: the ledger is in use or damaged.
    """
    folder = RunFolder.open(run)
    options = load_experiment(folder.config)
    if not isinstance(options, SplitExperiment) or options.task != "split":
        raise ConfigError(f'{run} is a run of task = "{options.name}"; name the folder of a split run.')
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise DataError(f"text {number} of {len(texts)} is empty; leave it out.")
    terms, _ = read_ledger(folder.ledger)
    with _served(options, run, server) as served, Ledger(folder.ledger, terms=terms) as ledger:
        kept = load_corrector(folder.model, server=served.server)
        embedding = ClientEmbedding.load(served.source)
        sequences = embedding.encode([Example(text=text) for text in texts], labels=(), max_tokens=kept.max_tokens)
        rows = embedding.rows(sequences)
        sender = Sender(
            noise=options.privacy.noise,
            space=embedding.space(options.data.max_tokens),
            unit=options.privacy.unit,
            ledger=ledger,
            source=NoiseSource(Seeds(options.seed).at("noise") if options.simulation.seeded else None),
        )
        noised = sender.again({"new": rows}, draw=len(ledger.charges) + 1)["new"]
        folder.write_json(folder.privacy, make_statement(ledger.terms, ledger.events).to_json())
        exchange = Exchange(sequences, clean=rows, noised=noised, server=served.server)
        scores = kept.fitted.scores(exchange).tolist()
        units: tuple[Unit, ...] = ("token", "sequence")
        once = {unit: sender.noise.guarantee(unit, space=sender.space, draws=1, delta=terms.delta) for unit in units}
        return {
            "predictions": [
                {"text": text, "label": _best(row, kept.labels), "scores": dict(zip(kept.labels, row, strict=True))}
                for text, row in zip(texts, scores, strict=True)
            ],
            "guarantees": {unit: guarantee.to_json() for unit, guarantee in once.items()},
            "draws": len(ledger.charges),
            "wire": served.traffic,
        }


def _best(row: Sequence[float], labels: Sequence[str]) -> str:
    return max(zip(row, labels, strict=True))[1]


@contextmanager
def _served(options: SplitExperiment, run: Path, server: SplitServer | None) -> Iterator[Served]:
    """Where the model is: the run's own place, or the one that is named now."""
    if server is None:
        with serving(options, run, public=()) as served:
            yield served
        return
    named = replace(
        options, server=server, model=replace(options.model, source=model_source(options, run), layers=(1,))
    )
    with serving(named, run, public=()) as served:
        yield served
