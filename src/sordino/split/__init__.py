"""Split learning with hidden-state correction: the client keeps embeddings and head, a vendor the large model's blocks.

Names are imported when first used, so that options are there without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.split.hidden_states import ModelCard, StateServer, public_projection
    from sordino.split.local_server import LocalStates

_HOMES = {
    "LocalStates": "local_server",
    "ModelCard": "hidden_states",
    "StateServer": "hidden_states",
    "public_projection": "hidden_states",
}

__all__ = ["LocalStates", "ModelCard", "StateServer", "public_projection"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
