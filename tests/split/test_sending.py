"""Embeddings leave noised, paid, once; states are fetched once and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import torch

from sordino.errors import PrivacyError
from sordino.privacy import Ledger, NoiseSource
from sordino.seeds import Seeds
from sordino.split import LocalStates, ModelCard
from sordino.split.embedding import ClientEmbedding
from sordino.split.exchange import Exchange
from sordino.split.sending import Sender
from sordino.split.sequences import Sequences
from sordino.split.tally import Sent


@dataclass
class Recorder:
    """A server that notes what it is shown."""

    local: LocalStates
    seen: list[torch.Tensor] = field(default_factory=list)

    def describe(self) -> ModelCard:
        return self.local.describe()

    def states(
        self, noised: torch.Tensor, mask: torch.Tensor, *, layers: Sequence[int], reduction: int | None = None
    ) -> torch.Tensor:
        self.seen.append(noised.clone())
        return self.local.states(noised, mask, layers=layers, reduction=reduction)


@pytest.fixture
def sequences() -> Sequences:
    return Sequences.of([[5, 6, 7], [5, 6, 7], [9]], labels=[0, 1, 0])


def test_a_sequence_is_drawn_once_for_life(
    embedding: ClientEmbedding, sender: Sender, sequences: Sequences, tmp_path: Path
) -> None:
    kept = replace(sender, folder=tmp_path / "exchange")
    rows = embedding.rows(sequences)
    first = kept.once({"train": rows, "test": rows[:3]})
    assert len(sender.ledger.charges) == 1
    torch.testing.assert_close(kept.once({"train": rows})["train"], first["train"], rtol=0, atol=0)
    assert len(sender.ledger.charges) == 1
    kept.once({"train": rows, "new": rows})
    assert len(sender.ledger.charges) == 2
    with pytest.raises(PrivacyError, match="continue"):
        kept.once({"train": rows[:2]})
    with pytest.raises(PrivacyError, match="of 7 other tokens: expected those of the same 7; continue"):
        kept.once({"train": rows.flip(0)})


def test_equal_texts_get_noise_of_their_own(embedding: ClientEmbedding, sender: Sender, sequences: Sequences) -> None:
    rows = sender.once({"train": embedding.rows(sequences)})["train"]
    assert not torch.isclose(rows[:3], rows[3:6]).any(dim=1).all()


def test_a_charge_comes_before_its_release(
    embedding: ClientEmbedding, sender: Sender, sequences: Sequences, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("crash")

    monkeypatch.setattr(type(sender.noise), "sample", broken)
    with pytest.raises(RuntimeError, match="crash"):
        sender.once({"train": embedding.rows(sequences)})
    assert len(sender.ledger.charges) == 1


def test_noise_that_can_be_repeated_needs_a_ledger_that_says_so(
    embedding: ClientEmbedding, sender: Sender, sequences: Sequences
) -> None:
    with pytest.raises(PrivacyError, match="seeded simulation"):
        replace(sender, source=NoiseSource(Seeds(0))).once({"train": embedding.rows(sequences)})


def test_only_noised_embeddings_are_shown(
    embedding: ClientEmbedding, sender: Sender, sequences: Sequences, local: LocalStates
) -> None:
    clean = embedding.rows(sequences)
    noised, server = sender.once({"train": clean})["train"], Recorder(local)
    exchange = Exchange(sequences, clean=clean, noised=noised, server=server)
    exchange.states([1, 4], reduction=4)
    exchange.states([1, 4], reduction=4)
    (shown,) = server.seen
    for row in clean:
        assert not torch.isclose(shown.reshape(-1, 64), row, atol=1e-3).all(dim=1).any()


def test_states_are_asked_for_once_and_counted(
    embedding: ClientEmbedding, sequences: Sequences, local: LocalStates, tmp_path: Path
) -> None:
    clean, server = embedding.rows(sequences), Recorder(local)
    exchange = Exchange(sequences, clean=clean, noised=clean, server=server, folder=tmp_path)
    states = exchange.states([2, 6], reduction=4)
    assert states.shape == (3, 2, 3, 16)
    assert exchange.sent([2, 6], reduction=4) == Sent(up=4 * (7 * 64 + 3), down=4 * 7 * 2 * 16)
    assert exchange.sent([6]) == Sent(up=4 * (7 * 64 + 3), down=4 * 7 * 64)
    assert exchange.total == Sent(up=8 * (7 * 64 + 3), down=4 * 7 * (2 * 16 + 64))
    alone = local.states(clean[6:][None], torch.ones(1, 1, dtype=torch.bool), layers=[2, 6], reduction=4)
    torch.testing.assert_close(states[2, :, :1], alone[0], atol=1e-4, rtol=1e-4)
    again = Exchange(sequences, clean=clean, noised=clean, server=server, folder=tmp_path)
    torch.testing.assert_close(again.states([2, 6], reduction=4), states)
    assert len(server.seen) == 2


def test_ledger_of_two_draws_has_two(
    embedding: ClientEmbedding, sender: Sender, sequences: Sequences, ledger: Ledger
) -> None:
    rows = embedding.rows(sequences)
    first, second = sender.once({"train": rows})["train"], sender.again({"train": rows}, draw=2)["train"]
    assert not torch.isclose(first, second).all()
    assert len(ledger.charges) == 2
