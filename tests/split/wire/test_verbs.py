"""``sordino split train`` and ``predict``: the same experiment with a server elsewhere, and new texts through it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from served import TOKEN, serving

from sordino.cli import main
from sordino.errors import ConfigError, DataError
from sordino.experiments.split import predict_split
from sordino.experiments.tasks.divided import SplitServer
from sordino.privacy.ledger import read_ledger
from sordino.split.local_server import LocalStates
from sordino.split.tiny_model import save_tiny_model
from sordino.split.wire.holders import TOKEN_VARIABLE

EXPERIMENT = """
task = "split"
methods = ["hidden-echo"]
[data]
texts = { method = "synthetic-notes", count = 60 }
train = 16
test = 8
public = 8
[model]
source = "MODEL"
layers = [2, 5]
[training]
method = "client-only"
epochs = 1
[privacy]
noise = { method = "gaussian", noise_multiplier = 0.4 }
"""


def sordino(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[str, str]:
    """What a call that succeeds prints to stdout and stderr."""
    with patch.object(sys, "argv", ["sordino", *map(str, arguments)]), pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert not stop.value.code, printed.err
    return printed.out, printed.err


@pytest.mark.slow
def test_train_and_predict_with_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    model, run = tmp_path / "model", tmp_path / "run"
    save_tiny_model(model, texts=["slept well", "slept badly"], seed=0)
    (tmp_path / "notes.toml").write_text(EXPERIMENT.replace("MODEL", str(model)))
    (tmp_path / "new.txt").write_text("slept badly again\n\nas good as ever\n")
    with serving(LocalStates.load(str(model))) as server:
        where = ("--server", f"127.0.0.1:{server.port}", "--insecure")
        said, _ = sordino(capsys, "split", "train", tmp_path / "notes.toml", *where, "--out", run, "--json")
        result = json.loads(said)
        assert result["server"]["place"] == "remote"
        assert result["wire"]["calls"] == server.service.counts["OK"] > 1
        assert result["bytes"] == result["wire"]["payload"]
        said, _ = sordino(capsys, "split", "predict", run, tmp_path / "new.txt", *where, "--json")
        told = json.loads(said)
        assert [one["text"] for one in told["predictions"]] == ["slept badly again", "as good as ever"]
        for one in told["predictions"]:
            assert sum(one["scores"].values()) == pytest.approx(1, abs=1e-5)
            assert one["scores"][one["label"]] == max(one["scores"].values())
        shown, words = sordino(capsys, "split", "predict", run, "slept badly again")
        assert "slept badly again" in shown
        assert "For one sequence" in words
        assert "3 draws now" in words
    _, charges = read_ledger(run / "ledger.jsonl")
    assert len(charges) == 3
    assert len({charge.round for charge in charges}) == 3
    assert json.loads((run / "privacy.json").read_text())["epsilon"]["pld"] > result["epsilon"]["pld"]


def test_another_model_is_refused_before_anything_is_drawn_or_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sordino.experiments import load_experiment

    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    for name, seed in (("model", 0), ("other", 1)):
        save_tiny_model(tmp_path / name, texts=["slept well"], seed=seed)
    (tmp_path / "notes.toml").write_text(EXPERIMENT.replace("MODEL", str(tmp_path / "model")))
    load_experiment(tmp_path / "notes.toml").run(tmp_path / "run")
    with serving(LocalStates.load(str(tmp_path / "other"))) as server:
        place = SplitServer(place="remote", address=f"127.0.0.1:{server.port}", insecure=True)
        with pytest.raises(ConfigError, match="find that one, or train again"):
            predict_split(tmp_path / "run", ["slept well"], server=place)
        assert server.service.counts == {"OK": 1}
    with pytest.raises(DataError, match="text 2 of 2 is empty"):
        predict_split(tmp_path / "run", ["slept well", " "])
    assert len(read_ledger(tmp_path / "run" / "ledger.jsonl")[1]) == 1
