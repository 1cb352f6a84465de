"""Where a model runs, and the stream of random numbers that it draws there."""

from __future__ import annotations

import torch

from sordino.errors import ConfigError

__all__ = ["available_device", "seed_device"]


def available_device(name: str) -> torch.device:
    """The device that ``model.device`` names; ``auto`` is a GPU if there is one.

    Raises:
        ConfigError: no such device, or not on this machine.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ConfigError(
            f"model.device = {name!r} cannot be used here ({reason}); set it to cpu, or to auto for a GPU if there is one."
        ) from None
    if device.type == "meta":
        raise ConfigError("model.device = 'meta' holds no weights; set it to cpu, cuda or auto.")
    return device


def seed_device(device: torch.device, seed: int) -> None:
    """Seeds what a model on ``device`` draws its dropout from, and the stream of no other GPU.

    ``torch.manual_seed`` seeds all GPUs, also one that is in the middle of another client's training.
    """
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    else:
        torch.manual_seed(seed)
