"""A whole in-process round with trivial training, and what a client costs however small its model is.

    python benchmarks/rounds.py [--json]

``round_ratio``: 64 clients with 2.7 million parameters, against a loop that copies the adapter in, adds, subtracts, takes
the norm, clips and sums, in float32. ``client_ms``: processor milliseconds a client with 1,000 parameters in 2 tensors, and
``client_ratio`` that against the same loop.
"""

from __future__ import annotations

from functools import partial
from statistics import median

import torch
from interleaving import print_result, ratios, seconds
from trivial import Nudge, layout, rounds_of

SMALL_CLIENTS = 500


def once(learner: Nudge, clients: int) -> None:
    """One round of all clients, without noise, which has a row of its own."""
    with rounds_of(learner, population=clients, rate=1.0, rounds=1, noise=0.0) as rounds:
        list(rounds)


def loop(learner: Nudge, clients: int) -> None:
    """The same work in the fewest lines."""
    start, total = torch.zeros(learner.layout.size), torch.zeros(learner.layout.size)
    for _ in range(clients):
        learner.flat.copy_(start)
        learner.flat.add_(learner.nudge)
        update = learner.flat - start
        total += update * min(1.0, 1.0 / float(update.norm()))
    start.add_(total / clients)


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    large, small = Nudge(layout(2_700_000, tensors=282)), Nudge(layout(1_000, tensors=2))
    whole = seconds({"round": partial(once, large, 64), "loop": partial(loop, large, 64)}, repeats=7, warm_up=1)
    tiny = seconds({"round": partial(once, small, SMALL_CLIENTS), "loop": partial(loop, small, SMALL_CLIENTS)})
    print_result(
        {
            "round_ratio": ratios(whole, floor="loop")["round"],
            "client_ms": round(median(tiny["round"]) / SMALL_CLIENTS * 1e3, 4),
            "floor_client_ms": round(median(tiny["loop"]) / SMALL_CLIENTS * 1e3, 4),
            "client_ratio": ratios(tiny, floor="loop")["round"],
        }
    )


if __name__ == "__main__":
    main()
