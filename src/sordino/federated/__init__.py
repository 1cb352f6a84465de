"""Federated learning: local training, methods, backends and the round loop."""

from sordino.federated.backend import Backend
from sordino.federated.checkpoint import load_checkpoint, save_checkpoint
from sordino.federated.in_process import ClientFailed, InProcess
from sordino.federated.learner import Counts, Embeds, Learner, LocalResult
from sordino.federated.memory import ClientMemory, InMemory, Memory, OnDisk
from sordino.federated.messages import Reply, Task
from sordino.federated.methods import METHODS, FederatedMethod, ServerState, Stage
from sordino.federated.objective import Objective, Proximal, Reference
from sordino.federated.options import FederatedOptions, LocalOptions
from sordino.federated.part import Part
from sordino.federated.rounds import RoundResult, run_round, run_rounds
from sordino.federated.telemetry import RoundTelemetry
from sordino.federated.training import SpeechLearner

__all__ = [
    "METHODS",
    "Backend",
    "ClientFailed",
    "ClientMemory",
    "Counts",
    "Embeds",
    "FederatedMethod",
    "FederatedOptions",
    "InMemory",
    "InProcess",
    "Learner",
    "LocalOptions",
    "LocalResult",
    "Memory",
    "Objective",
    "OnDisk",
    "Part",
    "Proximal",
    "Reference",
    "Reply",
    "RoundResult",
    "RoundTelemetry",
    "ServerState",
    "SpeechLearner",
    "Stage",
    "Task",
    "load_checkpoint",
    "run_round",
    "run_rounds",
    "save_checkpoint",
]
