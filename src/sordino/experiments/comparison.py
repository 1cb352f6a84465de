"""The same experiment under several settings and seeds, in one folder that can be taken up again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino._check import one_of
from sordino.config import to_toml
from sordino.errors import ConfigError
from sordino.experiments.federated import run_federated
from sordino.experiments.loading import load_federated
from sordino.experiments.observer import Observer, Silent
from sordino.experiments.sharing import Shared
from sordino.experiments.tasks.federated import FederatedExperiment
from sordino.experiments.verdicts import compare_outcomes
from sordino.privacy import ALLOCATIONS
from sordino.records import RunFolder, folder_name, replace_file

__all__ = ["NO_PRIVACY", "Outcome", "Variant", "compare", "variants"]

NO_PRIVACY = "none"
"""Name of the variant without clipping and noise, which may stand among the allocations."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One column of a comparison.

    Attributes:
        name: as shown.
        overrides: what it changes of the experiment, as ``key=value`` texts.
    """

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run.

    Attributes:
        variant: its variant.
        seed: its seed.
        folder: its run folder.
        error: why it failed; empty when it did not.
    """

    variant: Variant
    seed: int
    folder: RunFolder
    error: str = ""


def variants(allocations: Sequence[str], vary: Mapping[str, Sequence[str]]) -> Sequence[Variant]:
    """Every allocation under every combination of the varied keys.

    Args:
        allocations: registered names, or `NO_PRIVACY`; none leaves the file's own.
        vary: values to try for a key, e.g. ``{"model.train_encoder": ("true", "false")}``.

    Raises:
        ConfigError: an unknown allocation, nothing to compare, or the seed among the varied keys.
    """
    if "seed" in vary:
        raise ConfigError("--vary seed: every variant runs with every seed already; name the seeds with --seeds.")
    for name in allocations:
        one_of("--allocations", name, [*ALLOCATIONS.names(), NO_PRIVACY])
    first = [Variant(name, (_setting(name),)) for name in dict.fromkeys(allocations)] or [Variant("", ())]
    rest = [[(key, value) for value in dict.fromkeys(values)] for key, values in vary.items()]
    made = [_narrowed(variant, changes) for variant in first for changes in itertools.product(*rest)]
    if len(made) < 2:
        raise ConfigError(
            "there is one variant: expected at least two; name several --allocations, or several values with --vary KEY=A,B."
        )
    return made


def _setting(allocation: str) -> str:
    return "privacy.mechanism=none" if allocation == NO_PRIVACY else f"privacy.allocation={allocation}"


def _narrowed(variant: Variant, changes: Sequence[tuple[str, str]]) -> Variant:
    names = [variant.name, *(f"{key.rsplit('.', 1)[-1]} = {value}" for key, value in changes)]
    overrides = (*variant.overrides, *(f"{key}={value}" for key, value in changes))
    return Variant(", ".join(name for name in names if name), overrides)


def compare(
    file: Path | None,
    chosen: Sequence[Variant],
    out: Path,
    *,
    seeds: Sequence[int],
    overrides: Sequence[str] = (),
    reference: str | None = None,
    observer: Observer | None = None,
) -> dict[str, Any]:
    """Runs what is missing of the grid of variants and seeds, and compares what there is.

    A run that fails is shown as failed, and the others go on. The same call again takes up an interrupted comparison: runs
    that are finished stay, one that was interrupted is resumed.

    Args:
        file: the experiment; None for the default job.
        chosen: what to compare.
        out: folder of the comparison; each run has a folder of its own in it.
        seeds: each variant runs once with each; none: with the experiment's own.
        overrides: ``key=value`` texts for all runs.
        reference: name of the variant that differences are taken to; the first one if not given.
        observer: is told the progress.

    Returns:
        The content of ``comparison.json``.

    Raises:
        ConfigError: an unknown reference, a setting that the experiment refuses, ``out`` holds other runs, or two variants
            would share a folder.
    """
    observer = observer or Silent()
    _require_apart(chosen, out)
    reference = reference or chosen[0].name
    one_of("--reference", reference, [variant.name for variant in chosen])
    seeds = seeds or [load_federated(file, overrides).seed]
    grid = [
        (variant, seed, load_federated(file, [*overrides, *variant.overrides, f"seed={seed}"]))
        for seed in seeds  # outermost, so that an unfinished comparison has every variant as soon as possible
        for variant in chosen
    ]
    for variant, seed, options in grid:
        _require_same(_folder(out, variant, seed), options)
    outcomes = list(_run_all(grid, out, observer))
    result = {
        "reference": reference,
        "seeds": list(seeds),
        "overrides": list(overrides),
        **compare_outcomes(outcomes, reference=reference),
    }
    replace_file(out / "comparison.json", (json.dumps(result, indent=2, ensure_ascii=False) + "\n").encode())
    return result


def _folder(out: Path, variant: Variant, seed: int) -> RunFolder:
    return RunFolder(out / f"{folder_name(variant.name)}-seed{seed}")


def _require_apart(chosen: Sequence[Variant], out: Path) -> None:
    """One folder for two variants would show the runs of the first as the second's."""
    taken: dict[Path, str] = {}
    for variant in chosen:
        path = _folder(out, variant, 0).path
        if path in taken:
            raise ConfigError(
                f"the variants {taken[path]!r} and {variant.name!r} would share the folder {path}; vary values that differ "
                "in letters or digits."
            )
        taken[path] = variant.name


def _require_same(folder: RunFolder, options: FederatedExperiment) -> None:
    if folder.config.exists() and folder.config.read_text(encoding="utf-8") != to_toml(options):
        raise ConfigError(
            f"{folder.path} holds a run with other settings than this comparison's; choose another --out, or delete it."
        )


def _run_all(
    grid: Sequence[tuple[Variant, int, FederatedExperiment]], out: Path, observer: Observer
) -> Iterator[Outcome]:
    shared = Shared()
    for number, (variant, seed, options) in enumerate(grid, start=1):
        folder, error = _folder(out, variant, seed), ""
        if not folder.result.exists():
            observer.note(f"run {number} of {len(grid)}: {variant.name}, seed {seed}")
            try:
                run_federated(options, folder.path, resume=folder.config.exists(), observer=observer, shared=shared)
            except Exception as failure:  # one run's failure is a result, not the end of the comparison
                error = f"{type(failure).__name__}: {failure}"
                observer.note(f"failed: {error}")
        yield Outcome(variant, seed, folder, error)
