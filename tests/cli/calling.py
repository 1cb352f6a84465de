"""Calls the command line as the installed program would, in this process (fast) or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from sordino.cli import main


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def sordino(*arguments: str | Path, check: int | None = 0) -> Done:
    """``main()`` with these arguments."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["sordino", *map(str, arguments)]):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    done = Done(code, out.getvalue(), err.getvalue())
    assert check is None or done.returncode == check, done.stderr
    return done


def spawn(*arguments: str | Path, cwd: Path | None = None, check: int | None = 0) -> Done:
    """The same in a new process."""
    with environment():
        command = [sys.executable, "-c", "from sordino.cli import main; main()", *map(str, arguments)]
        process = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=240, check=False)
    assert check is None or process.returncode == check, process.stderr
    return Done(process.returncode, process.stdout, process.stderr)


@contextmanager
def environment() -> Iterator[None]:
    """One thread a process, since tests share the cores."""
    with patch.dict(os.environ, {"OMP_NUM_THREADS": "1"}):
        yield
