"""Every subset of modalities, and folds that share no speaker."""

from __future__ import annotations

from pathlib import Path

import pytest

from sordino.data import Utterance
from sordino.errors import ConfigError, DataError
from sordino.evaluation import all_masks, score_masks, speaker_folds
from sordino.seeds import Seeds


def test_all_subsets_but_the_empty_one() -> None:
    masks = all_masks(["speech", "prosody", "face"])
    assert len(masks) == len(set(masks)) == 7
    assert masks[0] == ("speech", "prosody", "face")
    assert masks[-3:] == (("speech",), ("prosody",), ("face",))
    assert all_masks(["speech"]) == (("speech",),)
    for wrong in ([], ["speech", "speech"]):
        with pytest.raises(DataError, match="each once"):
            all_masks(wrong)


def test_each_mask_is_scored_against_all_modalities() -> None:
    truth, speakers = ["joy", "fear"] * 6, [f"s{number // 2}" for number in range(12)]

    def guess(present: tuple[str, ...]) -> list[str]:
        return truth if "speech" in present else ["joy"] * 12

    reports = score_masks(guess, ["speech", "text"], truth=truth, speakers=speakers, seeds=Seeds(0))
    assert list(reports) == ["speech+text", "speech", "text"]
    assert [report.scores.accuracy for report in reports.values()] == [1, 1, 0.5]
    assert [report.change for report in reports.values()] == [0, 0, -0.5]
    assert reports["text"].to_json()["change_ci95"] == [-0.5, -0.5]
    assert reports["text"].present == ("text",)


def clips(counts: dict[str, int]) -> list[Utterance]:
    return [
        Utterance(audio=Path(f"{speaker}-{number}.wav"), text="a", speaker=speaker, duration_s=1)
        for speaker, count in counts.items()
        for number in range(count)
    ]


def test_folds_share_no_speaker_and_test_everyone_once() -> None:
    utterances = clips({"a": 5, "b": 1, "c": 4, "d": 2, "e": 2})
    folds = speaker_folds(utterances, num=3)
    tested = [utterance.key for fold in folds for utterance in fold.test]
    assert sorted(tested) == sorted(utterance.key for utterance in utterances)
    for fold in folds:
        assert not {u.speaker for u in fold.train} & {u.speaker for u in fold.test}
        assert len(fold.train) + len(fold.test) == len(utterances)
    assert sorted(len(fold.test) for fold in folds) == [4, 5, 5], "about equally many"
    again = speaker_folds(list(reversed(utterances)), num=3)
    assert [{u.speaker for u in fold.test} for fold in again] == [{u.speaker for u in fold.test} for fold in folds]
    assert [len(fold.test) for fold in speaker_folds(utterances)] == [5, 4, 2, 2, 1], "one a speaker"


@pytest.mark.parametrize(("num", "speakers"), [(1, 3), (4, 3), (-1, 3), (0, 1)])
def test_folds_that_cannot_be_are_refused(num: int, speakers: int) -> None:
    with pytest.raises(ConfigError, match="expected from 2 to one a speaker"):
        speaker_folds(clips({str(number): 2 for number in range(speakers)}), num=num)
