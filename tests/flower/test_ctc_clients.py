"""Personal recognisers whose clients are Flower's nodes: the same shared and personal parts as in one process."""

from __future__ import annotations

from pathlib import Path

import fake
import numpy as np
import pytest
import torch

from sordino.data import Utterance, write_audio
from sordino.data.clips import ClipStore
from sordino.federated import Backend, InProcess, ServerState, run_rounds
from sordino.federated.ctc_training import CtcLearner
from sordino.federated.methods.base import FederatedMethod
from sordino.federated.methods.embedding_similarity import EmbeddingSimilarity
from sordino.federated.methods.fedper import FedPer
from sordino.federated.options import LocalOptions
from sordino.flower import FlowerGrid, Site
from sordino.flower.nodes import Nodes
from sordino.models.ctc import CtcOptions, load_recogniser
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyOptions, Terms, make_round_plan
from sordino.seeds import Seeds

CLIENTS = ("a", "b")
NOISE = NoiseSource(Seeds(5))
TERMS = Terms(unit="client", population=2, clients_per_speaker=1, delta=1e-5, seeded=True)


@pytest.fixture(scope="module")
def learner(tmp_path_factory: pytest.TempPathFactory) -> CtcLearner:
    """Two people who say a word each, twice; their voices are noise."""
    torch.set_num_threads(1)
    folder, rng = tmp_path_factory.mktemp("clips"), np.random.default_rng(1)

    def said(speaker: str, word: str, index: int) -> Utterance:
        path = folder / f"{speaker}{index}.flac"
        seconds = write_audio(path, rng.uniform(-0.3, 0.3, 4000 + 900 * index).astype(np.float32))
        return Utterance(audio=path, text=word, speaker=speaker, duration_s=seconds)

    held = {name: [said(name, word, i) for i in range(2)] for name, word in zip(CLIENTS, ("one", "two"), strict=True)}
    recogniser = load_recogniser(CtcOptions(units="words", vocabulary=("one", "two"), layers=2))
    clips = ClipStore(recogniser.hear, num_mels=recogniser.front.num_mels, window_s=8.0)
    return CtcLearner(recogniser, clips, held, LocalOptions(epochs=1, lr=1e-3, batch_size=2))


def run(
    folder: Path, method: FederatedMethod, learner: CtcLearner, start: torch.Tensor, backend: Backend
) -> ServerState:
    folder.mkdir()
    plan = make_round_plan(
        PrivacyOptions(mechanism="none"),
        phases=method.phases(learner.layout, embedding_size=learner.embedding_size),
        layout=learner.layout,
        cohort=Poisson(rate=1.0),
        rounds=2,
        terms=TERMS,
    )
    with Ledger(folder / "ledger.jsonl", terms=TERMS) as ledger:
        begun = ServerState(0, start)
        *_, last = run_rounds(
            begun, plan, rounds=2, method=method, backend=backend, ledger=ledger, noise=NOISE, seeds=Seeds(1)
        )
    return last.state


@pytest.mark.parametrize("method", [FedPer(), EmbeddingSimilarity(temperature=0.1, centred=True)], ids=lambda m: m.name)
def test_recognisers_at_nodes_are_those_of_one_process(
    method: FederatedMethod, learner: CtcLearner, tmp_path: Path
) -> None:
    start = learner.recogniser.flat.snapshot()
    here = run(tmp_path / "here", method, learner, start, InProcess((learner,), CLIENTS))

    nodes = {}
    for index, client in enumerate(CLIENTS):
        site = Site(
            learner=learner, method=method, clients=(client,), noise=NOISE, partition=index, partitions=len(CLIENTS)
        )
        nodes[70 - index] = fake.serving(lambda *_, site=site: site)  # type: ignore[misc]
    asked = Nodes(
        fake.FakeGrid(nodes), digest=learner.layout.digest, dealt=True, enough=2, wait_s=0.2, timeout_s=0.2, note=print,
        poll_s=0.001,
    )  # fmt: skip
    grid = FlowerGrid(asked, names=CLIENTS, rate=None, measured=False, timeout_s=0.2, note=print)
    there = run(tmp_path / "there", method, learner, start, grid)

    assert there.values.allclose(here.values, rtol=0, atol=1e-6)
    assert not torch.equal(here.values, start)
    assert there.models.keys() == here.models.keys()
    assert all(there.models[client].allclose(here.models[client], rtol=0, atol=1e-6) for client in here.models)
