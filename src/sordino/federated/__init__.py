"""Federated learning: local training, methods, backends and the round loop."""

from sordino.federated.backend import Backend
from sordino.federated.checkpoint import load_checkpoint, save_checkpoint
from sordino.federated.in_process import ClientFailed, InProcess
from sordino.federated.learner import Learner, LocalResult
from sordino.federated.messages import Reply, Task
from sordino.federated.methods import METHODS, FederatedMethod, ServerState
from sordino.federated.options import FederatedOptions, LocalOptions
from sordino.federated.rounds import RoundResult, run_round, run_rounds
from sordino.federated.telemetry import RoundTelemetry
from sordino.federated.training import SpeechLearner

__all__ = [
    "METHODS",
    "Backend",
    "ClientFailed",
    "FederatedMethod",
    "FederatedOptions",
    "InProcess",
    "Learner",
    "LocalOptions",
    "LocalResult",
    "Reply",
    "RoundResult",
    "RoundTelemetry",
    "ServerState",
    "SpeechLearner",
    "Task",
    "load_checkpoint",
    "run_round",
    "run_rounds",
    "save_checkpoint",
]
