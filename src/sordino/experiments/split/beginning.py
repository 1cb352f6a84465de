"""How every run in which texts are sent begins: its folder, its texts, a server, and the one door to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import torch

from sordino.config import to_toml
from sordino.experiments.measuring import versions
from sordino.experiments.split.material import Texts
from sordino.experiments.split.serving import Served, serving
from sordino.experiments.tasks.split import SplitExperiment
from sordino.models.checkpoints import read_config
from sordino.privacy import Ledger, NoiseSource, Terms
from sordino.records import RunFolder
from sordino.seeds import Seeds
from sordino.split.embedding import ClientEmbedding
from sordino.split.sending import Sender
from sordino.split.tally import Tally

__all__ = ["Begun", "begin"]

OptionsT = TypeVar("OptionsT", bound=SplitExperiment)

_CAVEATS: Final = (
    "how many texts there are, and how many tokens each has, which the server sees",
    "what stays with the client (this run's folder, with a network trained on clean texts): the guarantee is against the "
    "server and whoever reads the wire",
)
_DEBUG: Final = "figures measured on private test texts (debug telemetry)"


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
    folder.begin(config=to_toml(options))
    with (
        serving(options, path, public=texts.sets["public"]) as served,
        Ledger(folder.ledger, terms=_terms(options, texts, caveats)) as ledger,
    ):
        embedding, kept = ClientEmbedding.load(served.source), folder.path / "exchange"
        sender = Sender(
            noise=options.privacy.noise,
            space=embedding.space(options.longest),
            unit=options.privacy.unit,
            ledger=ledger,
            source=NoiseSource(Seeds(options.seed).at("noise") if options.simulation.seeded else None),
            folder=kept,
            tally=Tally(kept / "beside.json"),
        )
        yield Begun(folder=folder, texts=texts, served=served, embedding=embedding, sender=sender, started=started)


def _terms(options: SplitExperiment, texts: Texts, caveats: Sequence[str]) -> Terms:
    return Terms(
        unit=options.privacy.unit,
        population=texts.num_private,
        clients_per_speaker=1,
        delta=options.privacy.delta,
        seeded=options.simulation.seeded,
        caveats=(*_CAVEATS, *caveats, *((_DEBUG,) if options.telemetry == "debug" else ())),
    )
