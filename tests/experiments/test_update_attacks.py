"""Attacks on the updates of a real experiment: bare they give words away, under much noise they do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sordino.errors import ConfigError
from sordino.experiments import load_experiment
from sordino.experiments.assembly import assemble
from sordino.experiments.auditing import AuditSize
from sordino.experiments.update_attacks import attack_updates, gather_updates
from sordino.seeds import Seeds

VOICES = (
    "data.corpus.voices=16", "data.corpus.utterances_per_voice=4", "data.corpus.seen_utterances_per_voice=0",
    'data.corpus.languages=["en"]', "data.corpus.digits=[1,1]", "privacy.population=16", "privacy.delta=1e-4",
)  # fmt: skip


@pytest.mark.slow
def test_words_are_in_the_bare_update_and_not_under_the_noise(small: Path) -> None:
    parts = assemble(load_experiment(small, [*VOICES, "privacy.noise_multiplier=3"]))
    before = parts.model.flat.snapshot()
    gathered = gather_updates(parts, seeds=Seeds(0), speakers=15, utterances=4)
    assert torch.equal(parts.model.flat.snapshot(), before)
    assert gathered.updates.shape == (60, parts.model.layout.size)
    assert (np.linalg.norm(gathered.updates, axis=1) > 0).all()
    assert gathered.victims.sum() == 20
    assert not {n for n, v in zip(gathered.speakers, gathered.victims, strict=True) if v} & {
        n for n, v in zip(gathered.speakers, gathered.victims, strict=True) if not v
    }
    found = {**attack_updates(gathered, seeds=Seeds(1)), **attack_updates(gathered, parts.plan, seeds=Seeds(1))}
    assert len(found) == 2 * 3 * 3
    for part in ("", ", rest"):
        assert found[f"words, bare{part}"]["ci95"][0] > found[f"words, bare{part}"]["chance"] + 0.1
        assert found[f"words, bare{part}"]["mel_error"] < 0.98
    assert found["words, bare, encoder"]["success"] > found["words, bare, encoder"]["chance"]
    released = found["words, released"]
    assert released["success"] < (found["words, bare"]["success"] + released["chance"]) / 2
    assert found["voice, bare, 2 rounds"]["chance"] == 1 / 5
    assert "after 2 round(s)" in found["voice, bare, 2 rounds"]["asks"]


def test_an_update_may_rest_on_several_utterances_of_one_speaker(small: Path) -> None:
    parts = assemble(load_experiment(small, VOICES))
    pairs = gather_updates(parts, seeds=Seeds(0), speakers=6, utterances=4, together=2)
    assert pairs.updates.shape == (12, parts.model.layout.size)
    assert pairs.each == 2
    owned: dict[str, list[str]] = {}
    for clip in parts.splits.train:
        owned.setdefault(clip.speaker, []).append(clip.text)
    for index, (speaker, text) in enumerate(zip(pairs.speakers, pairs.texts, strict=True)):
        assert text == " ".join(owned[speaker][2 * (index % 2) : 2 * (index % 2) + 2])
    alone = gather_updates(parts, seeds=Seeds(0), speakers=6, utterances=4)
    assert alone.speakers[::2] == pairs.speakers
    assert not np.allclose(alone.updates[::2], pairs.updates)
    with pytest.raises(ConfigError, match="--updates needs 6 speakers with 6 utterances: the training data has 0"):
        gather_updates(parts, seeds=Seeds(0), utterances=4, together=3)


def test_too_few_speakers_are_refused(small: Path) -> None:
    parts = assemble(load_experiment(small, ["data.corpus.voices=4", "privacy.population=9"]))
    with pytest.raises(ConfigError, match="--updates needs 6 speakers"):
        gather_updates(parts, seeds=Seeds(0))


def test_shadow_runs_need_membership() -> None:
    for size in ({"shadows": 4}, {"shadows": 1, "membership": True}, {"shadows": -1, "membership": True}):
        with pytest.raises(ConfigError, match="--shadows"):
            AuditSize(**size)  # type: ignore[arg-type]
