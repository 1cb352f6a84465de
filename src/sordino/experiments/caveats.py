"""What an experiment releases outside its guarantee."""

from __future__ import annotations

from sordino.experiments.tasks.federated import FederatedExperiment

__all__ = ["caveats_of"]


def caveats_of(options: FederatedExperiment) -> tuple[str, ...]:
    """What an experiment releases besides, under no guarantee, in words."""
    if options.privacy.mechanism == "none":
        return ()
    caveats = []
    if options.model.start is not None:
        caveats.append(
            f"what the starting model learnt in the run {options.model.start.resolve().name!r}: whatever that run "
            "guarantees, its losses and those of this run add up for everybody who took part in both"
        )
    if options.telemetry == "debug":
        caveats.append(
            "debug telemetry wrote the clients' losses, update norms, cohort sizes and times, and errors on their own speech"
        )
    return tuple(caveats)
