"""What single updates of the pocket model give away, by allocation and noise: the tables of docs/what-an-attacker-sees.md.

python scripts/attack_updates.py            about a quarter of an hour of one core
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

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


def show(name: str, found: dict[str, dict[str, Any]]) -> None:
    """One line of JSON a setting, its attacks without their words."""
    rows = {attack: {key: value for key, value in row.items() if key != "asks"} for attack, row in found.items()}
    print(json.dumps({"setting": name, "attacks": rows}), flush=True)


def main() -> None:
    for name, overrides in {"one step": (), "four steps": ("federated.local.epochs=4",)}.items():
        parts = assemble(load_federated(EXAMPLE, list(overrides)))
        gathered = gather_updates(parts, seeds=Seeds(0))
        show(f"{name}, bare", dict(attack_updates(gathered, seeds=Seeds(1))))
        if name != "one step":
            continue
        base: Plan = parts.plan
        if not isinstance(base, PrivacyPlan):
            sys.exit(f"{EXAMPLE} has no clipping and noise to be changed.")
        for defence, fields in DEFENCES.items():
            for z in MULTIPLIERS:
                plan = replace(base, noise_multiplier=z, **fields)
                show(f"{defence}, z = {z:g}", dict(attack_updates(gathered, plan, seeds=Seeds(1))))


if __name__ == "__main__":
    main()
