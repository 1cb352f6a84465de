"""``sordino data``: make manifests of recordings, and look at them before training on them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.console import Json, print_json, stdout

if TYPE_CHECKING:
    from rich.console import Console

    from sordino.data import CensusRow, Division, ManifestReport, Prepared, Utterance

__all__ = ["app", "show_left_out", "summary"]

Splits = Mapping[str, Sequence["Utterance"]]

_SHOWN = 3
_BAR = 30

app = typer.Typer(help="Prepare and check recordings and manifests.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    pass


@app.command("prepare")
def prepare(
    kind: Annotated[str, typer.Argument(help="Layout of the recordings, e.g. folder; sordino list names all.")],
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Folder of the recordings, or a data set's id.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the manifest; the audio stays in SRC.")],
    *,
    test_speakers: Annotated[
        int | None, typer.Option("--test-speakers", help="Hold out this many speakers: train.jsonl and test.jsonl.")
    ] = None,
    test_fraction: Annotated[
        float | None,
        typer.Option("--test-fraction", help="Hold out this share of the speakers (of fewer than five: of the clips)."),
    ] = None,
    window_s: Annotated[
        float | None, typer.Option("--window", help="Leave out clips longer than this many seconds.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Read headers only: silence, copies and damage behind them pass unnoticed.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Option of the layout, e.g. --set language=en."),
    ] = None,
    plugins: Annotated[
        list[str] | None, typer.Option("--plugin", help="Module that registers layouts of its own.")
    ] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Make a manifest of recordings; whatever cannot be used is named and counted.

    Examples:
    sordino data prepare folder recordings/ prepared/ --test-speakers 4
    sordino data prepare mls mls_german/ prepared/ --window 30
    """
    from sordino._check import fraction, positive
    from sordino._registry import load_plugins
    from sordino.cli.tracking import tracked
    from sordino.config import build, parse_overrides
    from sordino.data import SOURCES, census, glance, listen, prepare, require_unwritten, splits_of, write_prepared
    from sordino.errors import ConfigError

    load_plugins(plugins or [])
    reader = build(SOURCES.get(kind), parse_overrides(settings or []))
    if test_speakers is not None and test_fraction is not None:
        raise ConfigError("--test-speakers and --test-fraction were both given; give one of them.")
    if test_fraction is not None:
        fraction("--test-fraction", test_fraction)
    if window_s is not None:
        positive("--window", window_s)
    require_unwritten(out)
    found = tracked(reader.read(source), "recordings")
    prepared = prepare(found, longest_s=window_s, hear=glance if quick else listen)
    division = _divided(prepared.utterances, test_speakers, test_fraction)
    splits = splits_of(prepared, division)
    files = write_prepared(prepared, out, division=division)
    if as_json:
        print_json(
            _report(prepared, division, splits, quick=quick) | {"files": {str(out / n): files[n] for n in files}}
        )
        return
    console = stdout()
    _say(console, summary(prepared))
    _show_clients(console, census(splits))
    _show_shared_prompts(console, splits)
    if division is not None:
        _say(console, f"{len(division.train)} to train on, {len(division.test)} to test on: {division.test_is}.")
    else:
        _show_shared(console, splits)
    show_left_out(console, prepared)
    if quick:
        _say(
            console, "only headers were read: silence, overdrive, copies and damage behind the headers pass unnoticed."
        )
    for name in files:
        _say(console, f"wrote {out / name}")
    look_at = out / next(name for name in ("train.jsonl", "manifest.jsonl", *files) if name in files)
    _say(console, f"look closer with: sordino data check {shlex.quote(str(look_at))}")


def _divided(
    utterances: tuple[Utterance, ...], test_speakers: int | None, test_fraction: float | None
) -> Division | None:
    from sordino.data import hold_out, hold_out_speakers

    if test_speakers is not None:
        return hold_out_speakers(utterances, test_speakers, seed=0)
    return None if test_fraction is None else hold_out(utterances, share=test_fraction, seed=0)


def _report(prepared: Prepared, division: Division | None, splits: Splits, *, quick: bool) -> dict[str, Any]:
    from sordino.data import census, shared_prompts, shared_speakers

    return {
        "utterances": len(prepared.utterances),
        "hours": prepared.hours,
        "speakers": dict(prepared.speakers),
        "clients": [_client_row(row) for row in census(splits)],
        "shared_speakers": [{"splits": pair, "speakers": names} for pair, names in shared_speakers(splits).items()],
        "shared_prompts": [
            {"splits": pair, "texts": len(shared.texts), "rates": dict(shared.rates)}
            for pair, shared in shared_prompts(splits).items()
        ],
        "test_is": division.test_is if division else None,
        "listened": not quick,
        "clipped": prepared.clipped if not quick else None,
        "left_out": {kind: len(items) for kind, items in prepared.kinds.items()},
    }


def _client_row(row: CensusRow) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(row), "hours_per_speaker": row.hours_per_speaker}


def _show_clients(console: Console, rows: Sequence[CensusRow]) -> None:
    """Hours, clients and hours a client, by split and language; nothing where the summary says it all."""
    from rich.table import Table

    if len(rows) < 2:
        return
    table = Table(title="each speaker as one client", title_justify="left")
    for column in ("split", "language"):
        table.add_column(column)
    for column in ("utterances", "hours", "clients", "hours a client"):
        table.add_column(column, justify="right")
    for row in rows:
        numbers = (f"{row.utterances}", _hours(row.hours), f"{row.speakers}", _hours(row.hours_per_speaker))
        table.add_row(row.split, row.language or "(none given)", *numbers)
    console.print(table, markup=False)


def _show_shared(console: Console, splits: Splits) -> None:
    """Which speakers are in several splits, so that nobody takes a test on them for one on new voices."""
    from sordino.data import shared_speakers

    if len(splits) < 2:
        return
    shared = shared_speakers(splits)
    if not shared:
        _say(console, "no speaker is in two splits.")
    for (one, other), names in shared.items():
        are = "1 speaker is" if len(names) == 1 else f"{len(names)} speakers are"
        _say(console, f"{are} both in {one} and in {other}: {_some(names)}")


def _show_shared_prompts(console: Console, splits: Splits) -> None:
    """Which texts are said in several splits, so that nobody takes a test on them for one on new sentences."""
    from sordino.data import shared_prompts

    for (one, other), shared in shared_prompts(splits).items():
        are = "1 text is" if len(shared.texts) == 1 else f"{len(shared.texts)} texts are"
        rates = " and ".join(f"{100 * rate:.0f} % of {split}" for split, rate in shared.rates.items())
        _say(console, f"{are} said both in {one} and in {other}, in {rates}: {_some(shared.texts)}")


def summary(prepared: Prepared) -> str:
    """How much there is, and who the first speakers are: whether they are people shows at a glance."""
    return (
        f"{len(prepared.utterances)} utterances, {_hours(prepared.hours)} h, {len(prepared.speakers)} speakers: "
        f"{_some(sorted(prepared.speakers))}"
    )


def _hours(hours: float) -> str:
    """Two decimals, or as many digits where these would say that there is nothing."""
    return f"{hours:.2f}" if hours >= 0.1 or not hours else f"{hours:.2g}"


def show_left_out(console: Console, prepared: Prepared) -> None:
    """What was left out: a line for each kind with its number and the first few."""
    for kind, items in prepared.kinds.items():
        _say(console, f"left out {len(items)} ({kind}):")
        for item in items[:_SHOWN]:
            _say(console, f"  {item.audio} {item.reason}")
        if len(items) > _SHOWN:
            _say(console, f"  and {len(items) - _SHOWN} more")
    if prepared.clipped:
        _say(console, f"kept {prepared.clipped} overdriven recordings; they will cost some accuracy.")


@app.command("check")
def check(
    manifest: Annotated[Path, typer.Argument(help="Manifest: one JSON object a line.")],
    *,
    window_s: Annotated[
        float | None, typer.Option("--window", help="Report clips longer than this many seconds.")
    ] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Read every line and every recording of a manifest, and report what it holds and what is wrong.

    Example: sordino data check train.jsonl --window 30
    """
    from dataclasses import asdict

    from sordino.cli.tracking import tracked
    from sordino.data import check_manifest

    report = check_manifest(manifest, window_s=window_s, watch=lambda lines: tracked(lines, "recordings"))
    if as_json:
        clients = {"clients": [_client_row(row) for row in report.clients]}
        derived = clients | {"kinds": dict(report.kinds), "clips_per_speaker": dict(report.clips_per_speaker)}
        print_json({**asdict(report), **derived, "path": str(report.path)})
    else:
        _show_summary(stdout(), report)
        _show_problems(stdout(), report)
    if report.problems:
        raise typer.Exit(2)


def _show_summary(console: Console, report: ManifestReport) -> None:
    clips = {name: f"{count:g}" for name, count in report.clips_per_speaker.items()}
    languages = sorted(report.languages.items(), key=lambda pair: -pair[1])
    rows = {
        "utterances": f"{report.utterances}",
        "hours": _hours(report.hours),
        "speakers": f"{len(report.speakers)}; clips of each: {clips['min']} to {clips['max']}, median {clips['median']}",
        "languages": ", ".join(f"{name or '(none given)'} {count}" for name, count in languages) or "-",
        "sample rates": ", ".join(f"{rate} Hz {count}" for rate, count in sorted(report.sample_rates.items())) or "-",
        "lengths": f"median {report.median_s:.2f} s, longest {report.longest_s:.2f} s",
    }
    for name, value in rows.items():
        _say(console, f"{name:<14}{value}")
    _show_clients(console, report.clients)
    from sordino.data import DURATION_EDGES_S

    edges = ("0", *(f"{edge:g}" for edge in DURATION_EDGES_S))
    most = max(report.durations) or 1
    for index, count in enumerate(report.durations):
        if count:
            span = f"{edges[index]} to {edges[index + 1]} s" if index < len(DURATION_EDGES_S) else f"over {edges[-1]} s"
            _say(console, f"{span:>13} {count:>7} {'#' * max(1, round(_BAR * count / most))}")


def _show_problems(console: Console, report: ManifestReport) -> None:
    if not report.problems:
        _say(console, "no problem found")
    for kind, count in report.kinds.items():
        _say(console, f"{count} {kind}:")
        shown = [problem for problem in report.problems if problem.kind == kind][:_SHOWN]
        for problem in shown:
            _say(console, f"  line {problem.line}: {problem.message}")
        if count > len(shown):
            _say(console, f"  and {count - len(shown)} more; --json lists them all")


def _some(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - 2 * _SHOWN} more" if len(known) > 2 * _SHOWN else ""
    return ", ".join(known[: 2 * _SHOWN]) + more


def _say(console: Console, text: str) -> None:
    shown = text.encode("utf-8", "backslashreplace").decode()  # a file's name may not be UTF-8
    console.print(shown, soft_wrap=True, markup=False)
