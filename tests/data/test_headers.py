from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from recorder import record, truncate

from sordino.data import headers
from sordino.data.headers import recording_lengths


@pytest.fixture
def paths(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two good recordings, a torn and an absent one, which count as many."""
    monkeypatch.setattr(headers, "MANY_RECORDINGS", 4)
    files = [record(tmp_path / f"{index}.wav", seconds=0.25 * (index + 1)) for index in range(3)]
    truncate(files[2])
    return [*map(str, files), str(tmp_path / "absent.wav")]


def remembered(cache: Path) -> int:
    return len(list(cache.rglob("*.npy")))


def test_lengths_are_remembered_while_nothing_changes(
    paths: list[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = recording_lengths(paths)
    assert first == {paths[0]: 0.25, paths[1]: 0.5, paths[2]: 0.0, paths[3]: 0.0}
    assert remembered(cache) == 1
    monkeypatch.setattr(headers, "audio_duration", lambda _: pytest.fail("a header was read again"))
    assert recording_lengths(paths) == first
    assert list(recording_lengths(paths)) == paths


def test_a_recording_that_changes_is_read_again(paths: list[str], cache: Path) -> None:
    recording_lengths(paths)
    record(Path(paths[0]), seconds=1.0)
    assert recording_lengths(paths)[paths[0]] == 1.0
    before = Path(paths[1]).stat()
    content = Path(paths[1]).read_bytes()
    Path(paths[1]).write_bytes(b"\0" * len(content))  # the same size, at another time
    os.utime(paths[1], ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert recording_lengths(paths)[paths[1]] == 0.0
    record(Path(paths[3]))
    assert recording_lengths(paths)[paths[3]] == 0.5
    assert remembered(cache) == 4


def test_another_order_is_not_confused(paths: list[str]) -> None:
    first = recording_lengths(paths)
    assert recording_lengths(paths[::-1]) == first


def test_a_cache_that_is_damaged_or_cannot_be_written_only_costs_time(paths: list[str], cache: Path) -> None:
    first = recording_lengths(paths)
    [file] = cache.rglob("*.npy")
    whole = file.read_bytes()
    for damaged in (b"", b"nonsense", whole[:-1]):
        file.write_bytes(damaged)
        assert recording_lengths(paths) == first
    np.save(file, [1.0])
    assert recording_lengths(paths) == first
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("a file where the folder should be")
    assert recording_lengths(paths) == first


def test_few_recordings_leave_nothing_behind(paths: list[str], cache: Path) -> None:
    assert recording_lengths(paths[:2]) == {paths[0]: 0.25, paths[1]: 0.5}
    assert not cache.exists()
