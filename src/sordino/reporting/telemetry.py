"""What debug telemetry recorded of a round's clients, as values. None of it is covered by a guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Block", "Group", "Telemetry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What was clipped together in a round.

    Attributes:
        clip_norm: its bound C_b; None without one.
        mean_norm: the clients' mean norm before clipping.
        clip_rate: fraction of the clients whose norm was above the bound.
        clip_ratio: their mean of min(1, C_b / norm), what was left of them; None where it was not recorded.
    """

    name: str
    clip_norm: float | None
    mean_norm: float
    clip_rate: float
    clip_ratio: float | None = None

    @property
    def component(self) -> str:
        """Part of the model that the block lies in; ``all`` for the whole update, ``mixed`` for a pool of parts."""
        head = self.name.split(".", 1)[0]
        return head if head in ("encoder", "connector", "decoder", "all") else "mixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One tensor, layer or component in a round, whatever it was clipped together with.

    Attributes:
        component: part of the model it lies in.
        size: number of parameters, p.
        mean_norm: the clients' mean norm before clipping.
        noise_std: standard deviation of the noise on each coordinate of the released mean; 0 without noise.
        snr: the clients' norm as sent, a coordinate, over ``noise_std``; None without noise, or where it was not recorded.
    """

    name: str
    component: str
    size: int
    mean_norm: float
    noise_std: float
    snr: float | None = None

    @property
    def noise_norm(self) -> float:
        """Expected norm of the noise on this group of the released mean, ``noise_std sqrt(p)``."""
        return self.noise_std * math.sqrt(self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What debug telemetry recorded of a round's clients.

    Attributes:
        blocks: what was clipped together.
        groups: the same by tensor, layer or component, where it was recorded.
        components: mean norm of each part of the model's update before clipping, where it was recorded.
    """

    drawn: int
    replies: int
    not_finite: int
    loss: float
    blocks: tuple[Block, ...]
    groups: tuple[Group, ...]
    components: Mapping[str, float]

    @property
    def counted(self) -> int:
        """Clients that the means are over; where nobody was drawn, they are zeros that say nothing."""
        return self.replies - self.not_finite

    @property
    def norm_ratio(self) -> float | None:
        """Norm of the rest of the model's update over the encoder's; None where there is not both."""
        encoder = self.components.get("encoder", 0.0)
        rest = [norm for name, norm in self.components.items() if name != "encoder"]
        return math.hypot(*rest) / encoder if rest and encoder > 0 else None

    @property
    def signal_to_noise(self) -> Mapping[str, float]:
        """Of each component, the root mean square of a coordinate as sent over that of its noise.

        With ``snr_g = norm_g / (sqrt(p_g) std_g)`` it is ``sqrt(sum norm_g**2 / sum p_g std_g**2)`` over its groups.
        Components without noise or record are left out.
        """
        ratios = {}
        for component in dict.fromkeys(group.component for group in self.groups):
            known = [group for group in self.groups if group.component == component and group.snr is not None]
            noise = math.hypot(*(group.noise_norm for group in known))
            if noise > 0:
                ratios[component] = math.hypot(*(group.snr * group.noise_norm for group in known if group.snr)) / noise
        return ratios
