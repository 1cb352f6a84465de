"""The real thing, deployed on loopback: three sites with TLS and keys, real recordings, and one that dies on the way."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from deployed import SCRIPTS, federation, left_behind

from sordino.config import build
from sordino.data import CORPORA, write_manifest
from sordino.privacy import read_ledger
from sordino.records import RunFolder

EXPERIMENT = """
[data.corpus]
method = "manifest"
train = "stays-at-the-sites.jsonl"
test = "test.jsonl"

[federated]
rounds = 3
cohort = { method = "poisson", rate = 1.0 }
local = { epochs = 2, lr = 6e-3, batch_size = 16 }

[privacy]
population = 6
noise_multiplier = 0.1
clip_norm = 2.0
allocation = "flat"

[simulation]
threads = 1
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_three_sites_learn_and_one_dies(data_root: Path, tmp_path: Path) -> None:
    digits = build(CORPORA.get("fsdd"), {"path": str(data_root / "fsdd"), "digits_per_clip": [1, 2], "train_strings": 30,
                                         "test_strings": 4}).load(2.0)  # fmt: skip
    people = sorted({utterance.speaker for utterance in digits.train})
    for index, site in enumerate("abc"):
        spoken = [u for u in digits.train if u.speaker in people[2 * index : 2 * index + 2]]
        write_manifest(tmp_path / f"{site}.jsonl", spoken)
    write_manifest(tmp_path / "test.jsonl", digits.test)
    (tmp_path / "my.toml").write_text(EXPERIMENT, encoding="utf-8")
    folder = RunFolder(tmp_path / "run")

    with federation(tmp_path / "federation", "abc") as sites:
        for site in "abc":
            sites.start_node(site, tmp_path / f"{site}.jsonl")
        stranger = sites.start_node("stranger", tmp_path / "a.jsonl")
        command = [SCRIPTS / "sordino", "flower", "run", tmp_path / "my.toml", "--superlink", "clinic", "--nodes", "3",
                   "--draw-at-nodes", "--timeout", "240", "--out", folder.path]  # fmt: skip
        run = subprocess.Popen(command, env=sites.environment, stderr=subprocess.PIPE, text=True)
        while run.poll() is None and not (folder.rounds.exists() and len(folder.read_rounds()) > 1):
            time.sleep(0.2)
        sites.kill("c")  # round 2 has begun
        said = run.communicate(timeout=600)[1]
        assert run.returncode == 0, said + sites.log("superlink")[-2000:] + sites.log("a")[-2000:]
        assert stranger.poll() not in (None, 0), "the SuperLink let in a node that nobody has registered"
        assert all(sites.processes[name].poll() is None for name in "ab")

    result = json.loads(folder.result.read_text())
    assert result["wer"]["after"] < result["wer"]["before"] - 0.2, result["wer"]
    terms, paid = read_ledger(folder.ledger)
    assert [charge.round for charge in paid] == [1, 2, 3]
    assert {charge.event.to_json()["kind"] for charge in paid} == {"poisson-gaussian"}
    assert terms.population == 6
    assert "what the server cannot see" in result["statement"]
    assert "round 3/3" in said
    assert not left_behind(str(tmp_path / "federation" / "home"))
