"""The tiny model is on disk as a whole or not at all: a run that goes on takes what is there for good."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors import SafetensorError
from transformers import LlamaForCausalLM

from sordino.split import LocalStates
from sordino.split.tiny_model import save_tiny_model


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(_: object, folder: Path) -> None:
        folder.mkdir()
        (folder / "config.json").write_text("{")
        raise SafetensorError("No space left on device")

    with monkeypatch.context() as full:
        full.setattr(LlamaForCausalLM, "save_pretrained", half)
        with pytest.raises(OSError, match="No space left") as caught:
            save_tiny_model(tmp_path / "model", texts=["a note"], seed=0)
    assert caught.value.filename == str(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    save_tiny_model(tmp_path / "model", texts=["a note"], seed=0)
    assert LocalStates.load(str(tmp_path / "model")).describe().num_blocks == 6
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
