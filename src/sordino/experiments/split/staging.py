"""What the methods of a run have to work with."""

from __future__ import annotations

from sordino.experiments.observer import Observer
from sordino.experiments.split.exchanging import Exchanged
from sordino.experiments.split.returning import chosen_layers
from sordino.experiments.split.serving import Served
from sordino.experiments.tasks.divided import DividedExperiment
from sordino.seeds import Seeds
from sordino.split.methods import Scene
from sordino.split.readout import Readout
from sordino.split.sending import Sender

__all__ = ["staged"]


def staged(
    options: DividedExperiment,
    material: Exchanged,
    served: Served,
    *,
    readout: Readout,
    sender: Sender,
    observer: Observer,
) -> Scene:
    """Chooses the blocks that come back, says which they are, and sets the scene.

    Args:
        options: the experiment.
        material: what is exchanged.
        served: the server.
        readout: what is to be found out of each sequence.
        sender: for modes that send more.
        observer: is told the blocks.
    """
    layers = chosen_layers(options.model, served, material.noised["train"])
    observer.note(f"blocks {', '.join(map(str, layers))} of {served.server.describe().num_blocks} come back")
    return Scene(
        train=material.noised["train"],
        public=material.clean["public"],
        public_noised=material.noised["public"],
        clean=material.clean["train"],
        readout=readout,
        layers=layers,
        reduction=options.model.reduction,
        mode=options.training,
        sender=sender,
        seeds=Seeds(options.seed),
    )
