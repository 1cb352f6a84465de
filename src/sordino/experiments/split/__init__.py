"""Composition roots of ``task = "split"`` and ``"split-writing"``: texts, a server somewhere, noise, methods, attacks."""

from sordino.experiments.split.predicting import predict_split, predict_split_writing
from sordino.experiments.split.running import run_split
from sordino.experiments.split.writing import run_split_writing

__all__ = ["predict_split", "predict_split_writing", "run_split", "run_split_writing"]
