"""The copies of a recogniser that train side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import HubertConfig, HubertModel

from sordino.data import write_audio
from sordino.errors import ConfigError
from sordino.experiments.observer import Silent
from sordino.experiments.personalised.bench import make_bench
from sordino.experiments.personalised.equipment import equip
from sordino.experiments.tasks.personalised import PersonalisedExperiment, StartOptions
from sordino.models.ctc import CtcOptions, Recogniser, load_recogniser
from sordino.seeds import Seeds

Small = Callable[..., PersonalisedExperiment]


class Listening(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def small(small: Small) -> Small:
    """With a start that is not trained."""
    return lambda *overrides: replace(small(*overrides), start=StartOptions())


def test_workers_on_named_devices_train_alike(small: Small) -> None:
    updates = []
    for changes in ([], ['simulation.devices=["cpu", "cpu"]']):
        bench = make_bench(small("simulation.workers=2", *changes), Silent())
        client, start = next(iter(bench.training)), bench.model.flat.snapshot()
        updates += [learner.fit(client, start, seeds=Seeds(1)).update.values for learner in bench.learners()]
    assert len(updates) == 4
    assert updates[0].any()
    assert all(torch.equal(update, updates[0]) for update in updates)


def test_each_copy_is_loaded_onto_its_own_device(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def load(options: CtcOptions, *, seed: int) -> Recogniser:
        loaded.append(options.device)
        return load_recogniser(replace(options, device="cpu"), seed=seed)

    monkeypatch.setattr("sordino.experiments.placing.available_device", torch.device)
    monkeypatch.setattr("sordino.experiments.personalised.equipment.load_recogniser", load)
    make_bench(small("simulation.workers=3", 'simulation.devices=["cuda:0", "cuda:1"]'), Silent())
    assert loaded == ["cuda:0", "cuda:1", "cuda:0"]


def test_frames_outlive_the_process_where_its_own_experiment_says_so(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sordino.data.shelf.cache_root", lambda: tmp_path)
    options, frames = small("data.disk_mb=50"), []
    for _ in range(2):
        bench = make_bench(options, Silent())
        utterance = next(iter(bench.training.values()))[0]
        frames.append(bench.equipment.clips.clip(utterance))
        monkeypatch.setattr("sordino.data.clips.read_audio", lambda *_, **__: pytest.fail("computed again"))
    assert torch.equal(*frames)
    assert len(list((tmp_path / "frames").iterdir())) == 1

    monkeypatch.undo()
    monkeypatch.setattr("sordino.data.shelf.cache_root", lambda: pytest.fail("a node's disk is its own"))
    equip(options)


def test_a_device_that_is_not_there_is_refused_by_its_key(small: Small) -> None:
    with pytest.raises(ConfigError, match=r"^simulation\.devices = 'cuda:99'"):
        make_bench(small("simulation.workers=2", 'simulation.devices=["cuda:99", "cuda:98"]'), Silent())


def test_workers_do_not_share_a_stream_of_dropout_masks(small: Small, tmp_path: Path) -> None:
    config = HubertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                          conv_dim=(8,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)  # fmt: skip
    HubertModel(config).save_pretrained(tmp_path)
    hubert = f"model.base={tmp_path}"
    with pytest.raises(ConfigError, match=r"simulation\.workers = 2 with .* drops units while it trains"):
        make_bench(small("simulation.workers=2", hubert), Silent())
    assert make_bench(small("simulation.workers=1", hubert), Silent()).model.drops_units


def test_what_teaches_nothing_is_told(small: Small, tmp_path: Path) -> None:
    lines = []
    for speaker in ("ann", "bo"):
        for clip in range(4):
            name = f"{speaker}-{clip}.flac"
            write_audio(tmp_path / name, np.random.default_rng(clip).uniform(-0.1, 0.1, 4_800).astype(np.float32))
            text = "five " * 9 if clip == 0 else "five uhm" if clip == 1 else "five"
            lines.append(json.dumps({"audio_filepath": name, "duration": 0.3, "text": text, "speaker": speaker}))
    (tmp_path / "all.jsonl").write_text("\n".join(lines))
    listening = Listening()
    manifest = f"data.corpus={{method='manifest', train='{tmp_path}/all.jsonl', held_out=0.25}}"
    make_bench(small(manifest, "data.held_out=0.2", "data.development=0"), listening)
    odd, quick = (note for note in listening.notes if "training" in note)
    assert "hold what the output layer cannot write, such as 'uhm'" in odd
    assert "are shorter than their transcripts, at one unit a frame of 20 ms: nothing is learned from them" in quick
