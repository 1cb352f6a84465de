"""``sordino compare``: the same experiment under several allocations, settings and seeds."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.console import Json, Overrides, print_json, stderr, stdout

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["compare"]


def compare(
    file: Annotated[Path | None, typer.Argument(help="Experiment file; without one, the default job.")] = None,
    *,
    out: Annotated[Path, typer.Option("--out", help="Folder of the comparison; the same one again continues it.")],
    allocations: Annotated[
        str, typer.Option("--allocations", help="Names with commas; none stands for no privacy.")
    ] = "",
    methods: Annotated[
        str,
        typer.Option("--methods", help='Federated methods with commas, of an experiment with task = "personalised".'),
    ] = "",
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=A,B", help="Also try several values of a key. May be repeated."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", help="Seeds with commas; each variant runs once with each. By default the file's own."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option("--reference", help="Variant that differences are taken to; by default the first.")
    ] = None,
    overrides: Annotated[list[str] | None, Overrides] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Compare allocations, federated methods, or any other settings, on the same clients and test clips.

    Examples:
    sordino compare my.toml --allocations flat,dim,pooled,auto --seeds 0,1,2 --out runs/comparison
    sordino compare examples/personalised.toml --methods fedavg,ditto,local --seeds 0,1,2 --out runs/personal
    sordino compare examples/personalised.toml --methods similarity --vary model.split=1,2 --out runs/split
    """
    from sordino.experiments.personalised.choosing import compares_methods

    console = stderr()
    if methods or compares_methods(file, overrides or []):
        _compare_methods(
            out,
            {
                "file": file,
                "methods": _split(methods),
                "vary": dict(_varied(text) for text in vary or []),
                "seeds": _numbers(seeds),
                "overrides": overrides or [],
                "baseline": reference,
            },
            allocations=allocations,
            as_json=as_json,
        )
        return
    from sordino.cli.progress import watching
    from sordino.experiments.comparison import compare as run_comparison
    from sordino.experiments.comparison import variants

    chosen = variants(_split(allocations), dict(_varied(text) for text in vary or []))
    try:
        with watching(console) as observer:
            result = run_comparison(
                file,
                chosen,
                out,
                seeds=_numbers(seeds),
                overrides=overrides or [],
                reference=reference,
                observer=observer,
            )
    except KeyboardInterrupt:
        console.print(f"interrupted; the same command again goes on in {out}", soft_wrap=True, markup=False)
        raise typer.Exit(130) from None
    if as_json:
        print_json(result)
    else:
        _show(stdout(), result)
        console.print(
            f"everything is in {out}; see it with: sordino report {quote(str(out))}", soft_wrap=True, markup=False
        )
    if any(run["failed"] for row in result["allocations"].values() for run in row["runs"]):
        raise typer.Exit(1)


def _compare_methods(out: Path, chosen: dict[str, Any], *, allocations: str, as_json: bool) -> None:
    """The comparison of federated methods, which is one run: its folder holds what any run's does."""
    from sordino.cli.progress import watching
    from sordino.cli.run import show_summary
    from sordino.errors import ConfigError
    from sordino.experiments.personalised.choosing import compare_methods
    from sordino.experiments.personalised.sweeping import settings_of, sweep
    from sordino.reporting import write_report

    if allocations:
        raise ConfigError(
            f"--allocations {allocations} beside federated methods: expected one of them; compare one thing at a time."
        )
    settings, console = settings_of(**chosen), stderr()
    alone = settings[0].options if len(settings) == 1 else None
    try:
        with watching(console, settings[0].options.num_steps) as observer:
            result = (
                compare_methods(alone, out, observer=observer) if alone else sweep(settings, out, observer=observer)
            )
    except KeyboardInterrupt:
        console.print(f"interrupted; the same command again goes on in {out}", soft_wrap=True, markup=False)
        raise typer.Exit(130) from None
    write_report([out], out / "report.html")
    if as_json:
        print_json(result)
    if alone:
        show_summary(console, out, result)
    else:
        _show_sweep(console, out, result)


def _show_sweep(console: Console, out: Path, result: dict[str, Any]) -> None:
    from sordino.cli.console import show_table
    from sordino.reporting.sweep import read_sweep

    read = read_sweep(out)
    show_table(console, read.table)
    for sentence in (read.statement, read.choice):
        console.print(sentence, soft_wrap=True, markup=False)
    console.print(f"{result['seconds']:.0f} s; everything is in {out}", soft_wrap=True, markup=False)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _varied(text: str) -> tuple[str, list[str]]:
    from sordino.errors import ConfigError

    key, equals, values = text.partition("=")
    if not equals or not _split(values):
        raise ConfigError(f"--vary {text!r}: expected KEY=VALUE,VALUE, such as model.train_encoder=true,false.")
    return key.strip(), _split(values)


def _numbers(text: str | None) -> list[int]:
    from sordino.errors import ConfigError

    if text is None:
        return []
    numbers = _split(text)
    if not numbers or not all(number.isdecimal() for number in numbers) or len(set(numbers)) < len(numbers):
        raise ConfigError(f"--seeds {text!r}: expected different whole numbers with commas, such as 0,1,2.")
    return [int(number) for number in numbers]


def _show(console: Console, result: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from sordino.reporting.formatting import p_value

    title = f"Word error rate in % on {result['test_is']}, seeds {', '.join(map(str, result['seeds']))}"
    caption = f"difference: to {result['reference']}, same speakers; p: sign-flip over speakers, Holm"
    table = Table(title=title, box=SIMPLE_HEAD, padding=0, caption=caption)
    for column in ("", "WER", "95 %", "difference", "95 %", "p", "seen", "epsilon"):
        table.add_column(column, justify="right" if column else "left", no_wrap=bool(column))
    for name, row in result["allocations"].items():
        epsilon = [value for value in ((row["epsilon"] or {}).get(key) for key in ("pld", "rdp")) if value is not None]
        table.add_row(
            name,
            _number(row["wer"]),
            _range(row["ci95"]),
            _number(row["difference"], signed=True),
            _range(row["difference_ci95"], signed=True),
            p_value(row["difference_test"]["p_holm"]) if row["difference_test"] else "-",
            _number(row["seen"]["wer"] if row["seen"] else None),
            f"{min(epsilon):.3g}" if epsilon else "-",
        )
    console.print(table)
    least = _least_p(result)
    if least > 0.05:
        console.print(f"p cannot be below {p_value(least)} with so few test speakers, so none can reject at 5 %")
    for name, row in result["allocations"].items():
        for run in row["runs"]:
            if run["failed"]:
                console.print(f"{name}, seed {run['seed']}, failed: {run['failed']}", soft_wrap=True, markup=False)


def _least_p(result: dict[str, Any]) -> float:
    """The least that a corrected p could have been; 0 where nothing was tested."""
    tests = [row["difference_test"] for row in result["allocations"].values() if row["difference_test"]]
    return min((min(1.0, test["num_tests"] * test["least_p"]) for test in tests), default=0.0)


def _number(rate: float | None, *, signed: bool = False) -> str:
    return "-" if rate is None else f"{100 * rate:+.1f}" if signed else f"{100 * rate:.1f}"


def _range(bounds: list[float] | None, *, signed: bool = False) -> str:
    return "-" if bounds is None else " to ".join(_number(bound, signed=signed) for bound in bounds)
