"""Layouts that recordings come in: one class in one file."""
