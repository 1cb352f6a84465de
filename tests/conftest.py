"""Shared fixtures and settings: where real recordings are, and no time limit on single generated examples."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no failure: pytest's own timeout ends what hangs.
settings.register_profile("sordino", deadline=None)
settings.load_profile("sordino")


@pytest.fixture
def heeded_interrupts() -> Iterator[None]:
    """Processes that the test starts can be interrupted, which a shell's background jobs and their children cannot."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """Folder of real recordings; absent outside this layout, and then the test is skipped, but never in CI."""
    here = Path(__file__).resolve().parents[2] / "shared" / "data"
    root = Path(os.environ.get("SORDINO_DATA", here))
    if not root.is_dir():
        reason = f"no recordings at {root}; set SORDINO_DATA to the folder that holds fsdd, nemo and librispeech-10"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return root


@pytest.fixture(scope="session")
def weights_root() -> Path:
    """Folder of pretrained models, which `.ci/run` makes; what they need can be gone one day, so absence is a skip."""
    root = Path(os.environ.get("SORDINO_WEIGHTS", "/nowhere"))
    for name in ("whisper-tiny.en", "smollm2-135m"):
        if not (root / name / "config.json").is_file():
            pytest.skip(f"no pretrained {name}; set SORDINO_WEIGHTS to the folder that holds it")
    return root


SMALL = """
[data.corpus]
method = "synthetic-voices"
voices = 6
utterances_per_voice = 3
held_out_voices = 3
utterances_per_held_out_voice = 2

[federated]
rounds = 3
cohort = { method = "poisson", rate = 0.5 }
local = { epochs = 1, lr = 3e-3, batch_size = 8 }

[privacy]
noise_multiplier = 1.0
population = 6

[simulation]
threads = 1
"""


@pytest.fixture(scope="session")
def small_text() -> str:
    """An experiment whose run takes about a second once the corpus is rendered; private telemetry."""
    return SMALL


@pytest.fixture
def small(small_text: str, tmp_path: Path) -> Path:
    """The file of that experiment."""
    path = tmp_path / "small.toml"
    path.write_text(small_text, encoding="utf-8")
    return path
