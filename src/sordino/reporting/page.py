"""The report: one HTML file with everything in it, readable without a network, without scripts, on a phone and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from sordino import __version__
from sordino.errors import ConfigError
from sordino.records import replace_file
from sordino.reporting import formatting
from sordino.reporting.comparison import Difference, difference
from sordino.reporting.examples import RULE, ExampleGroup, choose_examples
from sordino.reporting.figures import (
    Plate,
    clip_rates,
    epsilon_by_round,
    norms_by_group,
    norms_by_round,
    training_loss,
    wer_against_epsilon,
    wer_by_group,
    wer_by_round,
)
from sordino.reporting.groups import GroupRate, by_language, by_speaker
from sordino.reporting.guarantee import Guarantee, guarantee_of
from sordino.reporting.reading import read_runs
from sordino.reporting.runs import Run

__all__ = ["write_report"]


def write_report(folders: Sequence[Path], path: Path, *, figures: Path | None = None) -> list[Path]:
    """Writes the report of one run, or of several side by side.

    Args:
        folders: run folders, finished or not; the first of several is what the others are compared with.
        path: the HTML file.
        figures: folder for each figure as SVG and PDF too.

    Returns:
        The figures' files.

    Raises:
        ConfigError: no folder, the same one twice, or one that holds no run.
        DataError: a damaged file.
    """
    _refuse_repetitions(folders)
    views = [RunView(run) for run in read_runs(folders)]
    if len(views) == 1:
        view, plates = views[0], views[0].plates
        html = _template("run.html").render(title=view.run.label, view=view, rule=RULE)
    else:
        compared = ComparedRuns(views)
        plates = compared.plates
        html = _template("runs.html").render(title=f"{len(views)} runs side by side", compared=compared)
    replace_file(path, html.encode())
    return [file for plate in plates for file in plate.write(figures)] if figures is not None else []


def _refuse_repetitions(folders: Sequence[Path]) -> None:
    resolved = [folder.resolve() for folder in folders]
    if not resolved:
        raise ConfigError("no run folder was given: expected at least one; name the folder that sordino run printed.")
    for index, folder in enumerate(resolved):
        if folder in resolved[:index]:
            raise ConfigError(f"{folders[index]} is named twice: expected different runs; name each folder once.")


@dataclass(frozen=True)
class RunView:
    """What the templates show of one run; figures are drawn when first asked for."""

    run: Run

    @cached_property
    def guarantee(self) -> Guarantee | None:
        return guarantee_of(self.run)

    @property
    def noise_multiplier(self) -> float | None:
        """Z of all releases, if they have one and share it."""
        releases = () if self.run.statement is None else self.run.statement.releases
        multipliers = {event.get("noise_multiplier") for event, _ in releases}
        return multipliers.pop() if len(multipliers) == 1 else None

    @cached_property
    def speakers(self) -> list[GroupRate]:
        return by_speaker(self.run)

    @cached_property
    def languages(self) -> list[GroupRate]:
        return by_language(self.run)

    @cached_property
    def examples(self) -> list[ExampleGroup]:
        return choose_examples(self.run)

    @cached_property
    def epsilon_plate(self) -> Plate | None:
        return epsilon_by_round([self.run])

    @cached_property
    def rate_plate(self) -> Plate | None:
        return wer_by_round([self.run])

    @cached_property
    def language_plate(self) -> Plate | None:
        return wer_by_group(self.languages, kind="language", resampled="the speakers of a language")

    @cached_property
    def speaker_plate(self) -> Plate | None:
        return wer_by_group(self.speakers, kind="speaker", resampled="the clips of a speaker")

    @cached_property
    def telemetry_plates(self) -> list[Plate]:
        plates = (training_loss(self.run), norms_by_round(self.run), clip_rates(self.run), norms_by_group(self.run))
        return [plate for plate in plates if plate is not None]

    @property
    def plates(self) -> list[Plate]:
        first = (self.epsilon_plate, self.rate_plate, self.language_plate, self.speaker_plate)
        return [*(plate for plate in first if plate is not None), *self.telemetry_plates]


@dataclass(frozen=True)
class ComparedRuns:
    """What the templates show of several runs."""

    views: Sequence[RunView]

    @property
    def first(self) -> Run:
        return self.views[0].run

    @cached_property
    def differences(self) -> list[Difference]:
        """Of each run to the first, the first itself left out."""
        return [difference(view.run, self.first) for view in self.views[1:]]

    @property
    def test_sets(self) -> list[str]:
        return list(dict.fromkeys(view.run.test_is for view in self.views if view.run.test_is))

    @cached_property
    def plates(self) -> list[Plate]:
        runs = [view.run for view in self.views]
        plates = (wer_by_round(runs), wer_against_epsilon(runs), epsilon_by_round(runs))
        return [plate for plate in plates if plate is not None]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sordino.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in formatting.__all__:
        environment.filters[name] = getattr(formatting, name)
    environment.globals["version"] = __version__
    return environment


def _template(name: str) -> Template:
    return _environment().get_template(name)
