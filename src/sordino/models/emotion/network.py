"""Branches whose contributions are added."""

from __future__ import annotations

import torch
from torch import nn

from sordino.errors import ConfigError
from sordino.models.emotion.branch import Branch
from sordino.models.emotion.clips import Clips

__all__ = ["EmotionNetwork", "objective"]


class EmotionNetwork(nn.Module):
    """``score(clip) = sum of branch_m(clip_m) over the modalities m that the clip has and the network knows``.

    An absent modality is left out of the sum, never masked or replaced: its branch is not run, so that a network with a
    branch that gets nothing gives the same bits as one without it. No parameter belongs to two branches.

    | clip | score |
    |---|---|
    | has modalities that the network knows | their contributions, added in the network's order |
    | has a modality that the network does not know | as if it had not |
    | has none that the network knows | zeros: no class before another |

    Args:
        num_outputs: number of classes; 1 where a number is predicted.
    """

    def __init__(self, num_outputs: int) -> None:
        super().__init__()
        self.num_outputs = num_outputs
        self.branches = nn.ModuleDict()

    @property
    def modalities(self) -> tuple[str, ...]:
        """Names, in the order in which their contributions are added."""
        return tuple(self.branches)

    def branch(self, name: str) -> Branch:
        """The branch of one modality; raises ConfigError if there is none."""
        if name not in self.branches:
            raise ConfigError(
                f"modality {name!r} is not in the network; choose one of {', '.join(self.modalities) or '(none)'}."
            )
        branch = self.branches[name]
        assert isinstance(branch, Branch)  # noqa: S101 - only `extended` adds to it
        return branch

    def extended(self, name: str, branch: Branch) -> EmotionNetwork:
        """A network of the same branches and one more, which replaces one of that name; branches are shared."""
        network = EmotionNetwork(self.num_outputs)
        network.branches.update({**dict(self.branches.items()), name: branch})
        return network

    def reduced(self, name: str) -> EmotionNetwork:
        """A network of the same branches without one; branches are shared."""
        network = EmotionNetwork(self.num_outputs)
        network.branches.update({known: branch for known, branch in self.branches.items() if known != name})
        return network

    def forward(self, clips: Clips) -> torch.Tensor:
        """Scores: float32 [clips, num_outputs]."""
        scores = torch.zeros(len(clips), self.num_outputs)
        for name, branch in self.branches.items():
            if name in clips.vectors:
                scores = scores.index_add(0, clips.rows[name], branch(clips.vectors[name]))
        return scores

    @torch.no_grad()
    def predict(self, clips: Clips) -> torch.Tensor:
        """The best class of each clip, int64 [clips]; or the number, float32 [clips], where one is predicted."""
        self.eval()
        scores: torch.Tensor = self(clips)
        return scores[:, 0] if self.num_outputs == 1 else scores.argmax(1)


def objective(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """What training lowers: the cross-entropy of classes, or the squared error of a number; a mean over clips."""
    if targets.is_floating_point():
        return nn.functional.mse_loss(scores[:, 0], targets)
    return nn.functional.cross_entropy(scores, targets)
