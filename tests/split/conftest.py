"""A tiny Llama of the real class with its tokenizer, and everything that a client does with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from sordino.data.texts import Example, division
from sordino.data.texts.synthetic_notes import SyntheticNotes
from sordino.privacy import Ledger, NoiseSource, Terms
from sordino.seeds import Seeds
from sordino.split import LocalStates
from sordino.split.embedding import ClientEmbedding
from sordino.split.exchange import Exchange
from sordino.split.methods import Scene
from sordino.split.modes import ClientOnly
from sordino.split.noise import DChi
from sordino.split.readout import Labels
from sordino.split.sending import Sender
from sordino.split.tiny_model import save_tiny_model

LABELS = ("better", "worse")


@pytest.fixture(scope="session")
def notes() -> dict[str, list[Example]]:
    sizes = {"train": 24, "test": 16, "public": 12}
    return division(list(SyntheticNotes(count=60).read()), sizes=sizes, seeds=Seeds(0))


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory, notes: dict[str, list[Example]]) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save_tiny_model(folder, texts=[example.text for example in notes["public"]], seed=0)
    return folder


@pytest.fixture(scope="session")
def local(tiny: Path) -> LocalStates:
    torch.set_num_threads(1)
    return LocalStates.load(str(tiny))


@pytest.fixture(scope="session")
def embedding(tiny: Path) -> ClientEmbedding:
    return ClientEmbedding.load(str(tiny))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    terms = Terms(unit="token", population=40, clients_per_speaker=1, delta=1e-5)
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as opened:
        yield opened


@pytest.fixture
def sender(embedding: ClientEmbedding, ledger: Ledger) -> Sender:
    return Sender(noise=DChi(eta=60.0), space=embedding.space(24), unit="token", ledger=ledger, source=NoiseSource())


@pytest.fixture
def scene(notes: dict[str, list[Example]], local: LocalStates, embedding: ClientEmbedding, sender: Sender) -> Scene:
    """Training texts drawn once; the public ones are noised as if they were private, which costs nothing here."""
    tokens = {name: embedding.encode(notes[name], labels=LABELS, max_tokens=24) for name in ("train", "public")}
    rows = {name: embedding.rows(one) for name, one in tokens.items()}
    noised = sender.once(rows)

    def exchange(name: str, *, clean: bool) -> Exchange:
        return Exchange(tokens[name], clean=rows[name], noised=rows[name] if clean else noised[name], server=local)

    return Scene(
        train=exchange("train", clean=False),
        public=exchange("public", clean=True),
        public_noised=exchange("public", clean=False),
        clean=exchange("train", clean=True),
        readout=Labels(2),
        layers=(2, 5),
        reduction=4,
        mode=ClientOnly(epochs=2, batch_size=8),
        sender=sender,
        seeds=Seeds(7),
    )
