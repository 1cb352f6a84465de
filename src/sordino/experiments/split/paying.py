"""What pays for everything that a run sends: the terms of its ledger, and the one door to the server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sordino.experiments.tasks.divided import DividedExperiment
from sordino.privacy import Ledger, NoiseSource, Terms
from sordino.seeds import Seeds
from sordino.split.noise import Space
from sordino.split.sending import Sender
from sordino.split.tally import Tally

__all__ = ["sender_of", "terms_of"]


def terms_of(options: DividedExperiment, *, population: int, of: str, size: str, caveats: Sequence[str] = ()) -> Terms:
    """The terms of a run's ledger.

    Args:
        options: the experiment.
        population: how many are private.
        of: what is sent, e.g. ``"texts"``.
        size: what else the server sees of each, e.g. ``"how many tokens each has"``.
        caveats: what no noise covers in this kind of run, besides what none does in any.
    """
    measured = (f"figures measured on private test {of} (debug telemetry)",) if options.telemetry == "debug" else ()
    return Terms(
        unit=options.privacy.unit,
        population=population,
        clients_per_speaker=1,
        delta=options.privacy.delta,
        seeded=options.simulation.seeded,
        caveats=(
            f"how many {of} there are, and {size}, which the server sees",
            f"what stays with the client (this run's folder, with a network trained on clean {of}): the guarantee is "
            "against the server and whoever reads the wire",
            *caveats,
            *measured,
        ),
    )


def sender_of(options: DividedExperiment, *, space: Space, ledger: Ledger, folder: Path | None = None) -> Sender:
    """The only door through which embeddings leave.

    Args:
        options: the experiment.
        space: where embeddings lie.
        ledger: pays.
        folder: what was drawn is kept here, for a run that goes on; nothing is kept without it.
    """
    return Sender(
        noise=options.privacy.noise,
        space=space,
        unit=options.privacy.unit,
        ledger=ledger,
        source=NoiseSource(Seeds(options.seed).at("noise") if options.simulation.seeded else None),
        folder=folder,
        tally=Tally(folder / "beside.json") if folder else Tally(),
    )
