"""Composition root of ``task = "split"``: texts, a server somewhere, noise, methods, attacks."""

from sordino.experiments.split.predicting import predict_split
from sordino.experiments.split.running import run_split

__all__ = ["predict_split", "run_split"]
