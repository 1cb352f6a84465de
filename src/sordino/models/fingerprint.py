"""Names what a module computes, so that what it computed is never taken for what another would."""

from __future__ import annotations

import hashlib

import torch
from torch import nn

__all__ = ["fingerprint"]


def fingerprint(module: nn.Module, about: str) -> str:
    """Digest of a module's weights, their number format and the kind of device.

    Args:
        module: all of it on one device.
        about: whatever else its output depends on, such as its config.
    """
    tensors = module.state_dict()
    device = next((tensor.device.type for tensor in tensors.values()), "cpu")
    digest = hashlib.sha256(f"{device} {about}".encode())
    for name, tensor in tensors.items():
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()
