"""The clients' training loss over the rounds."""

from __future__ import annotations

from sordino.reporting.figures.plate import Plate
from sordino.reporting.figures.style import PALETTE, canvas, styled, trace, whole_rounds
from sordino.reporting.runs import Run

__all__ = ["training_loss"]


def training_loss(run: Run) -> Plate | None:
    """Mean loss of local training by round; None without debug telemetry."""
    losses = [(number, telemetry.loss) for number, telemetry in run.observed]
    if not losses:
        return None
    with styled():
        figure, axes = canvas(height_in=2.1)
        trace(axes, losses, PALETTE[0])
        axes.set_xlabel("federated round")
        axes.set_ylabel("training loss (nats a token)")
        axes.set_ylim(bottom=0)
        whole_rounds(axes)
    return Plate(
        name="training-loss",
        title="Training loss by round",
        caption=(
            "Cross-entropy of the transcript's tokens during the clients' local training, mean over the round's clients. "
            "Each round has other clients, so it wavers."
        ),
        figure=figure,
    )
