"""Composition root of ``task = "split-speech"``: recordings, a Whisper divided between client and server, noise, attacks."""

from sordino.experiments.split_speech.predicting import predict_split_speech
from sordino.experiments.split_speech.running import run_split_speech

__all__ = ["predict_split_speech", "run_split_speech"]
