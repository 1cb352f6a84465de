"""Composition root of ``task = "emotion"``: corpus, frozen encoders, branches, withdrawal, certificate."""
