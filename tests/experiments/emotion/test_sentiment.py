"""A sentiment is predicted from feature files alone, of which some segments lack some."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.experiments import load_experiment
from sordino.records import RunFolder
from sordino.reporting.summaries import summarise

FILE = """
task = "emotion"
[data]
corpus = { method = "sentiment-features", labels = "label.csv" }
public_speakers = 2
own_scale = false
[model]
modalities = ["sound", "face"]
features = { sound = "sound.npz", face = "face.npz" }
branch = { hidden = 8, dropout = 0.0, statistics = ["mean"] }
[modality]
withdrawn = "face"
local = { epochs = 40, lr = 1e-2, weight_decay = 0.01, batch_size = 8 }
mode = { method = "surgery", epsilon = 4.0 }
[evaluation]
folds = 3
[simulation]
threads = 1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Nine videos; the sound's first column is the sentiment, with noise, and every fourth segment has no face."""
    random, rows = np.random.default_rng(0), ["video_id,clip_id,label,mode,text"]
    sound, face = {}, {}
    for video in range(9):
        for clip in range(6):
            sentiment, name = random.uniform(-3, 3), f"v{video}[{clip}]"
            rows.append(f"v{video},{clip},{sentiment:.3f},{'test' if video > 6 else 'train'},words")
            sound[name] = sentiment + 0.3 * random.normal(size=(4, 3)).astype(np.float32)
            if clip % 4:
                face[name] = sentiment + random.normal(size=(5, 2)).astype(np.float32)
    (tmp_path / "label.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    np.savez(tmp_path / "sound.npz", **sound)
    np.savez(tmp_path / "face.npz", **face)
    (tmp_path / "sentiment.toml").write_text(FILE, encoding="utf-8")
    return tmp_path / "sentiment.toml"


def test_a_sentiment_is_predicted_from_feature_files(file: Path, tmp_path: Path) -> None:
    result = load_experiment(file).run(tmp_path / "run")
    assert list(result["masks"]) == ["sound+face", "sound", "face"]
    assert result["masks"]["sound"]["mean_absolute_error"] < 0.8
    assert result["masks"]["sound"]["correlation"] > 0.8
    assert 3.9 < result["certificate"]["epsilon"] <= 4.0
    table = summarise(RunFolder.open(tmp_path / "run")).tables[0]
    assert [column.title for column in table.columns][1:] == ["mean absolute error", "correlation", "same sign"]
