"""The report: one HTML file with everything in it, readable without a network, without scripts, on a phone and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote

from sordino.errors import ConfigError
from sordino.records import RunFolder, replace_file
from sordino.reporting.audit import holds_audit, read_audit
from sordino.reporting.comparison_folder import holds_comparison, read_comparison
from sordino.reporting.comparison_view import ComparisonView
from sordino.reporting.differences import Difference, difference
from sordino.reporting.examples import RULE, ExampleGroup, choose_examples
from sordino.reporting.figures import (
    Plate,
    clip_rates,
    clip_ratios,
    epsilon_by_round,
    norms_by_group,
    norms_by_round,
    signal_to_noise,
    training_loss,
    wer_against_epsilon,
    wer_by_group,
    wer_by_round,
)
from sordino.reporting.groups import GroupRate, by_language, by_speaker
from sordino.reporting.guarantee import Guarantee, guarantee_of
from sordino.reporting.reading import read_runs
from sordino.reporting.runs import Run
from sordino.reporting.summaries import summarise
from sordino.reporting.sweep import holds_sweep, read_sweep
from sordino.reporting.tables import Table
from sordino.reporting.templating import template

__all__ = ["write_report"]


def write_report(folders: Sequence[Path], path: Path, *, figures: Path | None = None) -> list[Path]:
    """Writes the report of one run, of several side by side, of a comparison, of a sweep, or of an audit.

    Args:
        folders: run folders, finished or not; the first of several is what the others are compared with. Or the folder of
            one comparison, sweep or audit.
        path: the HTML file.
        figures: folder for each figure as SVG and PDF too, and for a comparison's table as LaTeX and Markdown.

    Returns:
        The files in it.

    Raises:
        ConfigError: no folder, the same one twice, one that holds no run, or one with a page of its own beside others.
        DataError: a damaged file.
    """
    _refuse_repetitions(folders)
    page = _lone_page(folders) or _runs_page(folders)
    replace_file(path, page.html.encode())
    if figures is None:
        return []
    files = [file for plate in page.plates for file in plate.write(figures)]
    return files + [file for table in page.tables for file in table.write(figures)]


@dataclass(frozen=True, slots=True)
class _Page:
    html: str
    plates: Sequence[Plate]
    tables: Sequence[Table] = ()


def _lone_page(folders: Sequence[Path]) -> _Page | None:
    """The page of a comparison, a sweep or an audit; None if the folders are of runs."""
    kinds = {
        "a comparison": (holds_comparison, _comparison_page),
        "a sweep": (holds_sweep, _sweep_page),
        "an audit": (holds_audit, _audit_page),
    }
    for kind, (holds, page) in kinds.items():
        held = [folder for folder in folders if holds(folder)]
        if held and len(folders) > 1:
            raise ConfigError(
                f"{held[0]} holds {kind}, which has a page of its own; name it alone, or name run folders."
            )
        if held:
            return page(held[0])
    return None


def _audit_page(folder: Path) -> _Page:
    audit = read_audit(folder)
    return _Page(template("audit.html").render(title=audit.label, audit=audit), [], [audit.table])


def _sweep_page(folder: Path) -> _Page:
    sweep = read_sweep(folder)
    return _Page(template("sweep.html").render(title=sweep.label, sweep=sweep), [], [sweep.table])


def _comparison_page(folder: Path) -> _Page:
    view = ComparisonView(read_comparison(folder))
    html = template("comparison.html").render(title=view.comparison.label, view=view, comparison=view.comparison)
    return _Page(html, view.plates, [view.table])


def _runs_page(folders: Sequence[Path]) -> _Page:
    views = [RunView(run) for run in read_runs(folders)]
    others = [view.run for view in views if view.run.task != "federated"]
    if others and len(views) > 1:
        raise ConfigError(
            f'{others[0].path} holds a run with task = "{others[0].task}", which has a page of its own; name it alone.'
        )
    if others:
        return _summary_page(others[0])
    if len(views) == 1:
        view = views[0]
        return _Page(template("run.html").render(title=view.run.label, view=view, rule=RULE), view.plates)
    compared = ComparedRuns(views)
    html = template("runs.html").render(title=f"{len(views)} runs side by side", compared=compared)
    return _Page(html, compared.plates)


def _summary_page(run: Run) -> _Page:
    if not (folder := RunFolder.open(run.path)).result.is_file():
        raise ConfigError(
            f"{run.path} is not finished; continue it with: sordino run --resume --out {quote(str(run.path))}"
        )
    view, summary = RunView(run), summarise(folder)
    return _Page(
        template("summary.html").render(title=run.label, view=view, summary=summary), summary.plates, summary.tables
    )


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
        figures = (training_loss, norms_by_round, clip_rates, clip_ratios, signal_to_noise, norms_by_group)
        plates = [figure(self.run) for figure in figures]
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
