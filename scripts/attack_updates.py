"""What single updates of the pocket model give away, by allocation and noise: the tables of docs/what-an-attacker-sees.md.

python scripts/attack_updates.py            about half an hour of one core
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sordino.experiments import load_federated
from sordino.experiments.assembly import assemble
from sordino.experiments.update_attacks import attack_updates, gather_updates
from sordino.privacy import ALLOCATIONS, Plan, PrivacyPlan
from sordino.seeds import Seeds

EXAMPLE = Path(__file__).parents[1] / "examples" / "pocket-audit.toml"
SPLIT = ALLOCATIONS.get("alpha-split")(alpha=0.05)
DEFENCES: dict[str, dict[str, Any]] = {
    "flat": {"allocation": ALLOCATIONS.get("flat")()},
    "alpha-split": {"allocation": SPLIT},
    "alpha-split, component-aware noise": {"allocation": SPLIT, "noise_shape": "component-aware"},
}
MULTIPLIERS = (0.03, 0.1, 0.3, 1.0)
TRAINING: dict[str, tuple[int, int]] = {
    "one step": (1, 1),
    "four steps": (1, 4),
    "two utterances, one step": (2, 1),
}
"""Utterances behind an update, and steps on them together."""


def show(name: str, found: Mapping[str, dict[str, Any]]) -> None:
    """One line of JSON a setting, its attacks without their words."""
    rows = {attack: {key: value for key, value in row.items() if key != "asks"} for attack, row in found.items()}
    print(json.dumps({"setting": name, "attacks": rows}), flush=True)


def main() -> None:
    for name, (together, steps) in TRAINING.items():
        parts = assemble(load_federated(EXAMPLE, [f"federated.local.epochs={steps}"]))
        base: Plan = parts.plan
        if not isinstance(base, PrivacyPlan):
            sys.exit(f"{EXAMPLE} has no clipping and noise to be changed.")
        gathered = gather_updates(parts, seeds=Seeds(0), together=together)
        norms = [float(norm) for norm in np.quantile(np.linalg.norm(gathered.updates, axis=1), (0.1, 0.5, 0.9))]
        print(json.dumps({"setting": name, "norms": norms}), flush=True)
        show(f"{name}, bare", attack_updates(gathered, seeds=Seeds(1)))
        for defence, fields in DEFENCES.items() if name == "one step" else [("flat", DEFENCES["flat"])]:
            for z in MULTIPLIERS:
                plan = replace(base, noise_multiplier=z, **fields)
                show(f"{name}, {defence}, z = {z:g}", attack_updates(gathered, plan, seeds=Seeds(1)))


if __name__ == "__main__":
    main()
