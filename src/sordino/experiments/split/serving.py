"""The large model of an experiment, wherever it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sordino.data.texts import Example
from sordino.experiments.tasks.split import SplitExperiment
from sordino.split import LocalStates, StateServer
from sordino.split.tiny_model import save_tiny_model

__all__ = ["Served", "model_source", "serving"]

_TINY = "server-model"


@dataclass
class Served:
    """A server, and where its model comes from.

    Attributes:
        source: folder or hub id; the client reads its embedding table there.
        server: answers.
    """

    source: str
    server: StateServer

    @cached_property
    def local(self) -> LocalStates:
        """The model in this process, for what its owner does (the layer filter) and for the reference without a server."""
        return self.server if isinstance(self.server, LocalStates) else LocalStates.load(self.source)

    @property
    def traffic(self) -> dict[str, Any] | None:
        """What went over the wire, counted; None where there is none."""
        traffic = getattr(self.server, "traffic", None)
        return None if traffic is None else dict(traffic.to_json())


@contextmanager
def serving(options: SplitExperiment, folder: Path, *, public: Sequence[Example]) -> Iterator[Served]:
    """The server of an experiment, for as long as the context lasts.

    Args:
        options: the experiment.
        folder: of the run; a tiny model is made in it.
        public: texts from which a tiny model's tokenizer learns.

    Raises:
        ConfigError: no such model or server.
    """
    source = model_source(options, folder)
    if options.model.source == "tiny" and not Path(source).is_dir():
        save_tiny_model(Path(source), texts=[example.text for example in public], seed=options.seed)
    if options.server.place == "in-process":
        yield Served(source, LocalStates.load(source))
        return
    from sordino.split.wire import Endpoint, RemoteStates

    if options.server.place == "spawned":
        from sordino.split.wire.spawn import spawned

        with spawned(source) as process, RemoteStates(process.endpoint) as remote:
            yield Served(source, remote)
        return
    place = options.server
    endpoint = Endpoint(address=place.address, authority=place.authority, token=place.token, insecure=place.insecure)
    with RemoteStates(endpoint) as remote:
        yield Served(source, remote)


def model_source(options: SplitExperiment, folder: Path) -> str:
    """Folder or hub id of a run's model; a tiny one is in the run's folder."""
    return str(folder / _TINY) if options.model.source == "tiny" else options.model.source
