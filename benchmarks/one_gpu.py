"""The published configuration at full size on one device: seconds a client, memory, and tokens a second.

    SORDINO_DATA=/data python benchmarks/one_gpu.py examples/paper/whisper-turbo-tinyllama.toml --rounds 2 \\
        --set model.encoder=/models/whisper-large-v3-turbo --set model.decoder=/models/TinyLlama-1.1B-Chat-v1.0

Any experiment file does, with models and corpus from local folders. Each round trains the next ``--clients`` clients and
prints a line; the last line sums up. Nothing is released, no ledger is written and no model is kept: this measures,
`sordino run` trains. On several devices seconds a client are those of a round divided by its clients:

    --set simulation.workers=2 --set 'simulation.devices=["cuda:0", "cuda:1"]'
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

import torch

from sordino.experiments import load_experiment
from sordino.experiments.assembly import Assembly, assemble
from sordino.federated import SpeechLearner
from sordino.models.side_by_side import side_by_side


def peak_gb(device: torch.device) -> float:
    """The most memory taken so far: the device's, or this process's on a CPU."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / 1e9, 3)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 3)


def devices_of(parts: Assembly) -> list[torch.device]:
    """Where the workers' copies of the model lie."""
    return [model.flat.values.device for model in (parts.model, *parts.copies)]


def tokens_of(learner: SpeechLearner, client: str) -> tuple[int, int]:
    """Positions that the decoder computes for a client in a round, and those of them that are transcript."""
    model, clips = learner.model, learner.clients[client]
    written = sum(model.tokens.count(clip.text) for clip in clips)
    with torch.no_grad():
        around = model.prefix(torch.zeros(1, model.num_mels, model.num_frames)).shape[1]
    epochs = learner.options.epochs
    return epochs * (written + around * len(clips)), epochs * written


def one_round(parts: Assembly, number: int, *, clients: int) -> dict[str, Any]:
    """Trains a cohort and says what that took."""
    learners = parts.backend.learners
    if not isinstance(learners[0], SpeechLearner):
        raise SystemExit("this measures speech-LLMs that are trained in this process; name such an experiment.")
    start, ids = parts.model.flat.snapshot(), parts.backend.clients()
    cohort = [ids[((number - 1) * clients + place) % len(ids)] for place in range(min(clients, len(ids)))]

    def work(learner: SpeechLearner, client: str) -> None:
        result = learner.fit(
            client, start, seeds=parts.seeds.at("benchmark", number, client)
        )  # ends with a copy to the host
        parts.plan.clip(result.update)

    begun = time.perf_counter()
    for _ in side_by_side(learners, cohort, work):
        pass
    seconds = max(time.perf_counter() - begun, 1e-9)
    counted = [tokens_of(learners[0], client) for client in cohort]
    positions, transcript = sum(line[0] for line in counted), sum(line[1] for line in counted)
    return {
        "round": number,
        "clients": len(cohort),
        "seconds": round(seconds, 3),
        "seconds_a_client": round(seconds / max(len(cohort), 1), 3),
        "decoder_tokens_a_second": round(positions / seconds, 1),
        "transcript_tokens_a_second": round(transcript / seconds, 1),
        "peak_gb": max(peak_gb(device) for device in devices_of(parts)),
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--rounds", type=int, default=2, help="the first one also loads and warms up")
    parser.add_argument("--clients", type=int, default=8, help="clients a round")
    parser.add_argument("--set", action="append", default=[], dest="overrides", metavar="KEY=VALUE")
    given = parser.parse_args()
    begun = time.perf_counter()
    parts = assemble(load_experiment(given.experiment, given.overrides))
    loading = round(time.perf_counter() - begun, 1)
    lines = [one_round(parts, number, clients=given.clients) for number in range(1, given.rounds + 1)]
    for line in lines:
        print(json.dumps(line))
    warm = lines[1:] or lines
    expected = parts.plan.expected_cohort
    a_client = sum(line["seconds"] for line in warm) / max(sum(line["clients"] for line in warm), 1)
    print(
        json.dumps(
            {
                "device": ", ".join(sorted({str(device) for device in devices_of(parts)})),
                "loading_seconds": loading,
                "trained_parameters": parts.model.layout.size,
                "seconds_a_client": round(a_client, 3),
                "hours_for_all_rounds": round(a_client * expected * parts.options.federated.rounds / 3600, 2),
                "peak_gb": max(line["peak_gb"] for line in lines),
            }
        )
    )


if __name__ == "__main__":
    main()
