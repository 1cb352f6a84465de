"""Composition root of ``task = "split-speech"``: recordings, a Whisper divided between client and server, noise, attacks."""

from sordino.experiments.split_speech.running import run_split_speech

__all__ = ["run_split_speech"]
