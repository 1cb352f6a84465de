"""From the folder of a comparison to its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sordino.errors import ConfigError, DataError
from sordino.evaluation import Interval, SignFlip
from sordino.reporting.comparison import Comparison, Failure, Variant
from sordino.reporting.differences import Difference, PairedTest
from sordino.reporting.reading import read_json, read_rate, read_run, reading
from sordino.reporting.runs import Rate

__all__ = ["holds_comparison", "read_comparison"]

_FILE: Final = "comparison.json"


def holds_comparison(folder: Path) -> bool:
    """Whether a folder is that of a comparison rather than of a run.

    Raises:
        ConfigError: it is one that has not come to its end.
    """
    if (folder / _FILE).is_file():
        return True
    if not (folder / "config.toml").exists() and any(folder.glob("*-seed*/config.toml")):
        raise ConfigError(
            f"{folder} holds runs of a comparison that has not ended (there is no {_FILE} yet); let sordino compare end, "
            "or name some of its run folders."
        )
    return False


def read_comparison(folder: Path) -> Comparison:
    """Reads ``comparison.json`` and the run folders beside it, wherever the comparison was made.

    Raises:
        ConfigError: a run folder is missing.
        DataError: a damaged file.
    """
    path = folder / _FILE
    table = read_json(path)
    with reading(path):
        if table is None or table["reference"] not in table["allocations"]:
            raise DataError(f"{path} does not hold its own reference; make the comparison again with sordino compare.")
        return Comparison(
            label=folder.resolve().name,
            path=folder,
            reference=str(table["reference"]),
            seeds=[int(seed) for seed in table["seeds"]],
            overrides=_texts(table["overrides"]),
            variants=[
                _variant(folder, str(name), row, test_is=str(table["test_is"] or ""))
                for name, row in table["allocations"].items()
            ],
        )


def _variant(folder: Path, name: str, row: Mapping[str, Any], *, test_is: str) -> Variant:
    places = [(int(run["seed"]), folder / Path(run["run"]).name, run["failed"]) for run in row["runs"]]
    return Variant(
        label=name,
        overrides=_texts(row["overrides"]),
        test_is=test_is,
        rate_after=_rate(row),
        difference=_difference(row),
        by_seed={int(seed): float(wer) for seed, wer in row["by_seed"].items()},
        seen=None if row["seen"] is None else _rate(row["seen"]),
        noise_multiplier=row["noise_multiplier"] or None,
        runs={seed: read_run(place, label=f"{name}, seed {seed}") for seed, place, failed in places if not failed},
        failures=[Failure(seed, place, str(failed)) for seed, place, failed in places if failed],
    )


def _rate(row: Mapping[str, Any]) -> Rate | None:
    return None if row["wer"] is None else read_rate(row)


def _difference(row: Mapping[str, Any]) -> Difference:
    bounds = row["difference_ci95"]
    return Difference(
        points=row["difference"],
        interval=Interval(None if bounds is None else (float(bounds[0]), float(bounds[1]))),
        why_not="" if row["difference"] is not None else "there is no seed in which both have measured the same clips",
        test=_test(row.get("difference_test")),
    )


def _test(table: Mapping[str, Any] | None) -> PairedTest | None:
    """None for the reference, and in comparisons made before there were tests."""
    if table is None:
        return None
    flips = SignFlip(p=float(table["p"]), num_speakers=int(table["num_speakers"]))
    return PairedTest(p_holm=float(table["p_holm"]), flips=flips, num_tests=int(table["num_tests"]))


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
