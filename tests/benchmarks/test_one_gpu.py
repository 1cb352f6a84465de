"""The measurement of one device at full size, here at a small one: a night on a GPU is not to be lost to a fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "one_gpu.py"
FEW = (
    "data.corpus.voices=4", "data.corpus.utterances_per_voice=2", "data.corpus.held_out_voices=1",
    "data.corpus.utterances_per_held_out_voice=1", "data.corpus.seen_utterances_per_voice=0", "privacy.population=20",
    "privacy.epsilon=8", "privacy.delta=1e-3",
)  # fmt: skip


@pytest.mark.slow
def test_it_prints_a_line_a_round_and_sums_up() -> None:
    given = [str(ROOT / "examples" / "pocket-audit.toml"), "--rounds", "2", "--clients", "2"]
    command = [sys.executable, str(SCRIPT), *given, *(part for each in FEW for part in ("--set", each))]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False
    )
    assert done.returncode == 0, done.stderr
    *rounds, total = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["round"] for line in rounds] == [1, 2]
    for line in rounds:
        assert line["clients"] == 2
        assert 0 < line["transcript_tokens_a_second"] < line["decoder_tokens_a_second"]
        assert line["seconds"] == pytest.approx(2 * line["seconds_a_client"], abs=2e-3)
    assert total["device"] == "cpu"
    assert total["seconds_a_client"] == pytest.approx(rounds[1]["seconds_a_client"], abs=2e-3)
    assert total["peak_gb"] == max(line["peak_gb"] for line in rounds) > 0
