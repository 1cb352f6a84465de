"""Federated algorithms: client half and server half of one method in one file, found by their registry."""

from sordino.federated.methods.base import METHODS, FederatedMethod, ServerState, Stage

__all__ = ["METHODS", "FederatedMethod", "ServerState", "Stage"]
