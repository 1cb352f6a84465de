"""Named random streams: the same seed and names give the same numbers, whatever else was drawn before.

Nothing here protects anyone. Noise and cohorts that carry a guarantee come from `sordino.privacy.noise`.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass

import numpy as np

__all__ = ["Seeds"]


@dataclass(frozen=True, slots=True)
class Seeds:
    """A tree of random streams, each reached by its path of names.

    Two paths give independent streams, so a run that resumes in round 7 draws what the unbroken run drew there.

    Args:
        root: the experiment's ``seed``.
        path: names from the root to here.
    """

    root: int
    path: tuple[str, ...] = ()

    @classmethod
    def from_entropy(cls) -> Seeds:
        """A tree that nobody can predict or repeat, from the operating system's entropy."""
        return cls(secrets.randbits(128))

    def at(self, *names: str | int) -> Seeds:
        """The subtree under ``names``."""
        return Seeds(self.root, self.path + tuple(str(name) for name in names))

    def key(self) -> bytes:
        """32 bytes that stand for this place in the tree."""
        text = json.dumps([self.root, *self.path], ensure_ascii=False)
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=32, person=b"sordino seeds").digest()

    def integer(self) -> int:
        """A seed below 2**63 for libraries that take an integer."""
        return int.from_bytes(self.key()[:8], "little") >> 1

    def generator(self) -> np.random.Generator:
        """A fresh numpy generator at this place."""
        return np.random.default_rng(int.from_bytes(self.key(), "little"))
