"""How embeddings leave the client: noised, paid for, drawn once, and remembered for life.

One draw of noise a sequence is all that anybody but the client ever sees of it in the default mode. A second draw would be
a second release, and the mean of many draws is the clean embedding; so what was drawn is kept, and sent again as it is.
Draws are kept by what they are for, never by content: equal texts with equal noise would show that they are equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch

from sordino.errors import PrivacyError
from sordino.privacy import Ledger, MetricRelease, NoiseSource
from sordino.records import replace_file
from sordino.split.noise import EmbeddingNoise, Space
from sordino.split.noise.base import Rows, Unit
from sordino.split.tally import Tally

__all__ = ["Sender"]

_OF: Final = "of"


@dataclass(frozen=True, kw_only=True)
class Sender:
    """The only door through which embeddings leave.

    Attributes:
        noise: the law.
        space: where embeddings lie.
        unit: what the ledger's figures are about.
        ledger: pays.
        source: where randomness comes from.
        folder: what was drawn is kept here, so that a run that goes on draws nothing again; None keeps it in memory alone.
        tally: counts what goes beside the exchanges.
    """

    noise: EmbeddingNoise
    space: Space
    unit: Unit
    ledger: Ledger
    source: NoiseSource = field(default_factory=NoiseSource)
    folder: Path | None = None
    tally: Tally = field(default_factory=Tally)

    def once(self, sets: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The noised rows of some sets of sequences, the same whenever they are asked for.

        All sets that were not drawn yet are paid for by one charge: no sequence is in two of them.

        Args:
            sets: clean embeddings of all tokens, by the name of the set.

        Raises:
            PrivacyError: what was kept under a name is of other sequences.
        """
        kept = {name: rows for name in sets if (rows := self._kept(name, sets[name])) is not None}
        missing = {name: rows for name, rows in sets.items() if name not in kept}
        drawn = self.again(missing, draw=1) if missing else {}
        for name, rows in drawn.items():
            self._keep(name, rows, clean=sets[name])
        return {**kept, **drawn}

    def again(self, sets: Mapping[str, torch.Tensor], *, draw: int) -> dict[str, torch.Tensor]:
        """A fresh draw, which is charged and not kept; what `once` gives is draw 1."""
        rows = self._drawn(torch.cat(list(sets.values())), space=self.space, draw=draw, place=("draw", draw, *sets))
        parts = np.split(rows, np.cumsum([len(one) for one in sets.values()])[:-1])
        return {name: torch.from_numpy(part) for name, part in zip(sets, parts, strict=True)}

    def written(self, rows: torch.Tensor) -> torch.Tensor:
        """Noised embeddings of tokens that a network has written, one after each of some texts; not kept.

        The network was trained on all texts as they are, so any of them can have changed each of the tokens, wherever it is
        written: every token costs what a draw on one token costs, and these together that many.

        Shape:
            rows, result: float32 [texts, d]

        Raises:
            PrivacyError: noise with a metric guarantee, for which no distance bounds what is written.
        """
        space, draw = replace(self.space, written=len(rows)), len(self.ledger.charges) + 1
        if isinstance(self.noise.event(self.unit, space=space), MetricRelease):
            raise PrivacyError(
                f'privacy.noise = "{self.noise.name}" bounds a token by how near another is, and what is written follows '
                'the text in leaps: expected noise that bounds any two tokens; use "gaussian".'
            )
        return torch.from_numpy(self._drawn(rows, space=space, draw=draw, place=("written", draw)))

    def _drawn(self, rows: torch.Tensor, *, space: Space, draw: int, place: tuple[str | int, ...]) -> Rows:
        receipt = self.ledger.charge(self.noise.event(self.unit, space=space), round=draw)
        return self.noise.release(
            rows.numpy(), space=space, unit=self.unit, receipt=receipt, noise=self.source, place=place
        )

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name}.safetensors"

    def _kept(self, name: str, clean: torch.Tensor) -> torch.Tensor | None:
        from safetensors import safe_open

        path = self._path(name)
        if path is None or not path.exists():
            return None
        with safe_open(path, framework="pt") as file:
            rows: torch.Tensor = file.get_tensor("noised")
            begun = (file.metadata() or {}).get(_OF)
        if begun != _fingerprint(clean):
            raise PrivacyError(
                f"the noised embeddings kept as {name!r} are of {len(rows)} other tokens: expected those of the same "
                f"{len(clean)}; continue the run with the data it began with, or begin another."
            )
        return rows

    def _keep(self, name: str, rows: torch.Tensor, *, clean: torch.Tensor) -> None:
        from safetensors.torch import save

        if (path := self._path(name)) is not None:
            replace_file(path, save({"noised": rows.contiguous()}, metadata={_OF: _fingerprint(clean)}))


def _fingerprint(clean: torch.Tensor) -> str:
    """Tells sequences apart, at the client alone: what was drawn for some must not be sent for others."""
    return hashlib.sha256(clean.contiguous().numpy().tobytes()).hexdigest()
