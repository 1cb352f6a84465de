"""The report: groups add up, both sides are normalised alike, everything dumps to JSON."""

from __future__ import annotations

import json

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import DataError
from sordino.evaluation import Errors, Sample, pooled, score, speaker_interval
from sordino.seeds import Seeds

SEEDS = Seeds(0)
LABEL = st.sampled_from(["", "a", "b", "c"])
TEXT = st.lists(st.sampled_from(["One", "two,", "three!", "on-off"]), max_size=5).map(" ".join)
SAMPLES = st.lists(
    st.builds(
        Sample,
        key=st.uuids().map(str),
        speaker=LABEL,
        reference=TEXT,
        hypothesis=TEXT,
        language=LABEL,
        client=LABEL,
        truncated=st.booleans(),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda sample: sample.key,
)


def sample(key: str, reference: str, hypothesis: str, *, speaker: str = "s", truncated: bool = False) -> Sample:
    return Sample(key=key, speaker=speaker, reference=reference, hypothesis=hypothesis, truncated=truncated)


@settings(max_examples=50)
@given(samples=SAMPLES)
def test_groups_add_up_to_the_whole(samples: list[Sample]) -> None:
    try:
        report = score(samples, seeds=SEEDS)
    except DataError:
        assert not any(item.reference for item in samples)
        return
    for groups in (report.by_speaker, report.by_language, report.by_client):
        assert pooled(groups.values()) == report.words
        assert list(groups) == sorted(groups)
    assert set(report.by_speaker) == {item.speaker for item in samples}
    assert set(report.by_client) == {item.client for item in samples}
    assert report.num_utterances == len(samples)
    assert report.num_truncated == sum(item.truncated for item in samples)
    assert report.interval == speaker_interval(report.by_speaker, seeds=SEEDS)


def test_the_rates_are_those_of_jiwer_on_normalised_text() -> None:
    references, hypotheses = ["one two three", "four five"], ["one too three three", "four"]
    report = score(
        [sample(str(index), *pair) for index, pair in enumerate(zip(references, hypotheses, strict=True))], seeds=SEEDS
    )
    assert report.wer == jiwer.wer(references, hypotheses) == 3 / 5
    assert report.cer == jiwer.cer(references, hypotheses)


def test_insertions_into_silence_are_pooled() -> None:
    """CASES 17."""
    report = score(
        [sample("1", "", "hello there"), sample("2", "one two three four", "one two three four")], seeds=SEEDS
    )
    assert report.wer == 0.5
    assert report.words.insertions == 2


def test_raw_and_normalised_text_score_the_same() -> None:
    """CASES 18."""
    raw, normal = "Don’t STOP — now, İzmir!", "don't stop now izmir"
    for reference in (raw, normal):
        for hypothesis in (raw, normal):
            assert score([sample("1", reference, hypothesis)], seeds=SEEDS).wer == 0


def test_the_language_decides_how_text_is_normalised() -> None:
    turkish = Sample(key="1", speaker="s", reference="ISPARTA", hypothesis="ısparta", language="tr")
    english = Sample(key="1", speaker="s", reference="ISPARTA", hypothesis="ısparta", language="en")
    assert score([turkish], seeds=SEEDS).wer == 0
    assert score([english], seeds=SEEDS).wer == 1


def test_repeat_loops_are_counted_as_insertions_and_as_truncated() -> None:
    """CASES 19: 222 repeats of a word that was said once."""
    looping = sample("1", "one two", "one " + "two " * 222, truncated=True)
    report = score([looping, sample("2", "one two", "one two")], seeds=SEEDS)
    assert report.num_truncated == 1
    assert report.words.insertions == 221
    assert report.wer == 221 / 4


def test_the_worst_speaker_has_the_highest_rate_and_words() -> None:
    samples = [
        sample("1", "one two three four", "one", speaker="b"),
        sample("2", "one two three four", "one", speaker="a"),
        sample("3", "one two", "one two", speaker="good"),
        sample("4", "", "noise", speaker="silent"),
    ]
    assert score(samples, seeds=SEEDS).worst_speaker == "a"


def test_the_dump_is_plain_json() -> None:
    samples = [
        Sample(key="1", speaker="a", reference="one two", hypothesis="one", language="en", client="c1"),
        Sample(key="2", speaker="b", reference="one two", hypothesis="one two", language="en", client="c2"),
        Sample(key="3", speaker="silent", reference="", hypothesis="noise", language="de", client="c2", truncated=True),
    ]
    report = score(samples, seeds=SEEDS)
    table = report.dump()
    assert json.loads(json.dumps(table, allow_nan=False)) == table
    assert table["wer"] == 0.5
    assert table["ci95"] == list(report.ci95 or ())
    assert "only 3 speakers" in table["ci95_note"]
    assert table["errors"] == {"substitutions": 0, "deletions": 1, "insertions": 1, "words": 4}
    assert table["by_speaker"]["a"] == {"wer": 0.5, "substitutions": 0, "deletions": 1, "insertions": 0, "words": 2}
    assert table["by_speaker"]["silent"]["wer"] is None
    assert table["by_language"]["en"]["wer"] == 0.25
    assert table["by_client"]["c2"]["wer"] == 0.5
    assert table["num_utterances"] == 3
    assert table["num_truncated"] == 1
    assert table["worst_speaker"] == "a"


def test_one_speaker_dumps_a_null_interval_with_the_reason() -> None:
    table = score([sample("1", "one", "one")], seeds=SEEDS).dump()
    assert table["ci95"] is None
    assert "single speaker" in table["ci95_note"]


def test_samples_that_cannot_be_scored_are_refused() -> None:
    with pytest.raises(DataError, match="0 utterances"):
        score([], seeds=SEEDS)
    with pytest.raises(DataError, match="'1' is in the test set 2 times"):
        score([sample("1", "one", "one"), sample("1", "two", "two")], seeds=SEEDS)
    with pytest.raises(DataError, match="0 reference words"):
        score([sample("1", "…", "one")], seeds=SEEDS)


def test_errors_of_two_reports_can_be_paired() -> None:
    """The report keeps counts by speaker, which is what a paired comparison takes."""
    report = score([sample("1", "one two", "one")], seeds=SEEDS)
    assert report.by_speaker == {"s": Errors(deletions=1, words=2)}
