"""Split learning with hidden-state correction: the client keeps embeddings and head, a vendor the large model's blocks."""

from sordino.split.hidden_states import ModelCard, StateServer, public_projection

__all__ = ["ModelCard", "StateServer", "public_projection"]
