"""Words off representations: learnt where they are there to be read, by a head alone and by a side network."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sordino.data import Utterance
from sordino.evaluation.ctc import Decoder, DecodingOptions
from sordino.models.ctc import Units
from sordino.seeds import Seeds
from sordino.split import LocalStates
from sordino.split.exchange import Exchange
from sordino.split.modes import ClientOnly
from sordino.split.recordings import Recordings
from sordino.split.side_network import SideNetwork
from sordino.split.stand_in import StandIn
from sordino.split.tally import Sent
from sordino.split.transcripts import Transcripts

UNITS = Units.of_words(["one", "two", "three"])
TEXTS = ("one two", "three", "two two one", "one three")


def spelt(width: int) -> Exchange:
    """Each word is four frames of its own direction, with two of silence after it."""
    directions = torch.eye(width)[:3] * 3
    clips, targets = [], []
    for text in TEXTS * 4:
        places = UNITS.encode(text)
        frames = [part for place in places for part in (directions[place - 1].repeat(4, 1), torch.zeros(2, width))]
        clips.append(torch.cat(frames))
        targets.append(tuple(places))
    rows = torch.cat(clips)
    rows = rows + 0.1 * torch.randn(rows.shape, generator=torch.Generator().manual_seed(0))
    recordings = Recordings(
        lengths=torch.tensor([len(clip) for clip in clips]),
        labels=torch.zeros(len(clips), dtype=torch.int64),
        utterances=tuple(Utterance(audio=Path("a"), text=text, speaker="s", duration_s=1.0) for text in TEXTS * 4),
        targets=tuple(targets),
    )
    card = LocalStates.load("pocket").describe()
    server = StandIn(card, lambda shape, _: torch.zeros(shape))
    return Exchange(recordings, clean=rows, noised=rows, server=server)


def read(scores: torch.Tensor, exchange: Exchange) -> list[str]:
    decoder = Decoder(UNITS, DecodingOptions())
    lengths = exchange.sequences.lengths.tolist()
    return [decoder(row[:length]) for row, length in zip(scores, lengths, strict=True)]


@pytest.fixture(scope="module")
def exchange() -> Exchange:
    return spelt(128)


def test_a_linear_head_reads_what_is_there(exchange: Exchange) -> None:
    readout = Transcripts(units=UNITS, seeds=Seeds(0))
    head = readout.fit_head(exchange, features=lambda one: one.clean, used=lambda _: Sent(3, 4))
    assert read(head.scores(exchange), exchange) == list(TEXTS * 4)
    assert head.sent == head.sent_for(exchange) == Sent(3, 4)


def test_a_side_network_reads_what_is_there(exchange: Exchange) -> None:
    torch.manual_seed(0)
    network = SideNetwork(width=128, inner=32, given=32, num_layers=1)
    learner = Transcripts(units=UNITS, seeds=Seeds(0)).learner(network, width=128)
    states = exchange.states([1], reduction=4)
    network.calibrate(exchange.clean, states, exchange.mask)
    mode = ClientOnly(epochs=40, batch_size=8, lr=5e-3, dropout=0.0)
    channel = mode.open(exchange, layers=(1,), reduction=4, sender=None, seeds=Seeds(0))  # type: ignore[arg-type]
    losses = mode.train(learner, exchange, channel=channel, seeds=Seeds(0))
    assert losses[-1] < 0.1 * losses[0]
    with torch.no_grad():
        assert read(learner.scores(exchange.clean, states, exchange.mask), exchange) == list(TEXTS * 4)


def test_a_batch_is_no_longer_than_its_longest_and_padding_changes_nothing(exchange: Exchange) -> None:
    torch.manual_seed(0)
    network = SideNetwork(width=128, inner=32, given=32, num_layers=1)
    learner = Transcripts(units=UNITS, seeds=Seeds(0)).learner(network, width=128).eval()
    states, seen = exchange.states([1], reduction=4), []
    network.register_forward_hook(lambda _, given, __: seen.append(given[0].shape[1]))

    def total(*numbers: int) -> float:
        """Of the recordings' units; the loss is their mean."""
        rows = torch.tensor(numbers)
        units = sum(len(exchange.sequences.targets[number]) for number in numbers)  # type: ignore[attr-defined]
        return units * float(learner.loss(exchange, rows, states[rows]))

    with torch.no_grad():
        assert total(1, 2) == pytest.approx(total(1) + total(2), rel=1e-5)
    assert seen == [18, 6, 18]
