"""The real thing, deployed on loopback: sites with TLS, keys and real recordings, one that leaves, a server that dies."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deployed import SCRIPTS, Federation, federation, left_behind

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
@pytest.mark.usefixtures("heeded_interrupts")
def test_three_sites_learn_though_one_leaves_and_the_server_dies(data_root: Path, tmp_path: Path) -> None:
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
        with launched(sites, folder, "--nodes", "3") as run:
            wait_for_round(1, folder, run)
            sites.stop("c")  # round 2 has begun
            wait_for_round(2, folder, run)
            sites.kill_server_app()
            run.send_signal(signal.SIGINT)
            assert "continue with the same command" in run.communicate(timeout=240)[1]
        paid = [charge.round for charge in read_ledger(folder.ledger)[1]]
        with launched(sites, folder, "--nodes", "2", "--resume") as run:
            said = run.communicate(timeout=600)[1]
        assert run.returncode == 0, said + sites.log("superlink")[-2000:] + sites.log("a")[-2000:]
        assert stranger.poll() not in (None, 0), "the SuperLink let in a node that nobody has registered"
        assert all(sites.processes[name].poll() is None for name in "ab")

    result = json.loads(folder.result.read_text())
    assert result["wer"]["after"] < result["wer"]["before"] - 0.2, result["wer"]
    assert [line["round"] for line in folder.read_rounds()] == [0, 1, 2, 3]
    terms, charges = read_ledger(folder.ledger)
    # Killed between the record of a round and its checkpoint, it does that round again, and pays again.
    again = [2] if "round 2/3" in said else []
    assert [charge.round for charge in charges] == [*paid, *again, 3]
    assert paid in ([1, 2], [1, 2, 3])
    assert {charge.event.to_json()["kind"] for charge in charges} == {"poisson-gaussian"}
    assert terms.population == 6
    assert "what the server cannot see" in result["statement"]
    assert "round 3/3" in said
    assert "round 1/3" not in said
    assert not left_behind(str(tmp_path / "federation" / "home"))


@contextmanager
def launched(sites: Federation, folder: RunFolder, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [SCRIPTS / "sordino", "flower", "run", folder.path.with_name("my.toml"), "--superlink", "clinic",
               "--draw-at-nodes", "--timeout", "240", "--out", folder.path, *options]  # fmt: skip
    with subprocess.Popen(command, env=sites.environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_round(number: int, folder: RunFolder, run: subprocess.Popen[str]) -> None:
    while run.poll() is None and (not folder.rounds.exists() or len(folder.read_rounds()) <= number):
        time.sleep(0.05)
    assert run.poll() is None, run.communicate()[1]
