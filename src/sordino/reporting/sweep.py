"""A sweep: what each setting gave on the development utterances, and what was chosen by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sordino.errors import DataError
from sordino.reporting.formatting import DASH, interval, percent, rounded_up
from sordino.reporting.reading import read_json, reading
from sordino.reporting.tables import Cell, Column, Table

__all__ = ["Sweep", "holds_sweep", "read_sweep"]

_FILE: Final = "sweep.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The records of one sweep.

    Attributes:
        label: the folder's name.
        table: a row for each method under each setting.
        choice: what to use, in a sentence.
        statement: the guarantee of all its runs together.
        runs: names of their folders.
    """

    label: str
    table: Table
    choice: str
    statement: str
    runs: Sequence[str]


def holds_sweep(folder: Path) -> bool:
    """Whether a folder is that of a sweep."""
    return (folder / _FILE).is_file()


def read_sweep(folder: Path) -> Sweep:
    """Reads ``sweep.json``.

    Raises:
        DataError: it is missing or damaged.
    """
    path = folder / _FILE
    result = read_json(path)
    if result is None:
        raise DataError(f"{path} does not exist; make the sweep again with sordino compare --vary.")
    with reading(path):
        return Sweep(
            label=folder.resolve().name,
            table=_table(result),
            choice=_choice(result),
            statement=str(result["statement"]),
            runs=[Path(one["run"]).name for one in result["settings"].values()],
        )


def _choice(result: Mapping[str, Any]) -> str:
    best = result["best_on_development"]
    if best is None:
        return "Nothing is chosen, since no utterances were held out for it: set data.development. The test has no say."
    return f"Chosen by the development utterances: {best['method']} with {best['setting']}."


def _table(result: Mapping[str, Any]) -> Table:
    chosen = result["best_setting"]
    rows = [(name, setting, row) for setting, one in result["settings"].items() for name, row in one["methods"].items()]
    private = any(row["epsilon"] is not None for _, _, row in rows)
    titles = ["development, WER", "chosen", "test, WER", "95 %", "rounds", *(["epsilon, alone"] if private else [])]
    return Table(
        name="sweep",
        columns=[*(Column(title, numeric=False) for title in ("method", "setting")), *map(Column, titles)],
        rows=[
            [
                *(Cell(text, strong=chosen.get(name) == setting) for text in (name, setting)),
                Cell(percent(row["development_wer"]), strong=chosen.get(name) == setting),
                Cell("chosen" if chosen.get(name) == setting else ""),
                Cell(percent(row["wer"])),
                Cell(interval(row["ci95"])),
                Cell(str(row["rounds"])),
                *([Cell(DASH if row["epsilon"] is None else rounded_up(row["epsilon"]))] if private else []),
            ]
            for name, setting, row in sorted(rows, key=lambda row: row[0])
        ],
        note=(
            "Chosen: each method's setting with the fewest errors on the development utterances, of equals the first. "
            f"The test ({result['test_is']}) has no say in it; 95 % bootstrap over speakers."
        ),
    )
