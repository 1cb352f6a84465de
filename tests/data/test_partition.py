from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.data import PARTITIONS, ByAttribute, BySession, BySpeaker, Client, Partition, Utterance
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds


def utterance(speaker: str, index: int, **attributes: str) -> Utterance:
    return Utterance(
        audio=Path(f"{speaker}-{index}.wav"),
        text=str(index),
        speaker=speaker,
        duration_s=1.0,
        language="en",
        attributes=attributes,
    )


def test_registry_holds_the_three() -> None:
    assert PARTITIONS.names() == ["attribute", "sessions", "speaker"]


@given(
    counts=st.dictionaries(st.text(min_size=1, max_size=3), st.integers(3, 9), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
@pytest.mark.parametrize("partition", [BySpeaker(), ByAttribute("site"), BySession(3)])
def test_each_utterance_goes_to_exactly_one_client(partition: Partition, counts: dict[str, int], seed: int) -> None:
    utterances = [utterance(s, i, site="ab"[i % 2]) for s, n in counts.items() for i in range(n)]
    if isinstance(partition, BySession) and any("/" in speaker for speaker in counts):
        return
    clients = partition(utterances, Seeds(seed))
    assert sorted(u.key for client in clients for u in client.utterances) == sorted(u.key for u in utterances)
    assert len({client.id for client in clients}) == len(clients)
    assert clients == partition(utterances, Seeds(seed))
    for client in clients:
        speakers = {u.speaker for u in client.utterances}
        assert client.speaker == (speakers.pop() if len(speakers) == 1 else "")


def test_one_client_a_speaker() -> None:
    clients = BySpeaker()([utterance("b", 0), utterance("a", 0), utterance("b", 1)], Seeds(0))
    assert [(client.id, client.speaker, len(client.utterances)) for client in clients] == [("a", "a", 1), ("b", "b", 2)]


def test_clients_by_attribute_may_hold_several_people() -> None:
    utterances = [utterance("a", 0, site="north"), utterance("b", 0, site="north"), utterance("c", 0, site="south")]
    clients = ByAttribute("site")(utterances, Seeds(0))
    assert [(client.id, client.speaker) for client in clients] == [("north", ""), ("south", "c")]
    assert [client.id for client in ByAttribute("language")(utterances, Seeds(0))] == ["en"]
    with pytest.raises(DataError, match=r"a-0\.wav has no attribute 'sight' \(did you mean 'site'\?\)"):
        ByAttribute("sight")(utterances, Seeds(0))


def test_sessions_are_of_equal_size_and_random() -> None:
    utterances = [utterance("a", index) for index in range(10)]
    clients = BySession(4)(utterances, Seeds(0))
    assert [client.id for client in clients] == ["a/0", "a/1", "a/2", "a/3"]
    assert sorted(len(client.utterances) for client in clients) == [2, 2, 3, 3]
    assert {client.speaker for client in clients} == {"a"}
    assert clients != BySession(4)(utterances, Seeds(1))


def test_a_client_with_no_utterance_is_named() -> None:
    with pytest.raises(DataError, match=r"client 'a/1' has no utterance: speaker 'a' has 1 for 3 sessions; lower"):
        BySession(3)([utterance("a", 0)], Seeds(0))
    with pytest.raises(DataError, match="client 'x' has no utterance"):
        Client("x", "x", ())
    with pytest.raises(ConfigError, match=r"data\.partition\.per_speaker = 0"):
        BySession(0)
