"""From a run folder, finished or not, to its records."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sordino.errors import DataError, PrivacyError
from sordino.evaluation import Sample
from sordino.privacy.statement import Statement, statement_of_run
from sordino.records import RunFolder
from sordino.reporting.runs import Rate, Result, Round, Run
from sordino.reporting.telemetry import Block, Group, Telemetry

__all__ = ["read_json", "read_rate", "read_run", "read_runs", "reading"]


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Reads several run folders and labels each by the shortest end of its path that tells them apart.

    Raises:
        ConfigError: a folder that holds no run.
        DataError: a damaged file.
    """
    return [read_run(path, label=label) for path, label in zip(paths, _labels(paths), strict=True)]


def _labels(paths: Sequence[Path]) -> list[str]:
    resolved = [path.resolve() for path in paths]
    longest = max((len(path.parts) for path in resolved), default=1)
    for depth in range(1, longest + 1):
        labels = ["/".join(path.parts[-depth:]) for path in resolved]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{path.name} ({number})" for number, path in enumerate(resolved, start=1)]


def read_run(path: Path, *, label: str | None = None) -> Run:
    """Reads a run folder, finished or not.

    Args:
        path: the folder.
        label: what to call the run; the folder's name if not given.

    Raises:
        ConfigError: the folder holds no run.
        DataError: one of its files is damaged.
    """
    folder = RunFolder.open(path)
    with reading(folder.config):
        text = folder.config.read_text(encoding="utf-8")
        config = tomllib.loads(text)
    return Run(
        label=label or path.resolve().name,
        path=path,
        config=config,
        config_text=text,
        rounds=_rounds(folder),
        statement=_statement(folder),
        result=_result(folder.result) if config.get("task", "federated") == "federated" else None,
        before=_samples(folder, "before"),
        after=_samples(folder, "after"),
        seen=_samples(folder, "seen"),
    )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what the content of a damaged file raises into one DataError."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, PrivacyError) as error:
        raise DataError(
            f"{path} is not as sordino wrote it ({type(error).__name__}: {error}); restore it from a copy, or make the run "
            "again."
        ) from error


def read_json(path: Path) -> Mapping[str, Any] | None:
    """The table in a JSON file; None if there is no file.

    Raises:
        DataError: it holds something else.
    """
    if not path.is_file():
        return None
    with reading(path):
        table: Mapping[str, Any] = dict(json.loads(path.read_text(encoding="utf-8")))
        return table


def _statement(folder: RunFolder) -> Statement | None:
    table = read_json(folder.privacy)
    if table is not None:
        with reading(folder.privacy):
            return Statement.from_json(table)
    return statement_of_run(folder.path) if folder.ledger.is_file() else None


def _rounds(folder: RunFolder) -> Sequence[Round]:
    with reading(folder.rounds):
        return [
            Round(
                number=int(line["round"]),
                wer=_measured(line.get("wer")),
                epsilon=line.get("epsilon"),
                telemetry=_telemetry(line.get("telemetry")),
            )
            for line in folder.read_rounds()
        ]


def read_rate(table: Mapping[str, Any]) -> Rate:
    """A rate as the records write it: ``{"wer": ..., "ci95": [...] | null}``."""
    bounds = table["ci95"]
    return Rate(float(table["wer"]), None if bounds is None else (float(bounds[0]), float(bounds[1])))


def _measured(table: Mapping[str, Any] | None) -> Rate | None:
    return None if table is None else read_rate(table)


def _result(path: Path) -> Result | None:
    table = read_json(path)
    if table is None:
        return None
    with reading(path):
        wer = table["wer"]
        return Result(
            wer=None if wer["after"] is None else read_rate({"wer": wer["after"], "ci95": wer["ci95"]}),
            test_is=str(wer["test_is"]),
            seen=_measured(wer.get("seen")),
            stopped=table["stopped"] or "",
            seconds=table["seconds"],
            versions=dict(table.get("versions", {})),
        )


def _telemetry(table: Mapping[str, Any] | None) -> Telemetry | None:
    if table is None:
        return None
    blocks = (
        Block(
            name=str(block["name"]),
            clip_norm=block["clip_norm"],
            mean_norm=float(block["mean_norm"]),
            clip_rate=float(block["clip_rate"]),
            clip_ratio=block.get("clip_ratio"),
        )
        for block in table["blocks"]
    )
    return Telemetry(
        drawn=int(table["drawn"]),
        replies=int(table["replies"]),
        not_finite=int(table["not_finite"]),
        loss=float(table["loss"]),
        blocks=tuple(blocks),
        groups=tuple(_group(group) for group in table.get("groups", [])),
        components={str(name): float(norm) for name, norm in table.get("components", {}).items()},
    )


def _group(table: Mapping[str, Any]) -> Group:
    return Group(
        name=str(table["name"]),
        component=str(table["component"]),
        size=int(table["size"]),
        mean_norm=float(table["mean_norm"]),
        noise_std=float(table["noise_std"]),
        snr=table.get("snr"),
    )


def _samples(folder: RunFolder, name: str) -> Sequence[Sample]:
    path = folder.transcripts(name)
    with reading(path):
        lines: Iterable[Mapping[str, Any]] = folder.read_lines(path)
        return [Sample(**line) for line in lines]
