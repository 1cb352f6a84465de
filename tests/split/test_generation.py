"""A client that writes: one token at a time, each noised and paid for, with the server's keys and values."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from sordino.data.texts import Example
from sordino.errors import ConfigError, PrivacyError
from sordino.privacy import GaussianRelease, epsilon
from sordino.seeds import Seeds
from sordino.split import LocalStates
from sordino.split.embedding import ClientEmbedding
from sordino.split.exchange import Exchange
from sordino.split.generation import Server, write
from sordino.split.modes import ClientOnly
from sordino.split.noise import Gaussian
from sordino.split.sending import Sender
from sordino.split.sequences import Sequences
from sordino.split.side_network import SideNetwork
from sordino.split.stand_in import StandIn
from sordino.split.tally import Sent, Tally
from sordino.split.writer import Writer
from sordino.split.written import NextTokens

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


@pytest.fixture(scope="module")
def prompts(exchange: Exchange, embedding: ClientEmbedding) -> Exchange:
    """The notes without the towns."""
    texts = exchange.sequences
    assert isinstance(texts, Sequences)
    starts = zip(texts.ids.split(texts.lengths.tolist()), texts.given.tolist(), strict=True)
    given = Sequences.of([row[:start].tolist() for row, start in starts])
    rows = embedding.rows(given)
    return Exchange(given, clean=rows, noised=rows, server=exchange.server)


@pytest.fixture
def server(local: LocalStates) -> Server:
    return Server(growing=local, layers=LAYERS, reduction=2, tally=Tally())


def test_it_writes_what_it_learned(
    writer: Writer, exchange: Exchange, prompts: Exchange, embedding: ClientEmbedding, server: Server
) -> None:
    end = embedding.tokenizer.eos_token_id
    written, sent = write(writer, prompts, server=server, say=lambda rows: rows, end=end, most=20)
    texts = exchange.sequences
    assert isinstance(texts, Sequences)
    starts = zip(texts.ids.split(texts.lengths.tolist()), texts.given.tolist(), strict=True)
    right = [row[start:].tolist() for row, start in starts]
    assert sum(one[: len(other)] == other for one, other in zip(written.tolist(), right, strict=True)) >= 5
    assert written.shape == (6, 20)
    assert all(row[row.index(end) :] == [end] * (20 - row.index(end)) for row in written.tolist())
    assert server.tally.total == sent
    assert sent.up >= 4 * (int(prompts.mask.sum()) * 64 + 6)


def test_each_token_costs_a_draw_on_a_token(
    writer: Writer, prompts: Exchange, embedding: ClientEmbedding, server: Server, sender: Sender
) -> None:
    """For the texts that the network was trained on, too: any of them can change every token that is written."""
    sender = replace(sender, noise=Gaussian(noise_multiplier=2.0))
    before, said = len(sender.ledger.charges), []

    def say(rows: torch.Tensor) -> torch.Tensor:
        said.append(len(rows))
        return sender.written(rows)

    write(writer, prompts, server=server, say=say, end=embedding.tokenizer.eos_token_id, most=4)
    events = sender.ledger.events[before:]
    assert len(events) == len(said) > 0
    token = sender.noise.event("token", space=sender.space)
    assert isinstance(token, GaussianRelease)
    for event, tokens in zip(events, said, strict=True):
        assert isinstance(event, GaussianRelease)
        assert event.adjacency == token.adjacency
        assert event.noise_multiplier == pytest.approx(2.0 / tokens**0.5)
    together = epsilon(events, delta=1e-5).value
    assert together == pytest.approx(epsilon([token] * sum(said), delta=1e-5).value, rel=1e-3)
    assert sender.noise.guarantee(
        "token", space=sender.space, draws=0, delta=1e-5, written=sum(said)
    ).epsilon == pytest.approx(together, rel=1e-3)


def test_no_distance_bounds_what_is_written(sender: Sender) -> None:
    with pytest.raises(PrivacyError, match='"d-chi" bounds a token by how near'):
        sender.written(torch.zeros(2, 64))
    assert not sender.ledger.charges


def test_texts_without_a_server_cost_nothing(writer: Writer, prompts: Exchange, embedding: ClientEmbedding) -> None:
    alone = StandIn(prompts.server.describe(), lambda shape, _: torch.zeros(shape))
    server = Server(growing=alone, layers=LAYERS, reduction=2, tally=Tally())
    written, _ = write(
        writer, prompts, server=server, say=lambda rows: rows, end=embedding.tokenizer.eos_token_id, most=3
    )
    assert written.shape == (6, 3)


def test_a_head_cannot_write(exchange: Exchange, embedding: ClientEmbedding) -> None:
    with pytest.raises(ConfigError, match="clean-states"):
        NextTokens(embedding.table).fit_head(exchange, features=lambda one: one.clean, used=lambda _: Sent())


def test_given_tokens_do_not_count(writer: Writer, exchange: Exchange) -> None:
    """The loss is that of the written tokens alone: other ids among the given ones, as targets, change nothing."""
    states, rows = exchange.states(LAYERS, reduction=2), torch.arange(len(exchange))
    loss = writer.loss(exchange, rows, states)
    logits = writer(exchange.clean, states, exchange.mask).log_softmax(dim=2)
    ids, given, lengths = exchange.sequences.padded_ids, exchange.sequences.given, exchange.sequences.lengths
    total = [logits[n, t - 1, ids[n, t]] for n in range(len(exchange)) for t in range(int(given[n]), int(lengths[n]))]
    torch.testing.assert_close(loss, -torch.stack(total).mean())
