"""How the clip norm is divided over blocks of the update: one allocation a file, found by its registry. Torch-free."""

from sordino.privacy.allocations.base import (
    ALLOCATIONS,
    Allocation,
    AllocationState,
    Blocks,
    ClipBounds,
    ReleasedNorms,
)

__all__ = ["ALLOCATIONS", "Allocation", "AllocationState", "Blocks", "ClipBounds", "ReleasedNorms"]
