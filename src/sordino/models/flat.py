"""Every trainable tensor as a view into one float32 vector, and every gradient into another.

Reading or loading all adapters is then one copy, zeroing all gradients one fill, and an optimiser sees one big slice a
component instead of hundreds of small matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

import torch
from torch import nn

from sordino._check import one_of
from sordino.errors import ConfigError
from sordino.layout import ParameterLayout

__all__ = ["FlatModule", "FlatParameters", "trainable"]


def trainable(model: nn.Module) -> list[tuple[str, str, nn.Parameter]]:
    """Name, component and tensor of all that is trained, in the order of the flat vector.

    The component is the attribute of ``model`` that holds the tensor. Frozen tensors, buffers and integers are left
    out, a tensor reached under two names counts once, and peft's adapter name is taken out of the names.
    """
    return [
        (name.replace(".default.", "."), name.split(".", 1)[0], tensor)
        for name, tensor in model.named_parameters()
        if tensor.requires_grad and tensor.is_floating_point()
    ]


class FlatParameters:
    """The trainable tensors of a model, moved into one vector that they stay views of.

    | what happens | then |
    |---|---|
    | an in-place step on `parameters`, `load`, ``load_state_dict`` | the model changes with the vector |
    | ``zero_grad`` of a module or optimiser sets gradients to None | that means zero: `attach` puts zeroed views back |
    | a trainable tensor is bfloat16 | it becomes float32, once |
    | ``model.to(device)`` | views cannot move; the model builds a new `FlatParameters` |

    Args:
        tensors: name, component and tensor of each, as `trainable` lists them; changed in place.

    Attributes:
        layout: where each tensor lies.
        values: float32 [size], the parameters.
        gradient: float32 [size], their gradients.

    Raises:
        ConfigError: nothing to train.
    """

    def __init__(self, tensors: Iterable[tuple[str, str, nn.Parameter]]) -> None:
        entries = list(tensors)
        if not entries:
            raise ConfigError(
                "the model has nothing to train; set model.train_connector = true, or name targets in model.lora."
            )
        self.layout = ParameterLayout.from_shapes((name, component, t.shape) for name, component, t in entries)
        device = entries[0][2].device
        self.values = torch.empty(self.layout.size, dtype=torch.float32, device=device)
        self.gradient = torch.zeros_like(self.values)
        self._views: list[tuple[nn.Parameter, torch.Tensor]] = []
        for slot, (_, _, tensor) in zip(self.layout.slots, entries, strict=True):
            view = self.values[slot.start : slot.stop].view(slot.shape)
            view.copy_(tensor.detach())
            tensor.data = view
            self._views.append((tensor, self.gradient[slot.start : slot.stop].view(slot.shape)))
        self._runs = self._contiguous_runs()
        self.attach()

    def _contiguous_runs(self) -> dict[str, list[nn.Parameter]]:
        """One leaf for each stretch of neighbouring tensors of a component."""
        runs: dict[str, list[nn.Parameter]] = {}
        for component, (start, stop) in _stretches(self.layout):
            run = nn.Parameter(self.values[start:stop])
            self._views.append((run, self.gradient[start:stop]))
            runs.setdefault(component, []).append(run)
        return runs

    def parameters(self, component: str | None = None) -> list[nn.Parameter]:
        """What an optimiser steps on: a few long vectors sharing storage with the model's tensors.

        Args:
            component: e.g. ``encoder``; all components if not given.

        Raises:
            ConfigError: nothing of that component is trained.
        """
        if component is None:
            return [run for runs in self._runs.values() for run in runs]
        return self._runs[one_of("component", component, self._runs)]

    def load(self, vector: torch.Tensor) -> None:
        """Sets all parameters to ``vector``, float32 [size]."""
        self.values.copy_(vector)

    def snapshot(self) -> torch.Tensor:
        """A copy of all parameters, float32 [size], in main memory wherever the model runs."""
        return self.values.detach().to("cpu", copy=True)

    def zero_gradient(self) -> None:
        """Sets all gradients to zero, in one fill."""
        self.gradient.zero_()
        self.attach()

    def attach(self) -> None:
        """Makes every gradient a view of `gradient` again, where ``zero_grad`` or an assignment put something else."""
        for tensor, view in self._views:
            if tensor.grad is view:
                continue
            if tensor.grad is None:
                view.zero_()
            else:
                view.copy_(tensor.grad)
            tensor.grad = view


class FlatModule(nn.Module):
    """A module whose trainable tensors are one flat vector, wherever it is moved and however its gradients are cleared.

    A subclass makes ``self.flat`` when its tensors are there.

    Attributes:
        flat: what requires a gradient, as one vector.
    """

    flat: FlatParameters

    @property
    def layout(self) -> ParameterLayout:
        """Where each trainable tensor lies in ``flat.values``."""
        return self.flat.layout

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.flat = FlatParameters(trainable(self))
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets all gradients to zero; they stay views of ``flat.gradient`` whatever ``set_to_none`` says."""
        super().zero_grad(set_to_none)
        self.flat.attach()


def _stretches(layout: ParameterLayout) -> list[tuple[str, tuple[int, int]]]:
    stretches: list[tuple[str, tuple[int, int]]] = []
    for slot in layout.slots:
        if stretches and stretches[-1][0] == slot.component:
            stretches[-1] = (slot.component, (stretches[-1][1][0], slot.stop))
        else:
            stretches.append((slot.component, (slot.start, slot.stop)))
    return stretches
