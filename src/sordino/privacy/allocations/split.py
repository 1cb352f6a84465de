"""Fixed fractions of the budget for the components of the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sordino._check import finite, fraction, one_of, positive
from sordino.config import option
from sordino.errors import ConfigError
from sordino.layout import ParameterLayout
from sordino.privacy.allocations.base import ALLOCATIONS, Allocation, AllocationState, Blocks

__all__ = ["AlphaSplit", "recommended_alpha"]

_ALPHA = 0.05


@ALLOCATIONS.register("alpha-split")
@dataclass(frozen=True, slots=True)
class AlphaSplit(Allocation):
    """Pools with given fractions of C**2; inside a pool each group by its number of parameters.

    With ``alpha`` the encoder gets alpha and everything else 1 - alpha: ``C_g = C sqrt(alpha p_g / p_encoder)`` for its
    groups. ``fractions`` names pools by component instead, e.g. ``{encoder = 0.05, connector = 0.05, decoder = 0.9}``;
    an unnamed connector joins the decoder's pool, and other unnamed components share what is left to 1. A pool whose
    component has no trainable tensor gives its budget to the others. alpha = 0 zeroes the encoder's update, which
    freezes it.

    Source: arXiv 2609.11762, section on alpha-split clipping.
    """

    alpha: float = option("Fraction of the squared clip norm for the encoder.", _ALPHA)
    fractions: Mapping[str, float] | None = option("Fraction of each component instead of alpha.", None)

    def __post_init__(self) -> None:
        fraction("privacy.allocation.alpha", self.alpha, zero=True)
        for component, share in (self.fractions or {}).items():
            if finite(f"privacy.allocation.fractions.{component}", share) < 0:
                raise ConfigError(f"privacy.allocation.fractions.{component} = {share}: expected >= 0; raise it.")
        total = math.fsum((self.fractions or {}).values())
        if total > 1 + 1e-9:
            raise ConfigError(
                f"privacy.allocation.fractions sum to {total:.6g}: expected at most 1; lower one of them."
            )
        if self.fractions and self.alpha != _ALPHA:
            raise ConfigError(
                f"privacy.allocation.alpha = {self.alpha:g} beside fractions: expected one of them; remove alpha, or write "
                f"fractions = {{encoder = {self.alpha:g}}}."
            )

    def require_known(self, layout: ParameterLayout) -> None:
        """Raises ConfigError when ``fractions`` names a component that no model has."""
        known = tuple(dict.fromkeys((*layout.components, "encoder", "connector", "decoder")))
        for name in self.fractions or {}:
            one_of("privacy.allocation.fractions", name, known)

    def blocks(self, layout: ParameterLayout) -> Blocks:
        """Each group by itself; raises ConfigError when ``fractions`` names a component that no model has."""
        self.require_known(layout)
        return layout.groups

    def pools(self, layout: ParameterLayout) -> Mapping[str, tuple[int, ...]]:
        """The blocks of each pool that has any."""
        members: dict[str, list[int]] = {}
        for index, block in enumerate(self.blocks(layout)):
            members.setdefault(self._pool(block.components), []).append(index)
        return {name: tuple(indices) for name, indices in members.items()}

    def shares(self, blocks: Blocks, state: AllocationState) -> Sequence[float]:  # noqa: ARG002
        """``fraction(pool) p_g / p_pool`` for each block."""
        sizes: dict[str, int] = {}
        for block in blocks:
            pool = self._pool(block.components)
            sizes[pool] = sizes.get(pool, 0) + block.size
        return [
            self._fraction(pool) * block.size / (sizes[pool] or 1)
            for block, pool in ((block, self._pool(block.components)) for block in blocks)
        ]

    def _named(self) -> Mapping[str, float]:
        return self.fractions if self.fractions else {"encoder": self.alpha}

    def _pool(self, components: Sequence[str]) -> str:
        pools = {self.pool_of(component) for component in components}
        if len(pools) > 1:
            raise ConfigError(
                f"a group touches the components {', '.join(components)}, which belong to different pools; "
                "choose a finer privacy.grouping."
            )
        return pools.pop()

    def pool_of(self, component: str) -> str:
        """The pool that a component belongs to."""
        named = self._named()
        if component == "connector" and component not in named and "decoder" in named:
            return "decoder"
        return component if component in named else "rest"

    def _fraction(self, pool: str) -> float:
        named = self._named()
        return named[pool] if pool in named else max(1 - math.fsum(named.values()), 0.0)


def recommended_alpha(encoder_norm: float, decoder_norm: float) -> float:
    """The alpha that gives the encoder's pool room for twice the encoder's norm: ``(2 N_E)^2 / ((2 N_E)^2 + N_D^2)``.

    Args:
        encoder_norm: N_E, typical norm of the encoder's part of an update, from public or synthetic data; reading it off
            the clients would be a release that nothing accounts for.
        decoder_norm: N_D, likewise of everything else.

    Source: arXiv 2609.11762, the two criteria for alpha.
    """
    wanted = (2 * positive("encoder_norm", encoder_norm)) ** 2
    return wanted / (wanted + positive("decoder_norm", decoder_norm) ** 2)
