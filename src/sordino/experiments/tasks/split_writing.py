"""The experiment file of split learning where the client writes: summaries or translations of private texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sordino._check import at_least
from sordino.config import Choice, option
from sordino.errors import ConfigError
from sordino.experiments.tasks.base import TASKS
from sordino.experiments.tasks.split import SplitData, SplitExperiment, SplitPrivacy
from sordino.privacy import MetricRelease
from sordino.split.methods import METHODS, SplitMethod
from sordino.split.noise import Gaussian, Space

if TYPE_CHECKING:
    from sordino.experiments.observer import Observer

__all__ = ["SplitWritingExperiment", "WritingData"]

_DEFAULT_METHODS = ("hidden-echo", "zero-states", "clean-states")


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingData(SplitData):
    """Whose texts, and what is written of them."""

    max_written: int = option(
        "At most so many tokens are written of a text, its end included; each that the server sees costs a draw.", 16
    )

    def __post_init__(self) -> None:
        SplitData.__post_init__(self)
        at_least("data.max_tokens", self.max_tokens, 2)
        at_least("data.max_written", self.max_written, 2)


@TASKS.register("split-writing")
@dataclass(frozen=True, slots=True, kw_only=True)
class SplitWritingExperiment(SplitExperiment):
    """A client writes of private texts with a large model that is elsewhere, and corrects the noise that protects them."""

    task: Literal["split-writing"] = option("What kind of experiment this is.", "split-writing")  # type: ignore[assignment]
    data: WritingData = option("The texts, with what is to be written of each.")
    methods: tuple[Annotated[SplitMethod, Choice(METHODS)], ...] = option(
        "What is trained and compared: methods with a side network of the client's; the first one is kept.",
        factory=lambda: tuple(METHODS.get(name)() for name in _DEFAULT_METHODS),
    )
    privacy: SplitPrivacy = option("The guarantee.", factory=lambda: SplitPrivacy(noise=Gaussian()))

    def __post_init__(self) -> None:
        SplitExperiment.__post_init__(self)
        if self.training.trains_server:
            raise ConfigError(
                f'training = "{self.training.name}" with task = "{self.name}": expected "client-only", since texts do not '
                'grow at a server that learns; set training = "client-only".'
            )
        unable = [method.name for method in self.methods if method.linear]
        if unable:
            raise ConfigError(
                f'methods = {unable!r} with task = "{self.name}": a linear head on finished states cannot write; expected '
                "methods with a side network of the client's, such as hidden-echo, zero-states and clean-states."
            )
        noise = self.privacy.noise
        if isinstance(noise.event("token", space=Space(width=2, radius=1.0, max_tokens=1)), MetricRelease):
            raise ConfigError(
                f'privacy.noise = "{noise.name}" with task = "{self.name}": it bounds a token by how near another is, and '
                'what is written follows the text in leaps; expected noise that bounds any two tokens: use "gaussian".'
            )

    @property
    def longest(self) -> int:
        """A text and what is written of it."""
        return self.data.max_tokens + self.data.max_written

    def run(self, path: Path, *, resume: bool = False, observer: Observer | None = None) -> dict[str, Any]:
        """See `sordino.experiments.split.run_split_writing`."""
        from sordino.experiments.split import run_split_writing

        return run_split_writing(self, path, resume=resume, observer=observer)
