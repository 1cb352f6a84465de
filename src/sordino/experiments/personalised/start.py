"""Where every method starts: the recogniser as it is, after public speech, or as an earlier run has kept it.

A new output layer is taught by itself first if asked for: gradients through weights that mean nothing yet distort what the
layers below have learnt from far more speech (Kumar et al., Fine-Tuning can Distort Pretrained Features, 2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from sordino.errors import ConfigError
from sordino.evaluation import normalise
from sordino.experiments.observer import Observer
from sordino.experiments.personalised.equipment import Equipment
from sordino.experiments.tasks.personalised import StartOptions
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.objective import PLAIN, Objective
from sordino.federated.options import LocalOptions
from sordino.federated.part import Part
from sordino.layout import ParameterLayout
from sordino.models.ctc import Recogniser
from sordino.records import replace_file

__all__ = ["begin", "keep_start"]

_PUBLIC = "public"
_VALUES = "values"
_LAYOUT = "layout"


def begin(equipment: Equipment, observer: Observer) -> torch.Tensor:
    """The start that the options ask for, float32 [layout.size].

    Raises:
        ConfigError: a kept start that is not there, or of another model.
        DataError: public recordings that cannot be used.
    """
    start, model = equipment.options.start, equipment.model
    if start.kept is not None:
        return _kept(start.kept, model.layout)
    values = model.flat.snapshot()
    if start.corpus is None:
        return values
    public = start.corpus.load(equipment.options.model.window_s).train
    spelt = [replace(utterance, text=normalise(utterance.text, utterance.language)) for utterance in public]
    for stage, local, objective in _stages(start, model):
        learner = CtcLearner(model, equipment.clips, {_PUBLIC: spelt}, local)
        result = learner.fit(_PUBLIC, values, seeds=equipment.seeds.at(*stage), objective=objective)
        observer.note(
            f"{', '.join(stage)}: {local.epochs} passes over {len(spelt)} public utterances, mean loss {result.loss:.3f}."
        )
        values = values + result.update.values
    return values


def _stages(start: StartOptions, model: Recogniser) -> Iterator[tuple[tuple[str, ...], LocalOptions, Objective]]:
    if start.output_layer is not None:
        yield ("start", "output layer"), start.output_layer, Objective(trained=Part(model.layout, model.output_layer))
    yield ("start",), start.local, PLAIN


def keep_start(path: Path, values: torch.Tensor, layout: ParameterLayout) -> None:
    """Writes a start, float32 [layout.size], to a file that ``start.kept`` can name."""
    replace_file(path, save({_VALUES: values}, metadata={_LAYOUT: layout.digest}))


def _kept(path: Path, layout: ParameterLayout) -> torch.Tensor:
    """What `keep_start` wrote.

    Raises:
        ConfigError: unreadable, or of a model with other tensors.
    """
    try:
        with safe_open(path.expanduser(), framework="pt") as file:
            kept, values = (file.metadata() or {}).get(_LAYOUT), cast("torch.Tensor", file.get_tensor(_VALUES))
    except (OSError, SafetensorError) as error:
        raise ConfigError(
            f"start.kept = {str(path)!r} cannot be read ({error}); name starts/seedN.safetensors of an earlier run."
        ) from None
    if kept != layout.digest:
        raise ConfigError(
            f"start.kept = {str(path)!r} is of a model with other tensors: expected the same model.base, model.layers, "
            "model.split and units as in that run; correct them, or train a new start."
        )
    return values
