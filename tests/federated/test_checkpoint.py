"""Checkpoints are whole or absent, and belong to one model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from sordino.errors import ConfigError
from sordino.federated import ServerState, load_checkpoint, save_checkpoint
from sordino.privacy import AllocationState, Learned

STATE = ServerState(7, torch.randn(11, generator=torch.Generator().manual_seed(0)))
LEARNED = Learned(AllocationState(7, {"mean_square": (0.1, 1e-30), "variance": (3.0, 0.0)}), 0.7)


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint" / "state.safetensors"
    save_checkpoint(path, STATE, LEARNED, digest="abc")
    state, learned = load_checkpoint(path, digest="abc")
    assert state.round == 7
    assert torch.equal(state.values, STATE.values)
    assert learned == LEARNED
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_another_models_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    save_checkpoint(path, STATE, LEARNED, digest="abc")
    with pytest.raises(ConfigError, match="belongs to layout abc, the model has xyz"):
        load_checkpoint(path, digest="xyz")


def test_a_checkpoint_without_its_plan_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "state"
    for plan in ("{}", "[]", '{"rounds": 1, "statistics": {}}'):
        path.write_bytes(save({"values": STATE.values}, metadata={"round": "1", "layout": "abc", "plan": plan}))
        with pytest.raises(ConfigError, match="is not a checkpoint"):
            load_checkpoint(path, digest="abc")


@pytest.mark.parametrize("content", [b"", b"not a tensor file", b"\x00" * 64])
def test_damage_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is not a checkpoint"):
        load_checkpoint(path, digest="abc")


def test_what_is_held_for_single_clients_comes_back_under_their_names(tmp_path: Path) -> None:
    made = [torch.arange(float(n)) for n in (1, 2, 3)]
    names = ["a", "b.0", "\u00e9 / \U0001f399"]
    held = dict(zip(names, made, strict=True))
    state = ServerState(3, STATE.values, models=held, embeddings={"z": made[1]}, counts={"a": made[0]})
    learned = Learned(phases=(LEARNED, Learned()))
    save_checkpoint(tmp_path / "state", state, learned, digest="abc")
    again, known = load_checkpoint(tmp_path / "state", digest="abc")
    assert known == learned
    assert list(again.models) == names
    assert all(torch.equal(again.models[name], held[name]) for name in names)
    assert again.embeddings["z"].tolist() == [0, 1]
    assert again.counts["a"].tolist() == [0]
