from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sordino.data.cache import cache_root, cached_folder
from sordino.errors import ConfigError


def fill(folder: Path) -> None:
    (folder / "file").write_text("whole")


def test_a_folder_is_made_once_for_each_key(cache: Path) -> None:
    first = cached_folder("voices", {"a": 1, "b": [2, None]}, fill)
    assert first.parent == cache == cache_root()
    assert (first / "file").read_text() == "whole"
    assert cached_folder("voices", {"b": [2, None], "a": 1}, lambda _: pytest.fail("made twice")) == first
    assert cached_folder("voices", {"a": 1, "b": [3, None]}, fill) != first
    assert cached_folder("digits", {"a": 1, "b": [2, None]}, fill) != first


def test_a_failed_build_leaves_nothing(cache: Path) -> None:
    def half(folder: Path) -> None:
        (folder / "file").write_text("half")
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        cached_folder("voices", {}, half)
    assert [path for path in cache.iterdir() if path.is_dir()] == []
    assert (cached_folder("voices", {}, fill) / "file").read_text() == "whole"


def test_a_killed_build_is_never_taken_for_a_whole_one(cache: Path) -> None:
    code = (
        "import time\n"
        "from sordino.data.cache import cached_folder\n"
        "def build(folder):\n"
        "    (folder / 'file').write_text('half')\n"
        "    print('half', flush=True)\n"
        "    time.sleep(60)\n"
        "cached_folder('voices', {}, build)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        process.send_signal(signal.SIGKILL)
    folder = cached_folder("voices", {}, fill)
    assert (folder / "file").read_text() == "whole"
    assert [path for path in cache.iterdir() if path.is_dir()] == [folder]


def _slow(folder: Path) -> None:
    time.sleep(0.3)
    (folder / "file").write_text(str(os.getpid()))


def _child(queue: multiprocessing.Queue[str]) -> None:
    queue.put((cached_folder("voices", {}, _slow) / "file").read_text())


def test_processes_that_want_the_same_folder_share_it(cache: Path) -> None:
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[str] = context.Queue()
    processes = [context.Process(target=_child, args=(queue,)) for _ in range(3)]
    for process in processes:
        process.start()
    makers = {queue.get(timeout=30) for _ in processes}
    for process in processes:
        process.join()
    assert len(makers) == 1


def test_a_cache_that_cannot_be_written_names_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SORDINO_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ConfigError, match=r"cannot be written .* set SORDINO_CACHE"):
        cached_folder("voices", {}, fill)


def test_the_cache_is_in_the_home_folder_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SORDINO_CACHE", raising=False)
    assert cache_root() == Path.home() / ".cache" / "sordino"
