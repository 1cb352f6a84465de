"""The same methods under several settings of what they share, such as the split; the development utterances choose."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import ConfigError
from sordino.experiments.observer import Observer, Silent
from sordino.experiments.personalised.choosing import choose_methods, compare_methods
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.privacy import make_statement, read_ledger
from sordino.records import folder_name, replace_file

__all__ = ["Setting", "settings_of", "sweep"]

_SHOWN = ("wer", "ci95", "development_wer", "rounds", "epsilon")


@dataclass(frozen=True, slots=True)
class Setting:
    """One run of a sweep.

    Attributes:
        name: what it sets, e.g. ``model.split = 2``; empty where nothing in common is varied.
        options: the experiment.
    """

    name: str
    options: PersonalisedExperiment


def settings_of(
    file: Path | None,
    *,
    methods: Sequence[str],
    vary: Mapping[str, Sequence[str]],
    seeds: Sequence[int],
    overrides: Sequence[str] = (),
    baseline: str | None = None,
) -> Sequence[Setting]:
    """Every combination of the varied keys that all methods have in common.

    Args:
        file: the experiment; it has to be one with ``task = "personalised"``.
        methods: see `choose_methods`.
        vary: values to try for a key. Options of a method become more methods within each setting.
        seeds: see `choose_methods`.
        overrides: ``key=value`` texts for all.
        baseline: the method that differences are taken to; the first if not given.

    Raises:
        ConfigError: see `choose_methods`; or a seed among the varied keys.
    """
    for key in ("seed", "seeds"):
        if key in vary:
            raise ConfigError(f"--vary {key}: every setting runs with every seed already; name the seeds with --seeds.")
    of_methods = {key: values for key, values in vary.items() if key.split(".", 1)[0] == "methods"}
    in_common = [[(key, value) for value in dict.fromkeys(vary[key])] for key in vary if key not in of_methods]
    return [
        Setting(
            ", ".join(f"{key} = {value}" for key, value in changes),
            choose_methods(
                file,
                methods=methods,
                vary=of_methods,
                seeds=seeds,
                overrides=[*overrides, *(f"{key}={value}" for key, value in changes)],
                baseline=baseline,
            ),
        )
        for changes in itertools.product(*in_common)
    ]


def sweep(settings: Sequence[Setting], out: Path, *, observer: Observer | None = None) -> dict[str, Any]:
    """Runs what is missing of the settings, each in a folder of its own, and says which the development utterances choose.

    Returns:
        The content of ``sweep.json``: each setting's methods, the setting that is best for each method and the best of all
        on the development utterances, and the guarantee of all that was released, all runs together.

    Raises:
        ConfigError: ``out`` holds runs with other settings, or two settings would share a folder.
    """
    observer, started = observer or Silent(), time.monotonic()
    folders = {setting.name: out / folder_name(setting.name) for setting in settings}
    if len(set(folders.values())) < len(settings):
        raise ConfigError("two settings would share a folder; vary values that differ in letters or digits.")
    found = {}
    for number, setting in enumerate(settings, start=1):
        observer.note(f"setting {number} of {len(settings)}: {setting.name}")
        found[setting.name] = compare_methods(setting.options, folders[setting.name], observer=observer)
    result = {
        "task": "personalised",
        "test_is": next(iter(found.values()))["test_is"],
        "seeds": list(settings[0].options.repetitions),
        "settings": {
            name: {
                "run": str(folders[name]),
                "methods": {
                    method: {key: row[key] for key in _SHOWN}
                    for method, row in one["methods"].items()
                    if row["method"] is not None
                },
            }
            for name, one in found.items()
        },
        **_chosen(found),
        **_together(list(folders.values())),
        "seconds": round(time.monotonic() - started, 1),
    }
    replace_file(out / "sweep.json", (json.dumps(result, indent=2, ensure_ascii=False) + "\n").encode())
    return result


def _chosen(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """For each method the setting with the fewest errors on the development utterances, of equals the first; and of all."""
    best: dict[str, tuple[str, float]] = {}
    for setting, result in found.items():
        for method, row in result["methods"].items():
            wer = row["development_wer"]
            if row["method"] is not None and wer is not None and (method not in best or wer < best[method][1]):
                best[method] = setting, wer
    method = min(best, key=lambda name: best[name][1], default=None)
    return {
        "best_setting": {name: setting for name, (setting, _) in best.items()},
        "best_on_development": None if method is None else {"setting": best[method][0], "method": method},
    }


def _together(folders: Sequence[Path]) -> dict[str, Any]:
    """The guarantee of everything that all runs released: everybody took part in all of them."""
    ledgers = [read_ledger(folder / "ledger.jsonl") for folder in folders]
    statement = make_statement(ledgers[0][0], [charge.event for _, charges in ledgers for charge in charges])
    return {"epsilon": statement.to_json()["epsilon"], "statement": statement.words}
