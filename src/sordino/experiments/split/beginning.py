"""How every run in which texts are sent begins: its folder, its texts, a server, and the one door to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from sordino.config import to_toml
from sordino.errors import ConfigError
from sordino.experiments.measuring import versions
from sordino.experiments.split.material import Texts
from sordino.experiments.split.paying import sender_of, terms_of
from sordino.experiments.split.returning import require_returned
from sordino.experiments.split.serving import Served, serving
from sordino.experiments.tasks.split import SplitExperiment
from sordino.models.checkpoints import read_config
from sordino.privacy import Ledger
from sordino.records import RunFolder
from sordino.split.embedding import ClientEmbedding
from sordino.split.sending import Sender

__all__ = ["Begun", "begin"]

OptionsT = TypeVar("OptionsT", bound=SplitExperiment)


@dataclass(frozen=True, kw_only=True)
class Begun:
    """What a run has to work with.

    Attributes:
        folder: of the run.
        texts: dealt out.
        served: the server.
        embedding: the client's table.
        sender: pays for all that is sent.
        started: when the run began.
    """

    folder: RunFolder
    texts: Texts
    served: Served
    embedding: ClientEmbedding
    sender: Sender
    started: float

    @property
    def kept(self) -> Path:
        """Where draws and states are kept."""
        return self.folder.path / "exchange"

    def finish(self, result: dict[str, Any]) -> dict[str, Any]:
        """Writes ``result.json``, and returns what ``sordino run --json`` prints."""
        result = {**result, "seconds": round(time.monotonic() - self.started, 1)}
        self.folder.write_json(self.folder.result, {**result, "versions": versions()})
        return result


@contextmanager
def begin(
    options: OptionsT,
    path: Path,
    *,
    deal: Callable[[OptionsT], Texts],
    caveats: Sequence[str] = (),
    resume: bool = False,
) -> Iterator[Begun]:
    """Claims the folder, deals out the texts, finds the server and opens the ledger, for as long as the context lasts.

    Args:
        options: the experiment.
        path: where the run folder is made.
        deal: reads the texts; before a folder is made.
        caveats: what no noise covers in this kind of run, besides what none does in any.
        resume: go on in the folder: what was drawn is sent again as it was, and what was fetched is not asked for again.

    Raises:
        ConfigError: ``path`` is taken, or holds no run to resume; no such model, server or texts.
    """
    started = time.monotonic()
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    folder = RunFolder.claim(path, resume=resume)
    texts = deal(options)
    if options.model.source != "tiny":
        read_config("model.source", options.model.source)  # before a folder is made for a model that is not there
    terms = terms_of(
        options, population=texts.num_private, of="texts", size="how many tokens each has", caveats=caveats
    )
    folder.begin(config=to_toml(options))
    with serving(options, path, public=texts.sets["public"]) as served:
        try:
            require_returned(options.model, served.server.describe())
        except ConfigError:
            if not resume:
                folder.withdraw()
            raise
        with Ledger(folder.ledger, terms=terms) as ledger:
            embedding = ClientEmbedding.load(served.source)
            space, kept = embedding.space(options.longest), folder.path / "exchange"
            sender = sender_of(options, space=space, ledger=ledger, folder=kept)
            yield Begun(folder=folder, texts=texts, served=served, embedding=embedding, sender=sender, started=started)
