"""What a network is, as one short text: two networks with the same one hold the same bits."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from torch import nn

__all__ = ["file_fingerprint", "fingerprint"]


def fingerprint(module: nn.Module) -> str:
    """SHA-256 over names, types, shapes and bytes of everything in the module's state, constants included."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def file_fingerprint(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
