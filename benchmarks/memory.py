"""Peak memory of rounds over that of the imports and of the learner, for several sizes of cohort.

    python benchmarks/memory.py [--json]

Prints, in 10^6 bytes, the size of an update, what 4 of them and 50 MB are, the peak of 3 rounds with 8, 64 and 512 clients,
and that of 2, 10 and 50 rounds with 8; each is measured in a process of its own, by the kernel.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from interleaving import print_result

SIZE = 2_700_000
COHORTS = (8, 64, 512)


def peak_kb() -> int:
    """The most memory that this process ever took."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def measure(clients: int, size: int, rounds: int) -> None:
    """Prints how far some rounds lift the peak."""
    import torch
    from trivial import Nudge, layout, rounds_of

    torch.set_num_threads(1)
    with rounds_of(Nudge(layout(1_000)), population=clients, rate=1.0, rounds=3) as done:
        list(done)  # whatever is imported or allocated once
    learner = Nudge(layout(size, tensors=282))
    before = peak_kb()
    with rounds_of(learner, population=clients, rate=1.0, rounds=rounds) as done:
        for _ in done:
            pass
    print(peak_kb() - before)


def measured(clients: int, *, size: int = SIZE, rounds: int = 3) -> float:
    """The same, from another process, in 10^6 bytes."""
    call = [sys.executable, __file__, "--measure", str(clients), str(size), str(rounds)]
    return round(int(subprocess.run(call, check=True, capture_output=True, text=True).stdout) * 1024 / 1e6, 1)


def main() -> None:
    """Measures and prints."""
    update = SIZE * 4 / 1e6
    peaks = {f"peak_mb_{clients}_clients": measured(clients) for clients in COHORTS}
    longer = {f"peak_mb_{rounds}_rounds": measured(8, rounds=rounds) for rounds in (2, 10, 50)}
    print_result({"update_mb": update, "allowed_mb": round(4 * update + 50, 1), **peaks, **longer})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*map(int, sys.argv[2:]))
    else:
        main()
