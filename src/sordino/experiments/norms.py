"""How large the components' updates are, tried out on speech that anybody may know, and what follows for the allocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sordino.data.corpora.manifest import Manifest
from sordino.data.corpora.synthetic_voices import SyntheticVoices
from sordino.experiments.assembly import assemble
from sordino.experiments.tasks.federated import DataOptions, FederatedExperiment, SimulationOptions
from sordino.federated import ServerState, run_rounds
from sordino.federated.methods.fedavg import FedAvg
from sordino.privacy import Ledger, Poisson, PrivacyOptions
from sordino.privacy.allocations.split import recommended_alpha

__all__ = ["measure_norms", "recommend"]

ROUNDS: Final = 3
VOICES: Final = 12
SEVERE, MILD = 10.0, 2.0
"""Ratios of norms above which a small encoder is drowned by one joint bound, and below which there is nothing to split."""


def measure_norms(options: FederatedExperiment, *, manifest: Path | None = None) -> Mapping[str, float]:
    """Mean norm of each component's update over a few rounds without privacy.

    Reading the norms of private updates would be a release that nothing accounts for: so this trains the experiment's
    model, as its clients would, on other speech.

    Args:
        options: the experiment; its own recordings are not touched.
        manifest: public recordings; synthetic voices if not given.

    Raises:
        DataError: the manifest cannot be used.
    """
    corpus = (
        SyntheticVoices(voices=VOICES, held_out_voices=1, utterances_per_held_out_voice=1, seen_utterances_per_voice=0)
        if manifest is None
        else Manifest(train=manifest)
    )
    parts = assemble(
        replace(
            options,
            telemetry="debug",
            data=DataOptions(corpus=corpus),
            federated=replace(options.federated, cohort=Poisson(rate=1.0), method=FedAvg(), rounds=ROUNDS),
            privacy=PrivacyOptions(mechanism="none", grouping=options.privacy.grouping),
            simulation=SimulationOptions(threads=options.simulation.threads),
        )
    )
    start = ServerState(0, parts.model.flat.snapshot())
    with TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.jsonl", terms=parts.terms) as ledger:
        rounds = run_rounds(
            start,
            parts.plan,
            rounds=ROUNDS,
            method=FedAvg(),
            backend=parts.backend,
            ledger=ledger,
            noise=parts.noise,
            seeds=parts.seeds.at("training"),
        )
        norms = [result.telemetry.to_json()["components"] for result in rounds]
    return {name: sum(measured[name] for measured in norms) / len(norms) for name in norms[0]}


def recommend(norms: Mapping[str, float]) -> dict[str, Any]:
    """An allocation that suits these norms, and why.

    The rule of the paper on component-aware clipping: where the rest of the model outweighs the encoder tenfold or more, one
    joint bound leaves the encoder nothing but noise, and a split protects it; up to twofold, a split costs more than it
    protects. In between, fair shares find their own way.

    Source: arXiv 2609.11762, choice of method.
    """
    encoder = norms.get("encoder", 0.0)
    rest = sum(norm**2 for name, norm in norms.items() if name != "encoder") ** 0.5
    if not encoder or not rest:
        return {
            "allocation": "flat",
            "alpha": None,
            "ratio": None,
            "reason": "Only one part of the model moves, so there is nothing to divide: one joint bound distorts least.",
        }
    ratio, alpha = rest / encoder, recommended_alpha(encoder, rest)
    found = f"The rest of the model moves {ratio:.1f} times as far as the encoder"
    if ratio >= SEVERE:
        name, reason = (
            "pooled",
            f"{found}: under one joint bound noise would drown the encoder, so give it {alpha:.2g} of C^2.",
        )
    elif ratio <= MILD:
        name, reason = (
            "dim-ema",
            f"{found}: too little for a split to pay; shares by size that follow the norms waste least.",
        )
    else:
        name, reason = "auto", f"{found}: neither so much that a split is needed nor so little that it is useless."
    return {"allocation": name, "alpha": alpha if name == "pooled" else None, "ratio": ratio, "reason": reason}
