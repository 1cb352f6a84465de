"""The contract of every corpus, then each by itself."""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.config import build, dump
from sordino.data import (
    CORPORA,
    Corpus,
    FeatureStore,
    Splits,
    Voice,
    read_audio,
    read_manifest,
    readable,
    rendered,
    synthesise,
    write_audio,
)
from sordino.data.corpora.atypical_voices import AtypicalVoices
from sordino.data.corpora.fsdd import FreeSpokenDigits
from sordino.data.corpora.manifest import Manifest
from sordino.data.corpora.spoken_texts import SpokenTexts
from sordino.data.corpora.synthetic_voices import SyntheticVoices
from sordino.data.corpus import within_window
from sordino.data.rendering import Job, render
from sordino.data.synthetic import federated_timbres, held_out_timbres
from sordino.data.texts.json_lines import JsonLines
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

SMALL = SyntheticVoices(
    voices=4, utterances_per_voice=3, held_out_voices=2, utterances_per_held_out_voice=2, seen_utterances_per_voice=1
)


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A small dataset in the official layout: 2 speakers, 10 digits, recordings 0 to 7, 8 kHz."""
    folder = tmp_path / "fsdd" / "recordings"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for speaker in ("ann", "bo_b"):
        for digit in range(10):
            for index in range(8):
                audio = rng.uniform(-0.1, 0.1, int(8_000 * rng.uniform(0.25, 0.5)))
                soundfile.write(folder / f"{digit}_{speaker}_{index}.wav", audio, 8_000)
    return folder


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """Seven speakers with four clips each."""
    lines = []
    for speaker in range(7):
        for clip in range(4):
            audio = np.random.default_rng([speaker, clip]).uniform(-0.1, 0.1, 8_000).astype(np.float32)
            write_audio(tmp_path / f"{speaker}-{clip}.flac", audio)
            line = {"audio_filepath": f"{speaker}-{clip}.flac", "duration": 0.5, "text": "x", "speaker": f"s{speaker}"}
            lines.append(json.dumps(line))
    (tmp_path / "m.jsonl").write_text("\n".join(lines))
    return tmp_path / "m.jsonl"


@pytest.fixture(params=["synthetic-voices", "atypical-voices", "spoken-texts", "fsdd", "fsdd joined", "manifest"])
def corpus(request: pytest.FixtureRequest, cache: Path) -> Corpus:
    if request.param in ("synthetic-voices", "atypical-voices", "spoken-texts"):
        pytest.importorskip("espeakng_loader", reason="the extra 'synthetic' is not installed")
        if request.param == "spoken-texts":
            return reading(cache, "Good morning, everybody!", "How are you?")
        return SMALL if request.param == "synthetic-voices" else AtypicalVoices(2, utterances_per_speaker=3)
    if request.param == "manifest":
        return Manifest(request.getfixturevalue("manifest"))
    digits = (1, 3) if "joined" in request.param else (1, 1)
    return FreeSpokenDigits(request.getfixturevalue("recordings"), digits, train_strings=9, test_strings=4)


def reading(folder: Path, *texts: str, **options: object) -> SpokenTexts:
    """Two voices that read these, and another for the test."""
    file = folder.parent / "texts.jsonl"
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    small = {"language": "en", "voices": 2, "utterances_per_voice": 3, "held_out_voices": 1} | options
    return SpokenTexts(texts=JsonLines(path=file), **small)  # type: ignore[arg-type]


def ids(splits: Splits) -> list[list[tuple[str, str, str, float]]]:
    parts = (splits.train, splits.test, splits.seen)
    return [[(u.key, u.text, u.speaker, u.duration_s) for u in part] for part in parts]


def test_registry() -> None:
    assert {"atypical-voices", "fsdd", "manifest", "spoken-texts", "synthetic-voices"} <= set(CORPORA.names())


def test_every_corpus_keeps_its_contract(corpus: Corpus) -> None:
    splits = corpus.load(2.0)
    assert splits.train
    assert splits.test
    assert splits.test_is
    keys = [u.key for part in (splits.train, splits.test, splits.seen) for u in part]
    assert len(set(keys)) == len(keys), "no clip is in two splits"
    for utterance in splits.train:
        assert len(read_audio(utterance.audio)) / 16_000 == pytest.approx(utterance.duration_s, abs=0.002)
        assert utterance.duration_s <= 2.0
    assert {u.speaker for u in splits.seen} <= {u.speaker for u in splits.train}
    shared = {u.speaker for u in splits.test} & {u.speaker for u in splits.train}
    assert bool(shared) == (splits.test_is == "held-out clips of training speakers")
    assert ids(corpus.load(2.0)) == ids(splits), "same options, same utterances"


def test_every_corpus_survives_the_configuration(corpus: Corpus) -> None:
    table = {key: value for key, value in dump(corpus).items() if key != "method"}
    assert build(type(corpus), table) == corpus
    for field in dataclasses.fields(corpus):  # type: ignore[arg-type]
        assert field.metadata["help"].endswith(".")


# ------------------------------------------------------------------------------------------------ synthetic voices


@pytest.fixture
def _espeak() -> None:
    pytest.importorskip("espeakng_loader", reason="the extra 'synthetic' is not installed")


@pytest.mark.usefixtures("_espeak")
def test_synthetic_splits(cache: Path) -> None:
    splits = SMALL.load(2.0)
    assert [len(splits.train), len(splits.test), len(splits.seen)] == [12, 4, 4]
    assert splits.test_is == "held-out voices"
    assert {u.attributes["timbre"] for u in splits.train} <= set(federated_timbres())
    assert {u.attributes["timbre"] for u in splits.test} <= set(held_out_timbres())
    assert Counter(u.speaker for u in splits.train) == {f"voice-{index:04d}": 3 for index in range(4)}
    assert {u.audio.parent.parent.parent for u in splits.train} == {cache}


@pytest.mark.usefixtures("_espeak")
def test_synthetic_audio_is_what_the_voice_says_whatever_the_number_of_workers(tmp_path: Path) -> None:
    voices = [
        Voice("en", "klatt2", 50, 175, 0.004),
        Voice("de", "whisper", 40, 200, 0.01),
        Voice("fr", "Alex", 60, 160),
    ]
    jobs = [Job(f"a/{i}.flac", v, "six", Seeds(3).at(i), 2.0) for i, v in enumerate(voices)]
    for workers in (1, 2):
        lengths = render(jobs, tmp_path / str(workers), workers=workers)
        for job, length in zip(jobs, lengths, strict=True):
            expected = synthesise(job.voice, job.text, seeds=job.seeds)
            assert length == len(expected) / 16_000
            np.testing.assert_allclose(read_audio(tmp_path / str(workers) / job.file), expected, atol=2**-15)


@pytest.mark.usefixtures("_espeak")
def test_a_worker_that_fails_says_why(tmp_path: Path) -> None:
    job = Job("0.flac", Voice("en", "m1", 50, 175), "seven " * 40, Seeds(0), 2.0)
    with pytest.raises(DataError, match=r"rendering .* failed: .*takes longer than 2\.0 s"):
        render([job], tmp_path)


@pytest.mark.usefixtures("_espeak")
def test_each_option_gives_a_corpus_of_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def touch(jobs: Sequence[Job], folder: Path) -> list[float]:
        for job in jobs:
            (folder / job.file).parent.mkdir(exist_ok=True)
            (folder / job.file).touch()
        return [1.0] * len(jobs)

    monkeypatch.setattr(rendered, "render", touch)
    changes: list[dict[str, object]] = [
        {"voices": 5},
        {"utterances_per_voice": 4},
        {"held_out_voices": 3},
        {"utterances_per_held_out_voice": 3},
        {"seen_utterances_per_voice": 0},
        {"languages": ("en",)},
        {"digits": (2, 2)},
        {"seed": 1},
    ]
    base = ids(SMALL.load(2.0))
    for change in changes:
        assert ids(dataclasses.replace(SMALL, **change).load(2.0)) != base, change  # type: ignore[arg-type]
    SMALL.load(1.5)
    assert len([path for path in cache.iterdir() if path.is_dir()]) == len(changes) + 2


@pytest.mark.usefixtures("_espeak")
def test_a_killed_rendering_is_made_again(cache: Path) -> None:
    code = (
        "from sordino.data.corpora.synthetic_voices import SyntheticVoices\n"
        "SyntheticVoices(voices=15, held_out_voices=2).load(2.0)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        for _ in range(600):
            if len(list(cache.glob("*/*/*.flac"))) > 20:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert len(list(cache.glob("*/*/*.flac"))) > 20
    assert list(cache.glob("*/manifest.jsonl")) == []
    splits = SyntheticVoices(voices=15, held_out_voices=2).load(2.0)
    assert len(splits.train) == 180
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1


def test_wrong_options_of_synthetic_voices() -> None:
    for change, message in [
        ({"voices": 0}, r"data\.corpus\.voices = 0"),
        ({"languages": ("en", "dee")}, r"data\.corpus\.languages = 'dee' is not known \(did you mean 'de'\?\)"),
        ({"languages": ()}, "languages is empty"),
        ({"digits": (3, 2)}, r"data\.corpus\.digits = 2: expected at least 3"),
        ({"digits": (0, 2)}, r"data\.corpus\.digits = 0"),
        ({"seen_utterances_per_voice": -1}, "seen_utterances_per_voice = -1"),
    ]:
        with pytest.raises(ConfigError, match=message):
            dataclasses.replace(SMALL, **change)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ spoken texts


@pytest.mark.usefixtures("_espeak")
def test_texts_are_read_as_they_are_written(cache: Path) -> None:
    corpus = reading(cache, "It\u2019s late: go home!", "Room 12 is free.", "\u20ac five, please", "...", most_words=3)
    splits = corpus.load(2.0)
    assert {u.text for u in (*splits.train, *splits.test)} == {"It\u2019s late go"}, "no figures, no signs, three words"
    assert [len(splits.train), len(splits.test)] == [6, 3]
    assert {u.attributes["timbre"] for u in splits.test} <= set(held_out_timbres())
    assert {u.language for u in splits.train} == {"en"}
    assert {u.attributes["synthetic"] for u in splits.train} == {"espeak-ng"}


@pytest.mark.usefixtures("_espeak")
def test_other_texts_are_other_speech_and_more_voices_leave_the_first_as_they_are(cache: Path) -> None:
    before = reading(cache, "good morning", "how are you").load(2.0)
    more = reading(cache, "good morning", "how are you", voices=3).load(2.0)
    assert [(u.text, u.duration_s) for u in more.train[:6]] == [(u.text, u.duration_s) for u in before.train]
    assert {u.text for u in reading(cache, "goodbye").load(2.0).train} == {"goodbye"}


@pytest.mark.usefixtures("_espeak")
def test_texts_that_cannot_be_read_aloud(cache: Path) -> None:
    with pytest.raises(DataError, match=r"none of 2 texts can be read aloud .* give others"):
        reading(cache, "12", "5 %").load(2.0)
    with pytest.raises(ConfigError, match=r"^data\.corpus\.language = 'xx' is not known"):
        reading(cache, "good morning", language="xx").load(2.0)
    with pytest.raises(ConfigError, match=r"data\.corpus\.most_words = 0"):
        reading(cache, "good morning", most_words=0)
    assert list(cache.glob("*/manifest.jsonl")) == []


# ------------------------------------------------------------------------------------------------ spoken digits


@pytest.mark.parametrize("above", [False, True])
def test_the_official_layout_and_split(recordings: Path, above: bool) -> None:
    splits = FreeSpokenDigits(recordings.parent if above else recordings).load(2.0)
    assert [len(splits.train), len(splits.test), len(splits.seen)] == [2 * 10 * 3, 2 * 10 * 5, 0]
    assert {u.audio.stem.rsplit("_", 1)[1] for u in splits.test} == set("01234")
    assert {u.speaker for u in splits.train} == {"ann", "bo_b"}
    assert {(u.audio.name[0], u.text) for u in splits.train} >= {("0", "zero"), ("7", "seven")}
    assert splits.notes == ()


def test_joined_strings_are_one_persons_clips_of_one_split(recordings: Path, cache: Path) -> None:
    splits = FreeSpokenDigits(recordings, (2, 4), train_strings=30, test_strings=10).load(2.0)
    assert Counter(u.speaker for u in splits.train) == {"ann": 30, "bo_b": 30}
    assert Counter(u.speaker for u in splits.test) == {"ann": 10, "bo_b": 10}
    used = Counter(clip for u in splits.train for clip in u.attributes["clips"].split())
    assert len(used) == 60, "every training clip is used"
    assert max(used.values()) - min(used.values()) <= 1, "about equally often"
    for utterance in (*splits.train, *splits.test):
        clips = utterance.attributes["clips"].split()
        assert {clip[2:-2] for clip in clips} == {utterance.speaker}
        assert all((int(clip[-1]) < 5) == (utterance in splits.test) for clip in clips)
        assert [clip[0] for clip in clips] == [str(SPELLED.index(word)) for word in utterance.text.split()]
    utterance = splits.train[0]
    parts = [read_audio(recordings / f"{clip}.wav") for clip in utterance.attributes["clips"].split()]
    audio = read_audio(utterance.audio)
    np.testing.assert_allclose(audio[: len(parts[0])], parts[0], atol=2**-15)
    np.testing.assert_allclose(audio[-len(parts[-1]) :], parts[-1], atol=2**-15)
    gaps = len(audio) - sum(map(len, parts))
    assert 0.03 <= gaps / 16_000 / (len(parts) - 1) <= 0.12


SPELLED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def test_strings_that_would_not_fit_hold_fewer_digits(recordings: Path, cache: Path) -> None:
    splits = FreeSpokenDigits(recordings, (4, 4), train_strings=20, test_strings=5).load(1.0)
    assert max(u.duration_s for u in splits.train) <= 1.0
    assert {len(u.text.split()) for u in splits.train} <= {1, 2, 3}


def test_joined_strings_follow_the_recordings_and_the_seed(recordings: Path, cache: Path) -> None:
    def joined(seed: int = 0) -> list[str]:
        splits = FreeSpokenDigits(recordings, (1, 3), train_strings=5, test_strings=2, seed=seed).load(2.0)
        return [u.text for u in splits.train]

    first = joined()
    assert joined(seed=1) != first
    before = len(list(cache.iterdir()))
    soundfile.write(recordings / "7_ann_6.wav", np.full(4_000, 0.1), 8_000)
    joined()
    assert len(list(cache.iterdir())) > before, "a changed recording is not answered from the cache"


def test_long_and_broken_digits_are_named_and_counted(recordings: Path) -> None:
    soundfile.write(recordings / "3_ann_6.wav", np.full(8_000 * 3, 0.1), 8_000)
    (recordings / "4_ann_7.wav").write_bytes(b"")
    (recordings / "5_ann_0.wav").write_text("no sound")
    splits = FreeSpokenDigits(recordings).load(2.0)
    assert [len(splits.train), len(splits.test)] == [58, 99]
    assert splits.notes == (
        "left out 2 utterances whose recording is empty or unreadable: 4_ann_7.wav, 5_ann_0.wav.",
        "left out 1 utterance longer than the window of 2.0 s, for training: 3_ann_6.wav.",
    )


def test_folders_that_are_not_the_dataset(tmp_path: Path, recordings: Path) -> None:
    with pytest.raises(ConfigError, match=r"data\.corpus\.path = '.*absent' is no folder; name the dataset's"):
        FreeSpokenDigits(tmp_path / "absent").load(2.0)
    (tmp_path / "bare").mkdir()
    with pytest.raises(DataError, match=r"holds no recording such as 7_george_12\.wav"):
        FreeSpokenDigits(tmp_path / "bare").load(2.0)
    shutil.copy(recordings / "7_ann_6.wav", tmp_path / "bare" / "7_ann_6.wav")
    with pytest.raises(DataError, match="1 training and 0 test recordings"):
        FreeSpokenDigits(tmp_path / "bare").load(2.0)
    shutil.copy(recordings / "7_ann_6.wav", tmp_path / "bare" / "seven.wav")
    with pytest.raises(DataError, match=r"seven\.wav is not named like 7_george_12\.wav"):
        FreeSpokenDigits(tmp_path / "bare").load(2.0)


def test_real_digits(data_root: Path) -> None:
    splits = FreeSpokenDigits(data_root / "fsdd").load(2.0)
    assert [len(splits.train), len(splits.test)] == [2_698, 300]
    assert splits.notes == (
        "left out 2 utterances longer than the window of 2.0 s, for training: 7_36.flac, 9_16.flac.",
    )
    assert {u.speaker for u in splits.test} == {f"s{index}" for index in range(1, 7)}


# ------------------------------------------------------------------------------------------------ any manifest


def test_whole_speakers_are_held_out_where_there_are_enough(manifest: Path) -> None:
    splits = Manifest(manifest, held_out=0.3).load(2.0)
    assert splits.test_is == "held-out speakers"
    assert len({u.speaker for u in splits.test}) == 2
    assert len(splits.train) == 20
    chosen = {frozenset(u.speaker for u in Manifest(manifest, seed=seed).load(2.0).test) for seed in range(6)}
    assert len(chosen) > 1, "the seed decides who"


def test_clips_are_held_out_where_speakers_are_few(manifest: Path) -> None:
    manifest.write_text("\n".join(manifest.read_text().splitlines()[:16]))
    splits = Manifest(manifest, held_out=0.5).load(2.0)
    assert splits.test_is == "held-out clips of training speakers"
    assert Counter(u.speaker for u in splits.test) == {f"s{index}": 2 for index in range(4)}


def test_two_manifests(manifest: Path) -> None:
    lines = manifest.read_text().splitlines()
    train, test = manifest.with_name("train.jsonl"), manifest.with_name("test.jsonl")

    def test_is(train_lines: list[str], test_lines: list[str]) -> str:
        train.write_text("\n".join(train_lines))
        test.write_text("\n".join(test_lines))
        return Manifest(train, test).load(2.0).test_is

    assert test_is(lines[:8], lines[8:]) == "held-out speakers"
    assert test_is([*lines[:3], *lines[4:7]], [lines[3], lines[7]]) == "held-out clips of training speakers"
    assert test_is(lines[:6], lines[6:]) == "a test manifest with 1 of its 6 speakers also in training"
    with pytest.raises(DataError, match=r"1-1\.flac is both in data\.corpus\.train and in data\.corpus\.test; remove"):
        test_is(lines[:6], lines[5:])


def test_what_cannot_be_trained_on_is_named_and_counted(manifest: Path) -> None:
    folder = manifest.parent
    lines = manifest.read_text().splitlines()
    write_audio(folder / "long.flac", np.full(48_000, 0.1, np.float32))
    soundfile.write(folder / "zero.wav", np.zeros(0, np.float32), 16_000)
    for name, duration in (("long.flac", 3.0), ("zero.wav", 0.5)):
        lines.append(json.dumps({"audio_filepath": name, "duration": duration, "text": "x", "speaker": "s0"}))
    (folder / "train.jsonl").write_text("\n".join(lines[4:]))
    (folder / "test.jsonl").write_text("\n".join(lines[:4]))
    splits = Manifest(folder / "train.jsonl", folder / "test.jsonl").load(2.0)
    assert len(splits.train) == 24
    assert splits.notes == (
        "left out 1 utterance whose recording is empty or unreadable: zero.wav.",
        "left out 1 utterance longer than the window of 2.0 s, for training: long.flac.",
    )
    with pytest.raises(
        DataError, match=r"leaves no utterance for training: left out 1 .*; left out 25 utterances longer .* more; add"
    ):
        Manifest(folder / "train.jsonl", folder / "test.jsonl").load(0.1)
    for held_out in (0.0, 1.0, -0.1):
        with pytest.raises(ConfigError, match=r"data\.corpus\.held_out"):
            Manifest(manifest, held_out=held_out)


def test_rounded_durations_are_made_exact(tmp_path: Path) -> None:
    for name, samples in (("over", 32_040), ("under", 31_990), ("piece", 48_000)):
        write_audio(tmp_path / f"{name}.flac", np.full(samples, 0.1, np.float32))
    line = {"audio_filepath": "", "duration": 2.0, "text": "x", "speaker": "s"}
    lines = [line | {"audio_filepath": f"{name}.flac"} for name in ("over", "under", "piece")]
    lines.append(line | {"audio_filepath": "piece.flac", "offset": 3.5})
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, lines)))
    kept, notes = readable(read_manifest(tmp_path / "train.jsonl"))
    assert [u.duration_s for u in kept] == [32_040 / 16_000, 31_990 / 16_000, 2.0]
    assert notes == ("left out 1 utterance whose recording is empty or unreadable: piece.flac.",)
    fitting, _ = within_window(kept, 2.0)
    assert [u.audio.stem for u in fitting] == ["under", "piece"]
    assert FeatureStore(80, 2.0).features(fitting).shape == (2, 80, 200)


def test_real_manifest(data_root: Path) -> None:
    splits = Manifest(data_root / "nemo" / "manifest.jsonl").load(6.0)
    assert splits.test_is == "held-out speakers"
    assert len({u.speaker for u in splits.test}) == 2
    assert len(splits.train) + len(splits.test) == 424
    assert {u.language for u in splits.train} == {"pl"}
