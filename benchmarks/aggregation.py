"""Clipping and summing the updates of a round, against the shortest loop that does so in torch.

    python benchmarks/aggregation.py [--json]

64 updates of 2.7 million parameters, clipped as one vector (``flat_ratio``) and in 282 blocks (``blocks_ratio``). The floor
is one norm, one scaled copy and one addition for each update, all in float32:

    total += update * min(1, C / norm(update))

``same_precision_ratio`` is flat clipping against that loop with norm and sum in float64, which is what this package's bound
on the sum rests on. ``noise_ratio`` is a release of that size against its own random source: the normals alone.
"""

from __future__ import annotations

import secrets
from functools import partial

import torch
from interleaving import print_result, ratios, seconds
from trivial import layout

from sordino.privacy import Poisson, PrivacyPlan, Update
from sordino.privacy.allocations.flat import Flat
from sordino.privacy.allocations.uniform import Uniform
from sordino.privacy.noise import Stream

SIZE, BLOCKS, CLIENTS, CLIP_NORM = 2_700_000, 282, 64, 1.0
STORED = 8
"""Different updates in memory, more than any cache holds; the round goes through them again and again."""


def aggregate(plan: PrivacyPlan, updates: list[torch.Tensor]) -> None:
    """A round's clipping and summing."""
    total = plan.empty_sum()
    for client in range(CLIENTS):
        total.add(plan.clip(Update(updates[client % STORED])))


def floor(updates: list[torch.Tensor]) -> None:
    """The same in the fewest lines, without a guarantee."""
    total = torch.zeros(SIZE)
    for client in range(CLIENTS):
        update = updates[client % STORED]
        total += update * min(1.0, CLIP_NORM / float(update.norm()))


def precise_floor(updates: list[torch.Tensor]) -> None:
    """The same with norm and sum in float64."""
    total = torch.zeros(SIZE, dtype=torch.float64)
    for client in range(CLIENTS):
        update = updates[client % STORED]
        norm = float(torch.linalg.vector_norm(update, dtype=torch.float64))
        total += update * min(1.0, CLIP_NORM / norm)


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    updates = [torch.randn(SIZE, generator=generator) for _ in range(STORED)]
    flat = PrivacyPlan(layout(SIZE, tensors=BLOCKS), Poisson(rate=1.0), CLIENTS, allocation=Flat())
    blocks = PrivacyPlan(layout(SIZE, tensors=BLOCKS), Poisson(rate=1.0), CLIENTS, allocation=Uniform())
    taken = seconds(
        {
            "flat": partial(aggregate, flat, updates),
            "blocks": partial(aggregate, blocks, updates),
            "floor": partial(floor, updates),
            "precise": partial(precise_floor, updates),
        },
        repeats=7,
        warm_up=1,
    )
    found = ratios(taken, floor="floor")
    stream = Stream(secrets.token_bytes(32))
    values = torch.zeros(SIZE, dtype=torch.float64)

    def noise() -> None:
        for part in values.split(1 << 20):
            part.add_(torch.from_numpy(stream.normal(len(part))), alpha=0.5)

    noisy = seconds({"noise": noise, "normals": lambda: stream.normal(SIZE)}, repeats=9)
    print_result(
        {
            "flat_ratio": found["flat"],
            "blocks_ratio": found["blocks"],
            "same_precision_ratio": ratios(taken, floor="precise")["flat"],
            "noise_ratio": ratios(noisy, floor="normals")["noise"],
        }
    )


if __name__ == "__main__":
    main()
