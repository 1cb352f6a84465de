"""New texts through a finished split run: noised and paid for, sent once, and told by the client's network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sordino.data.texts import Example
from sordino.errors import ConfigError, DataError
from sordino.experiments.loading import load_experiment
from sordino.experiments.split.finishing import times_written
from sordino.experiments.split.paying import sender_of
from sordino.experiments.split.serving import Served, model_source, serving
from sordino.experiments.tasks.divided import SplitServer
from sordino.experiments.tasks.split import SplitExperiment
from sordino.privacy import Ledger, make_statement
from sordino.privacy.ledger import read_ledger
from sordino.records import RunFolder
from sordino.split.embedding import ClientEmbedding
from sordino.split.exchange import Exchange
from sordino.split.keeping import load_corrector
from sordino.split.noise.base import Unit
from sordino.split.sending import Sender
from sordino.split.sequences import Sequences
from sordino.split.written import FittedWriter

__all__ = ["predict_split", "predict_split_writing"]


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
    with _continued(run, texts, task="split", server=server) as later:
        kept = load_corrector(later.folder.model, server=later.served.server)
        examples = [Example(text=text) for text in texts]
        exchange = later.sent(later.embedding.encode(examples, labels=(), max_tokens=kept.max_tokens))
        scores = kept.fitted.scores(exchange).tolist()
        predictions = [
            {"text": text, "label": _best(row, kept.labels), "scores": dict(zip(kept.labels, row, strict=True))}
            for text, row in zip(texts, scores, strict=True)
        ]
        return {"predictions": predictions, **later.told(written=0)}


def predict_split_writing(run: Path, texts: Sequence[str], *, server: SplitServer | None = None) -> dict[str, Any]:
    """Writes of new texts; see `predict_split`. Every token that is written and sent is charged to the run's ledger, too.

    Returns:
        ``predictions`` (text, written), ``guarantees`` of one draw and what was written, ``draws``, ``written``, ``wire``.
    """
    with _continued(run, texts, task="split-writing", server=server) as later:
        table, tokenizer = later.embedding.table, later.embedding.tokenizer
        kept = load_corrector(later.folder.model, server=later.served.server, table=table)
        examples = [Example(text=text) for text in texts]
        whole = later.embedding.encode_tasks(examples, max_tokens=kept.max_tokens, max_written=kept.max_written)
        writer = FittedWriter(
            fitted=kept.fitted,
            say=later.sender.written,
            tally=later.sender.tally,
            end=tokenizer.eos_token_id,
            most=kept.max_written,
        )
        before = times_written(later.sender)
        try:
            rows = writer.scores(later.sent(whole.prompts)).tolist()
        finally:
            later.state()
        written = [tokenizer.decode(row, skip_special_tokens=True).strip() for row in rows]
        predictions = [{"text": text, "written": one} for text, one in zip(texts, written, strict=True)]
        tokens = times_written(later.sender) - before
        return {"predictions": predictions, "written": tokens, **later.told(written=tokens)}


@dataclass(frozen=True, kw_only=True)
class _Later:
    """A finished run that is taken up for new texts."""

    folder: RunFolder
    served: Served
    embedding: ClientEmbedding
    sender: Sender

    def sent(self, sequences: Sequences) -> Exchange:
        """Draws noise on them, and pays."""
        rows = self.embedding.rows(sequences)
        noised = self.sender.again({"new": rows}, draw=len(self.sender.ledger.charges) + 1)["new"]
        self.state()
        return Exchange(sequences, clean=rows, noised=noised, server=self.served.server)

    def state(self) -> None:
        """Writes what the run's guarantee is now."""
        ledger = self.sender.ledger
        self.folder.write_json(self.folder.privacy, make_statement(ledger.terms, ledger.events).to_json())

    def told(self, *, written: int) -> dict[str, Any]:
        """What this call cost, and what went over the wire."""
        units: tuple[Unit, ...] = ("token", "sequence")
        sender, delta = self.sender, self.sender.ledger.terms.delta
        once = {
            unit: sender.noise.guarantee(unit, space=sender.space, draws=1, delta=delta, written=written)
            for unit in units
        }
        return {
            "guarantees": {unit: guarantee.to_json() for unit, guarantee in once.items()},
            "draws": len(sender.ledger.charges),
            "wire": self.served.traffic,
        }


@contextmanager
def _continued(run: Path, texts: Sequence[str], *, task: str, server: SplitServer | None) -> Iterator[_Later]:
    folder = RunFolder.open(run)
    options = load_experiment(folder.config)
    if not isinstance(options, SplitExperiment) or options.task != task:
        raise ConfigError(f'{run} is a run of task = "{options.name}"; name the folder of a run of task = "{task}".')
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            raise DataError(f"text {number} of {len(texts)} is empty; leave it out.")
    terms, _ = read_ledger(folder.ledger)
    with _served(options, run, server) as served, Ledger(folder.ledger, terms=terms) as ledger:
        embedding = ClientEmbedding.load(served.source)
        sender = sender_of(options, space=embedding.space(options.longest), ledger=ledger)
        yield _Later(folder=folder, served=served, embedding=embedding, sender=sender)


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
