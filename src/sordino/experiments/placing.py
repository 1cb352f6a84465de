"""On which devices the workers of a simulation lie."""

from __future__ import annotations

from sordino._check import told_as
from sordino.experiments.tasks.federated import SimulationOptions
from sordino.models.devices import available_device

__all__ = ["placed"]


def placed(simulation: SimulationOptions, default: str) -> tuple[str, ...]:
    """The device of each worker, all of them there.

    Args:
        simulation: how many workers, and their devices if any are named.
        default: ``model.device``, for all of them otherwise.

    Raises:
        ConfigError: a device that this machine has not.
    """
    with told_as("simulation.devices" if simulation.devices else "model.device", of="model.device"):
        for place in simulation.places(default):
            available_device(place)
    return simulation.places(default)
