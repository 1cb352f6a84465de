"""Kinds of experiment: the tables and keys of each one's file, found by their registry."""

from sordino.experiments.tasks.base import TASKS, Experiment

__all__ = ["TASKS", "Experiment"]
