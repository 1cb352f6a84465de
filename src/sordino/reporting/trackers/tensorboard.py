"""TensorBoard's event files, written without a server and without torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sordino.errors import ConfigError
from sordino.reporting.trackers.base import TRACKERS, Tracked, Tracker

__all__ = ["TensorBoard"]

_SUFFIX: Final = ".sordino"
"""Ends the names of our event files, so that writing a run again replaces ours and nothing else."""


@TRACKERS.register("tensorboard")
@dataclass(frozen=True, slots=True)
class TensorBoard(Tracker):
    """Curves and texts of a run in ``FOLDER/LABEL``; look at them with ``tensorboard --logdir FOLDER``."""

    def write(self, run: Tracked, folder: Path) -> Path:
        """One event file a run."""
        try:
            from tensorboard.compat.proto.event_pb2 import Event
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError as error:
            raise ConfigError(
                f"tracker 'tensorboard' needs a package that is not installed ({error}); pip install 'sordino[track]'."
            ) from error
        target = folder / run.label
        for earlier in target.glob(f"events.out.tfevents.*{_SUFFIX}"):
            earlier.unlink()
        writer = EventFileWriter(str(target), filename_suffix=_SUFFIX)
        try:
            for point in run.points:
                value = Summary.Value(tag=point.name, simple_value=point.value)
                writer.add_event(Event(step=point.round, summary=Summary(value=[value])))
            for name, text in run.texts.items():
                writer.add_event(Event(summary=Summary(value=[_text(name, text)])))
        finally:
            writer.close()
        return target


def _text(name: str, text: str) -> Any:
    """A text that TensorBoard shows under Text, as it stands."""
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

    indented = "\n".join(f"    {line}" for line in text.splitlines())  # Markdown's form for verbatim text
    return Summary.Value(
        tag=name,
        metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text")),
        tensor=TensorProto(
            dtype="DT_STRING",
            string_val=[indented.encode()],
            tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
        ),
    )
