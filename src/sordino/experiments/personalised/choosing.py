"""From an experiment file and the names of methods to a comparison of just those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sordino._check import one_of
from sordino.config import to_toml
from sordino.errors import ConfigError
from sordino.experiments.loading import load_experiment
from sordino.experiments.observer import Observer
from sordino.experiments.personalised.running import run_personalised
from sordino.experiments.tasks.personalised import PersonalisedExperiment
from sordino.federated.methods.base import METHODS, FederatedMethod
from sordino.records import RunFolder

__all__ = ["choose_methods", "compare_methods", "compares_methods"]


def compare_methods(options: PersonalisedExperiment, out: Path, *, observer: Observer | None = None) -> dict[str, Any]:
    """Runs what is missing of a comparison in its run folder.

    Raises:
        ConfigError: ``out`` holds a run with other settings.
    """
    folder = RunFolder(out)
    begun = folder.config.is_file()
    if begun and folder.config.read_text(encoding="utf-8") != to_toml(options):
        raise ConfigError(
            f"{out} holds a run with other settings than this comparison's; choose another --out, or delete it."
        )
    return run_personalised(options, out, resume=begun, observer=observer)


def compares_methods(file: Path | None, overrides: Sequence[str] = ()) -> bool:
    """Whether an experiment is one that compares federated methods."""
    return isinstance(load_experiment(file, overrides), PersonalisedExperiment)


def choose_methods(
    file: Path | None,
    *,
    methods: Sequence[str],
    vary: Mapping[str, Sequence[str]],
    seeds: Sequence[int],
    overrides: Sequence[str] = (),
    baseline: str | None = None,
) -> PersonalisedExperiment:
    """The experiment with some of its methods, others with their default options, and variants of them.

    Args:
        file: the experiment; it has to be one with ``task = "personalised"``.
        methods: names under its ``[methods]``, or registered ones; none leaves the file's own.
        vary: values to try for an option of a method, e.g. ``{"methods.similarity.beta": ("0", "0.8")}``: each is one more
            method in the comparison, in the place of the one that it is a variant of.
        seeds: everything is run once with each; none: with the file's own.
        overrides: ``key=value`` texts.
        baseline: the method that differences are taken to; the first if not given.

    Raises:
        ConfigError: another task, an unknown method, or a key that is no method's option.
    """
    options = _personalised(file, overrides)
    known = {name: _method(options, name) for name in dict.fromkeys(methods or options.methods)}
    chosen: dict[str, FederatedMethod] = {}
    for name, method in known.items():
        own = {key.split(".", 2)[2]: values for key, values in vary.items() if _method_of(key) == name}
        chosen |= _variants(file, overrides, name, own) if own else {name: method}
    for key in vary:
        one_of("--vary methods", _method_of(key), known)
    baseline = baseline or next(iter(chosen))
    evaluation = replace(
        options.evaluation, baseline=one_of("--reference", baseline, [*chosen, *options.evaluation.references])
    )
    return replace(options, methods=chosen, seeds=tuple(seeds) or options.seeds, evaluation=evaluation)


def _personalised(file: Path | None, overrides: Sequence[str]) -> PersonalisedExperiment:
    options = load_experiment(file, overrides)
    if not isinstance(options, PersonalisedExperiment):
        raise ConfigError(
            f'--methods with task = "{options.name}": expected an experiment with task = "personalised", which is what '
            "compares federated methods; name such a file, for example examples/personalised.toml."
        )
    return options


def _method(options: PersonalisedExperiment, name: str) -> FederatedMethod:
    """One that the file describes, or a registered one with default options."""
    if name in options.methods:
        return options.methods[name]
    one_of("--methods", name, [*options.methods, *METHODS.names()])
    method: FederatedMethod = METHODS.get(name)()
    return method


def _method_of(key: str) -> str:
    table, _, rest = key.partition(".")
    name, _, field = rest.partition(".")
    if table != "methods" or not field:
        raise ConfigError(f"--vary {key}: expected an option of a method here, such as methods.similarity.beta=0,0.8.")
    return name


def _variants(
    file: Path | None, overrides: Sequence[str], name: str, own: Mapping[str, Sequence[str]]
) -> dict[str, FederatedMethod]:
    made: dict[str, FederatedMethod] = {}
    for field, values in own.items():
        for value in dict.fromkeys(values):
            varied = _personalised(file, [*overrides, f"methods.{name}.{field}={value}"])
            made[f"{name}-{field}-{value}"] = varied.methods[name]
    return made
