"""Experiments whose clients are Flower's nodes: what the server does of each task, and what a node does of it."""
