"""Where every method starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from sordino.errors import ConfigError
from sordino.experiments.observer import Progress, Silent
from sordino.experiments.personalised.equipment import Equipment, equip
from sordino.experiments.personalised.start import begin, keep_start
from sordino.experiments.tasks.personalised import PersonalisedExperiment

Small = Callable[..., PersonalisedExperiment]
STILL = "start.local={epochs=1, lr=1e-12}"
"""Training that changes nothing to speak of."""


class Told:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, progress: Progress) -> None:
        pass


def changed(equipment: Equipment, values: torch.Tensor) -> set[str]:
    """Tensors that differ from those of equipment that nothing was trained with yet."""
    before = equipment.model.flat.snapshot()
    moved = (values - before).abs()
    return {slot.name for slot in equipment.model.layout.slots if float(moved[slot.start : slot.stop].max()) > 1e-6}


def test_a_new_output_layer_is_taught_by_itself_before_the_layers_below(small: Small) -> None:
    options, told = small("start.output_layer={epochs=1, lr=1e-2}", STILL), Told()
    values = begin(equip(options), told)
    assert changed(equip(options), values) == {"sd.head.weight", "sd.head.bias"}
    assert [note.split(":")[0] for note in told.notes] == ["start, output layer", "start"]


def test_without_that_all_of_it_is_trained(small: Small) -> None:
    options, told = small("start.local={epochs=1, lr=1e-2}"), Told()
    values = begin(equip(options), told)
    everything = {slot.name for slot in equip(options).model.layout.slots}
    assert changed(equip(options), values) >= {name for name in everything if name.endswith("fc1.weight")}
    assert [note.split(":")[0] for note in told.notes] == ["start"]


def test_a_kept_start_is_taken_as_it_is_and_no_public_speech_is_opened(small: Small, tmp_path: Path) -> None:
    trained = equip(small(STILL))
    values = begin(trained, Silent())
    keep_start(tmp_path / "starts" / "seed0.safetensors", values, trained.model.layout)
    again = small(
        f"start.kept={tmp_path}/starts/seed0.safetensors",
        f"start.corpus={{method='manifest', train='{tmp_path}/none'}}",
    )
    assert torch.equal(begin(equip(again), Silent()), values)


def test_a_start_that_cannot_be_taken_is_refused(small: Small, tmp_path: Path) -> None:
    trained = equip(small())
    keep_start(tmp_path / "kept", trained.model.flat.snapshot(), trained.model.layout)
    (tmp_path / "damaged").write_bytes((tmp_path / "kept").read_bytes()[:100])
    for file, change, message in [
        ("kept", "model.layers=3", r"start\.kept = '.*kept' is of a model with other tensors"),
        ("damaged", "seed=0", r"start\.kept = '.*damaged' cannot be read .*; name starts/seedN\.safetensors"),
        ("absent", "seed=0", r"start\.kept = '.*absent' cannot be read"),
    ]:
        with pytest.raises(ConfigError, match=message):
            begin(equip(small(f"start.kept={tmp_path}/{file}", change)), Silent())
