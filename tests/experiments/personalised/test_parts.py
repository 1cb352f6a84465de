"""Who takes part, what a method costs, and what the tests say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sordino.data import Splits, Utterance
from sordino.data.corpora.atypical_voices import AtypicalVoices
from sordino.errors import ConfigError, DataError
from sordino.evaluation import Mark, Sample, mark
from sordino.experiments.personalised.rehearsal import Price, _Rehearsing, price_of
from sordino.experiments.personalised.speakers import Speakers, members, speakers_of
from sordino.experiments.personalised.verdict import differences, rates
from sordino.experiments.tasks.personalised import PersonalisedData
from sordino.federated import METHODS, InProcess, ServerState, run_rounds
from sordino.federated.methods.ditto import Ditto
from sordino.federated.methods.fedavg import FedAvg
from sordino.federated.methods.fedrep import FedRep
from sordino.federated.methods.fine_tuned import FedAvgFineTuned
from sordino.federated.methods.local import LocalOnly
from sordino.federated.methods.parameter_similarity import ParameterSimilarity
from sordino.layout import ParameterLayout
from sordino.privacy import Ledger, NoiseSource, Poisson, PrivacyOptions, Terms, make_round_plan
from sordino.seeds import Seeds

SEEDS = Seeds(2)
LAYOUT = ParameterLayout.from_shapes(
    [("si.layers.0.w", "si", (2, 3)), ("sd.layers.1.w", "sd", (4,)), ("sd.head.w", "sd", (2,))]
)


def spoken(speaker: str, count: int, *, text: str = "One!", group: str = "mild") -> tuple[Utterance, ...]:
    return tuple(
        Utterance(
            audio=Path(f"{speaker}-{text}-{index}.wav"),
            text=text,
            speaker=speaker,
            duration_s=1.0,
            attributes={"severity": group},
        )
        for index in range(count)
    )


def data(**changes: float | str) -> PersonalisedData:
    return PersonalisedData(**({"corpus": AtypicalVoices()} | changes))  # type: ignore[arg-type]


def dealt(splits: Splits, options: PersonalisedData, seeds: Seeds) -> Speakers:
    return speakers_of(splits, options, seeds, window_s=8.0)


def test_each_speakers_utterances_are_dealt_out_once() -> None:
    splits = Splits(
        train=spoken("b", 10) + spoken("a", 5, group="severe"), test=spoken("a", 2) + spoken("b", 3), test_is=""
    )
    speakers = dealt(splits, data(development=0.2), SEEDS)
    assert list(speakers.known) == ["a", "b"]
    own = speakers.known["b"]
    assert (len(own.train), len(own.development), len(own.test)) == (8, 2, 3)
    assert {u.audio for u in own.train}.isdisjoint(u.audio for u in own.development)
    assert {utterance.text for utterance in own.train} == {"one"}
    assert members({name: s.group for name, s in speakers.known.items()}) == {"severe": ("a",), "mild": ("b",)}
    assert dealt(splits, data(development=0.2), SEEDS) == speakers
    assert not dealt(splits, data(development=0.0), SEEDS).known["b"].development


def test_a_share_is_held_out_where_a_corpus_tests_other_speakers() -> None:
    splits = Splits(train=spoken("a", 8), test=spoken("b", 4), test_is="")
    with pytest.raises(DataError, match=r"data.held_out"):
        dealt(splits, data(), SEEDS)
    speakers = dealt(splits, data(held_out=0.25, development=0.0), SEEDS)
    assert {name: (len(s.train), len(s.test)) for name, s in speakers.known.items()} == {"a": (6, 2), "b": (3, 1)}


def test_a_long_utterance_of_a_pooled_test_set_is_tested_on_and_never_trained_on() -> None:
    long = tuple(replace(utterance, duration_s=9.0) for utterance in spoken("b", 6))
    splits = Splits(train=spoken("a", 8), test=long + spoken("a", 2), test_is="")
    speakers = dealt(splits, data(held_out=0.3), SEEDS)
    assert list(speakers.known) == ["a"], "b has nothing that fits"
    assert "left out 4 utterances longer than the window of 8.0 s, for training" in " ".join(speakers.notes)


def test_who_cannot_take_part_is_told() -> None:
    silent = spoken("c", 2, text="...")  # nothing to teach
    splits = Splits(train=spoken("a", 4) + silent, test=spoken("a", 2) + spoken("c", 1) + spoken("d", 1), test_is="")
    speakers = dealt(splits, data(), SEEDS)
    assert list(speakers.known) == ["a"]
    assert "left out 2 speakers" in speakers.notes[-1]


def many(*names: str, count: int = 8) -> Splits:
    """Speakers whose name begins with the first letter of their group."""
    groups = {"m": "mild", "s": "severe", "n": ""}
    train, test = ([u for name in names for u in spoken(name, n, group=groups[name[0]])] for n in (count, 2))
    return Splits(train=tuple(train), test=tuple(test), test_is="")


def test_new_speakers_are_of_all_groups_and_the_same_under_every_seed() -> None:
    splits = many("m1", "m2", "m3", "m4", "s1", "s2", "n1")
    speakers = dealt(splits, data(new_speakers=4, new_utterances=2, development=0.25), SEEDS)
    assert sorted(name[0] for name in speakers.new) == ["m", "m", "n", "s"]
    assert speakers.known.keys().isdisjoint(speakers.new)
    assert len(speakers.known) + len(speakers.new) == 7
    assert {(len(s.train), len(s.development), len(s.test)) for s in speakers.new.values()} == {(2, 0, 2)}
    assert {len(s.train) for s in speakers.known.values()} == {6}
    other = dealt(splits, data(new_speakers=4, new_utterances=0), Seeds(9))
    assert other.new.keys() == speakers.new.keys()
    assert not any(s.train for s in other.new.values())
    with pytest.raises(ConfigError, match=r"data.new_speakers = 7 of 7 speakers"):
        dealt(splits, data(new_speakers=7), SEEDS)


def test_speakers_may_have_unequal_amounts() -> None:
    splits = many("m1", "m2", "s1", "s2", "n1", count=20)
    equal = dealt(splits, data(development=0.0), SEEDS).known
    unequal = dealt(splits, data(development=0.0, least_fraction=0.2), SEEDS).known
    assert sorted(len(s.train) for s in unequal.values()) == [4, 8, 12, 16, 20]
    for name, speaker in unequal.items():
        kept = {u.audio for u in speaker.train}
        assert kept <= {u.audio for u in equal[name].train}
        assert speaker.test == equal[name].test
    assert [len(s.train) for s in dealt(splits, data(least_fraction=0.01), Seeds(4)).known.values()].count(1) == 1


@pytest.mark.parametrize(
    ("method", "price"),
    [
        (FedAvg(), Price(1, 0)),
        (LocalOnly(), Price(1, 0)),
        (FedAvgFineTuned(epochs=3), Price(1, 3)),
        (FedRep(head_epochs=2, body_epochs=1), Price(3, 0)),
        (Ditto(), Price(2, 0)),
        (ParameterSimilarity(), Price(2, 0)),
    ],
)
def test_a_rehearsal_finds_what_a_round_takes(method: FedAvg, price: Price) -> None:
    assert price_of(method, layout=LAYOUT, embedding_size=3, epochs=1) == price


@pytest.mark.parametrize("name", METHODS.names())
def test_every_method_can_be_rehearsed(name: str) -> None:
    price = price_of(METHODS.get(name)(), layout=LAYOUT, embedding_size=3, epochs=2)
    assert price.round >= 1
    assert price.use >= 0


@pytest.mark.parametrize("name", METHODS.names())
def test_no_round_takes_more_than_the_first(name: str, tmp_path: Path) -> None:
    """What is charged ahead for clients elsewhere is counted by the first."""
    method, seeds = METHODS.get(name)(), Seeds(0)
    price, learner = price_of(method, layout=LAYOUT, embedding_size=3, epochs=2), _Rehearsing(LAYOUT, 3, 2)
    terms = Terms(unit="client", population=1, clients_per_speaker=1, delta=1e-5, seeded=True)
    plan = make_round_plan(
        PrivacyOptions(mechanism="none"), phases=method.phases(LAYOUT, embedding_size=3), layout=LAYOUT,
        cohort=Poisson(rate=1.0), rounds=3, terms=terms,
    )  # fmt: skip
    with Ledger(tmp_path / "ledger.jsonl", terms=terms) as ledger:
        for result in run_rounds(
            ServerState(0, torch.zeros(LAYOUT.size)), plan, rounds=3, method=method, seeds=seeds,
            backend=InProcess((learner,), ("c",)), ledger=ledger, noise=NoiseSource(seeds),
        ):  # fmt: skip
            assert learner.passes == result.state.round * price.round


def test_passes_pay_for_whole_rounds() -> None:
    assert Price(2, 1).rounds(6, name="x") == 2
    assert Price(2, 0).rounds(6, name="x") == 3
    with pytest.raises(ConfigError, match=r"methods.x takes 2 a round and 1"):
        Price(2, 1).rounds(2, name="x")


def written(errors: dict[str, int], words: int = 10) -> list[Mark]:
    """Each speaker says one sentence, of which so many words are wrong."""
    return [
        mark(
            Sample(
                key=speaker,
                speaker=speaker,
                reference=" ".join(["one"] * words),
                hypothesis=" ".join(["two"] * wrong + ["one"] * (words - wrong)),
            )
        )
        for speaker, wrong in errors.items()
    ]


def test_rates_by_group_speaker_and_the_worst() -> None:
    row = rates([written({"a": 1, "b": 3, "c": 6})], {"mild": ["a", "b"], "severe": ["c"], "nobody": ["d"]})
    assert row["wer"] == pytest.approx(1 / 3)
    assert {group: known["wer"] for group, known in row["by_group"].items()} == {
        "mild": 0.2,
        "severe": 0.6,
        "nobody": None,
    }
    assert row["by_speaker"] == {"a": 0.1, "b": 0.3, "c": 0.6}
    assert row["worst_speaker"] == {"speaker": "c", "wer": 0.6}


def test_differences_say_what_so_few_speakers_can_show() -> None:
    names = "abcdefgh"
    base = written(dict.fromkeys(names, 5))
    better, same = written({name: index % 3 for index, name in enumerate(names)}), written(dict.fromkeys(names, 5))
    tests = differences({"fedavg": [base], "better": [better], "same": [same]}, baseline="fedavg")
    assert list(tests["methods"]) == ["better", "same"]
    row = tests["methods"]["better"]
    assert row["difference"] == pytest.approx(-0.5 + sum(index % 3 for index in range(8)) / 80)
    assert row["sign_flip"] == {"p": 2**-7, "p_holm": 2 * 2**-7}
    assert row["speakers_better"] == {"fewer": 8, "more": 0}
    assert row["mapsswe"]["p_holm"] == pytest.approx(min(1, 2 * row["mapsswe"]["p"]))
    assert tests["methods"]["same"]["sign_flip"]["p_holm"] == 1
    assert tests["sign_flip_can_reject"]
    few = differences({"fedavg": [base[:5]], "better": [better[:5]]}, baseline="fedavg")
    assert few["sign_flip_least_p"] == 2**-4
    assert not few["sign_flip_can_reject"]
