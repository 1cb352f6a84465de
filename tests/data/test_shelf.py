"""What is kept on disk: to the bit, bounded, the user's alone, and never a reason to fail."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from sordino.data.shelf import Shelf

MB = 10**6


def frames(seed: int = 0, count: int = 50) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(count + piece, 8, generator=generator) for piece in range(2))


def same(ours: tuple[torch.Tensor, ...] | None, theirs: tuple[torch.Tensor, ...]) -> bool:
    return ours is not None and len(ours) == len(theirs) and all(map(torch.equal, ours, theirs))


def files(shelf: Shelf) -> list[Path]:
    return sorted(shelf.folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)


def taken(shelf: Shelf) -> int:
    return sum(path.stat().st_size for path in files(shelf))


@contextmanager
def disk_with(bytes_a_file: int) -> Iterator[None]:
    """The system refuses to write more, as when a disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_another_process_finds_the_same_bits(cache: Path, dtype: torch.dtype) -> None:
    kept = tuple(piece.to(dtype) for piece in frames())
    Shelf(MB).put("a", kept)
    found = Shelf(MB).get("a")  # knows nothing of the first
    assert same(found, kept)
    assert found is not None
    assert found[0].dtype == dtype
    assert Shelf(MB).get("b") is None
    assert Shelf(MB).folder == cache / "frames"


def test_frames_that_are_no_block_of_memory_are_kept_too(cache: Path) -> None:
    turned = (torch.arange(12.0).reshape(3, 4).T, torch.zeros(0, 4))
    Shelf(MB).put("a", turned)
    assert same(Shelf(MB).get("a"), turned)


def test_nobody_else_can_read_them(cache: Path) -> None:
    before = os.umask(0)
    try:
        cache.mkdir()
        (cache / "frames").mkdir(mode=0o777)
        shelf = Shelf(MB)
        shelf.put("a", frames())
    finally:
        os.umask(before)
    assert shelf.folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in files(shelf)] == [0o600]


def test_a_folder_of_another_user_or_a_link_is_not_touched(
    cache: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (cache / "frames").symlink_to(tmp_path / "elsewhere")
    Shelf(MB).put("a", frames())
    assert not list((tmp_path / "elsewhere").iterdir())
    (cache / "frames").unlink()
    Shelf(MB).put("a", frames())
    monkeypatch.setattr(os, "getuid", lambda: 12_345)
    assert Shelf(MB).get("a") is None
    assert ["not this user's folder" in line for line in caplog.messages] == [True, True]


def test_what_was_used_the_longest_ago_leaves_when_the_bound_is_reached(cache: Path) -> None:
    Shelf(MB).put("size", frames())
    size = taken(Shelf(MB))
    shelf = Shelf(4 * size + size // 2)
    for index, key in enumerate(("a", "b", "c")):
        shelf.put(key, frames(index))
        time.sleep(0.005)
    assert same(shelf.get("a"), frames(0))  # now used after b
    for index in (3, 4):
        shelf.put(f"more {index}", frames(index))
        time.sleep(0.005)
    assert taken(shelf) <= shelf.limit_bytes
    assert shelf.get("size") is None
    assert shelf.get("b") is None
    assert same(shelf.get("a"), frames(0))
    assert same(shelf.get("more 4"), frames(4))


def test_the_bound_holds_for_many_and_for_what_is_too_large(cache: Path) -> None:
    shelf = Shelf(40_000)
    for index in range(60):
        shelf.put(str(index), frames(index, count=10 + index % 7))
        assert taken(shelf) <= 40_000
    assert len(files(shelf)) > 20
    shelf.put("huge", (torch.zeros(20_000),))
    assert shelf.get("huge") is None
    assert len(files(shelf)) > 20  # nothing had to leave for it


def test_without_a_bound_nothing_is_written(cache: Path) -> None:
    Shelf(0).put("a", frames())
    assert Shelf(0).get("a") is None
    assert not cache.exists()


@pytest.mark.parametrize("place", [0, 9, 40, 300, -1])
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_file_is_taken_for_none_and_goes(cache: Path, damage: str, place: int) -> None:
    shelf = Shelf(MB)
    shelf.put("a", frames())
    [path] = files(shelf)
    content = bytearray(path.read_bytes())
    content[place] ^= 0b100
    path.write_bytes(content if damage == "flip" else content[:place])
    assert shelf.get("a") is None
    assert not files(shelf)
    shelf.put("a", frames())
    assert same(shelf.get("a"), frames())


def test_a_full_disk_is_told_once_and_what_is_there_is_still_read(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = Shelf(MB)
    shelf.put("a", frames())
    with disk_with(bytes_a_file=1_000):
        for key in ("b", "c"):
            shelf.put(key, frames(1))
    assert ["File too large" in line for line in caplog.messages] == [True]
    assert len(files(shelf)) == 1, "nothing half-written is left"
    assert same(shelf.get("a"), frames())


def test_a_cache_that_cannot_be_made_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    shelf = Shelf(MB, folder=tmp_path / "file" / "frames")
    shelf.put("a", frames())
    assert shelf.get("a") is None
    assert len(caplog.messages) == 1


def test_a_killed_process_leaves_no_half_file(cache: Path) -> None:
    code = (
        "import os, time, torch\n"
        "from pathlib import Path\n"
        "from sordino.data.shelf import Shelf\n"
        "def stop(self, target):\n"
        "    print('written', flush=True)\n"
        "    time.sleep(60)\n"
        "Path.replace = stop\n"
        "Shelf(10**6).put('a', (torch.zeros(100),))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    shelf = Shelf(5_000)
    [left] = files(shelf)
    assert shelf.get("a") is None
    os.utime(left, (0, 0))
    for index in range(9):
        shelf.put(str(index), (torch.zeros(100),))
    assert left not in files(shelf), "it leaves like everything that is not used"


def _fill(start: int) -> None:
    shelf = Shelf(60_000)
    for index in range(40):
        key = (index + start) % 30
        found = shelf.get(str(key))
        if found is not None and not same(found, frames(key, 10)):
            os._exit(1)
        shelf.put(str(key), frames(key, 10))


def test_processes_at_once_see_whole_files_and_keep_to_the_bound(cache: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_fill, args=(start,)) for start in (0, 10, 20)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert taken(Shelf(MB)) <= 60_000 * (1 + 2 / 16)
    assert all(path.suffix == ".safetensors" for path in files(Shelf(MB)))
