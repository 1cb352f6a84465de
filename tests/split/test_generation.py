"""A client that writes: one token at a time, each noised and paid for, with the server's keys and values."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sordino.data.texts import Example
from sordino.errors import PrivacyError
from sordino.seeds import Seeds
from sordino.split import LocalStates
from sordino.split.embedding import ClientEmbedding
from sordino.split.exchange import Exchange
from sordino.split.generation import write
from sordino.split.modes import ClientOnly
from sordino.split.noise import Gaussian, NoNoise
from sordino.split.sending import Sender
from sordino.split.side_network import SideNetwork
from sordino.split.writer import Writer

LAYERS = (2, 5)


@pytest.fixture(scope="module")
def exchange(notes: dict[str, list[Example]], embedding: ClientEmbedding, local: LocalStates) -> Exchange:
    """Each note is to be followed by the town in it."""
    tasks = [replace(note, target=note.attributes["town"]) for note in notes["train"][:6]]
    tokens = embedding.encode_tasks(tasks, max_tokens=60, max_written=12)
    rows = embedding.rows(tokens)
    return Exchange(tokens, clean=rows, noised=rows, server=local)


@pytest.fixture(scope="module")
def writer(exchange: Exchange, embedding: ClientEmbedding) -> Writer:
    torch.manual_seed(0)
    network = SideNetwork(width=64, inner=32, given=32, num_layers=2, causal=True, dropout=0.0)
    network.calibrate(exchange.clean, exchange.states(LAYERS, reduction=2), exchange.mask)
    made, mode = Writer(network, embedding.table), ClientOnly(epochs=80, lr=3e-3, batch_size=6, dropout=0.0)
    # This mode sends nothing more, and so needs no sender.
    channel = mode.open(exchange, layers=LAYERS, reduction=2, sender=None, seeds=Seeds(0))  # type: ignore[arg-type]
    losses = mode.train(made, exchange, channel=channel, seeds=Seeds(0))
    assert losses[-1] < 0.1 * losses[0]
    return made


def test_it_writes_what_it_learned_and_pays_for_each_token(
    writer: Writer, exchange: Exchange, embedding: ClientEmbedding, local: LocalStates, sender: Sender
) -> None:
    tokens = exchange.sequences
    rows = tokens.ids.split(tokens.lengths.tolist())
    given = tokens.given.tolist()
    prompts = [row[:start].tolist() for row, start in zip(rows, given, strict=True)]
    targets = [row[start:-1].tolist() for row, start in zip(rows, given, strict=True)]
    quiet = replace(sender, noise=NoNoise())
    before = len(sender.ledger.charges)
    written = write(
        writer, prompts, server=local, embedding=embedding, sender=quiet, layers=LAYERS, reduction=2, most=20
    )
    assert sum(one == other for one, other in zip(written, targets, strict=True)) >= 5
    groups = {len(prompt): [] for prompt in prompts}
    for prompt, one in zip(prompts, written, strict=True):
        groups[len(prompt)].append(len(one))
    # A charge for the prompts of one length, and one for each token that another had to follow.
    assert len(sender.ledger.charges) - before == sum(1 + min(max(lengths), 19) for lengths in groups.values())


def test_no_distance_bounds_what_is_written(
    writer: Writer, embedding: ClientEmbedding, local: LocalStates, sender: Sender
) -> None:
    with pytest.raises(PrivacyError, match='"d-chi" bounds a token by how near'):
        write(writer, [[5]], server=local, embedding=embedding, sender=sender, layers=LAYERS, reduction=2, most=3)
    assert not sender.ledger.charges


def test_writing_stops_at_the_most(
    writer: Writer, exchange: Exchange, embedding: ClientEmbedding, local: LocalStates, sender: Sender
) -> None:
    sender = replace(sender, noise=Gaussian(noise_multiplier=0.4))
    prompt = exchange.sequences.ids[:5].tolist()
    (written,) = write(
        writer, [prompt], server=local, embedding=embedding, sender=sender, layers=LAYERS, reduction=2, most=3
    )
    assert len(written) <= 3


def test_given_tokens_do_not_count(writer: Writer, exchange: Exchange) -> None:
    """The loss is that of the written tokens alone: other ids among the given ones, as targets, change nothing."""
    states, rows = exchange.states(LAYERS, reduction=2), torch.arange(len(exchange))
    loss = writer.loss(exchange, rows, states)
    logits = writer(exchange.clean, states, exchange.mask).log_softmax(dim=2)
    ids, given, lengths = exchange.sequences.padded_ids, exchange.sequences.given, exchange.sequences.lengths
    total = [logits[n, t - 1, ids[n, t]] for n in range(len(exchange)) for t in range(int(given[n]), int(lengths[n]))]
    torch.testing.assert_close(loss, -torch.stack(total).mean())
