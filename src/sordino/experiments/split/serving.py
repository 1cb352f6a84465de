"""The large model of an experiment, wherever it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sordino.data.texts import Example
from sordino.errors import ConfigError
from sordino.experiments.tasks.divided import SplitServer
from sordino.experiments.tasks.split import SplitExperiment
from sordino.split import LocalStates, StateServer
from sordino.split.tiny_model import save_tiny_model

__all__ = ["Served", "model_source", "serving", "serving_model"]

_TINY = "server-model"


@dataclass
class Served:
    """A server, and where its model comes from.

    Attributes:
        source: folder or hub id; the client reads its own part there.
        server: answers.
        client_layers: layers of a Whisper that the client keeps.
    """

    source: str
    server: StateServer
    client_layers: int = 0

    @cached_property
    def local(self) -> LocalStates:
        """The model in this process, for what its owner does (the layer filter) and for the reference without a server."""
        if isinstance(self.server, LocalStates):
            return self.server
        return LocalStates.load(self.source, client_layers=self.client_layers)

    @property
    def traffic(self) -> dict[str, Any] | None:
        """What went over the wire, counted; None where there is none."""
        traffic = getattr(self.server, "traffic", None)
        return None if traffic is None else dict(traffic.to_json())


@contextmanager
def serving(options: SplitExperiment, folder: Path, *, public: Sequence[Example]) -> Iterator[Served]:
    """The server of an experiment with texts, for as long as the context lasts.

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
    with serving_model(source, options.server) as served:
        yield served


@contextmanager
def serving_model(source: str, place: SplitServer, *, client_layers: int = 0) -> Iterator[Served]:
    """A model at the place that an experiment names.

    Args:
        source: folder or hub id.
        place: the ``[server]`` table.
        client_layers: layers of a Whisper that the client keeps; a remote server must have been started with as many.

    Raises:
        ConfigError: no such model or server, or one that is divided elsewhere.
    """
    if place.place == "in-process":
        yield Served(source, LocalStates.load(source, client_layers=client_layers), client_layers)
        return
    from sordino.split.wire import Endpoint, RemoteStates

    if place.place == "spawned":
        from sordino.split.wire.spawn import spawned

        arguments = ["--client-layers", str(client_layers)] if client_layers else []
        with spawned(source, *arguments) as process, RemoteStates(process.endpoint) as remote:
            yield Served(source, remote, client_layers)
        return
    endpoint = Endpoint(address=place.address, authority=place.authority, token=place.token, insecure=place.insecure)
    with RemoteStates(endpoint) as remote:
        if remote.describe().client_layers != client_layers:
            raise ConfigError(
                f"{place.address} leaves {remote.describe().client_layers} layers to its clients: expected {client_layers}; "
                "set model.client_layers to that number, or find another server."
            )
        yield Served(source, remote, client_layers)


def model_source(options: SplitExperiment, folder: Path) -> str:
    """Folder or hub id of a run's model; a tiny one is in the run's folder."""
    return str(folder / _TINY) if options.model.source == "tiny" else options.model.source
