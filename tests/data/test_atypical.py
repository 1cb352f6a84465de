"""Atypical synthetic speech: each impairment does what it says, alone, and the corpus has groups that differ by it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from sordino.data import Voice, read_audio
from sordino.data.atypical import Impairment, speak_atypically
from sordino.data.corpora.atypical_voices import SEVERITIES, AtypicalVoices
from sordino.data.rendering import Job, render
from sordino.data.synthetic import federated_voices, synthesise
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

pytest.importorskip("espeakng_loader", reason="the extra 'synthetic' is not installed")

VOICE = Voice("en", "Alex", 50, 120)
SMALL = AtypicalVoices(speakers=2, utterances_per_speaker=3, test_utterances_per_speaker=2)


def say(text: str = "seven nine", *, seed: int = 0, **impairment: float) -> npt.NDArray[np.float32]:
    return speak_atypically(VOICE, Impairment(**impairment), text, seeds=Seeds(seed))


def word(text: str) -> npt.NDArray[np.float32]:
    return synthesise(VOICE, text, seeds=Seeds(0), window_s=30)


def envelopes(audio: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Log spectra of the louder half of the frames, each with mean 0."""
    frames = np.lib.stride_tricks.sliding_window_view(audio, 512)[::256] * np.hanning(512)
    loud = frames[np.argsort(np.square(frames).sum(axis=1))[len(frames) // 2 :]]
    spectra = np.log(np.abs(np.fft.rfft(loud)) + 1e-5)
    return np.asarray(spectra - spectra.mean(axis=1, keepdims=True))


def test_without_impairment_the_words_are_the_voices_own() -> None:
    np.testing.assert_array_equal(say(), np.concatenate([word("seven"), word("nine")]))


def test_the_samples_depend_on_the_arguments_only() -> None:
    every = {"pause_s": 0.2, "pitch_spread": 8.0, "tremor": 0.05, "blur": 0.3}
    np.testing.assert_array_equal(say(**every), say(**every))
    assert not np.array_equal(say(**every), say(seed=1, **every))
    for left_out in every:
        assert not np.array_equal(say(**every), say(**every | {left_out: 0.0})), left_out


def test_pauses_are_silent_and_as_long_as_said() -> None:
    spoken = len(word("seven")) + len(word("nine"))
    pauses = [(len(say(seed=seed, pause_s=0.25)) - spoken) / 16_000 for seed in range(60)]
    assert np.mean(pauses) == pytest.approx(0.25, abs=4 * 0.25 / np.sqrt(60))
    audio = say(pause_s=0.25)
    assert np.array_equal(audio[: len(word("seven"))], word("seven"))
    assert np.array_equal(audio[-len(word("nine")) :], word("nine"))
    assert not audio[len(word("seven")) : -len(word("nine"))].any()


def test_tremor_changes_the_pitch_inside_a_word_and_not_its_length() -> None:
    steady, trembling = say("nine"), say("nine", tremor=0.1)
    assert len(steady) == len(trembling)
    assert np.abs(trembling).max() == pytest.approx(np.abs(steady).max(), rel=0.1)
    lag = [int(np.argmax([np.dot(steady[i : i + 800], trembling[i + d : i + d + 800]) for d in range(-200, 201)])) - 200
           for i in range(800, len(steady) - 1200, 800)]  # fmt: skip
    assert np.ptp(lag) > 10, "it is ahead here and behind there"


def test_pitch_is_spread_about_the_voices_own() -> None:
    pitches = {len(say("nine", seed=seed, pitch_spread=20)) for seed in range(8)}
    assert len(pitches) > 4, "espeak-ng's lengths follow the pitch"


@pytest.mark.parametrize("text", ["seven", "three"])
def test_blur_makes_the_sounds_of_a_word_alike_and_keeps_its_energy(text: str) -> None:
    spreads = [float(np.mean(np.var(envelopes(say(text, blur=blur)), axis=0))) for blur in (0.0, 0.3, 0.6)]
    assert spreads[0] > 1.2 * spreads[1] > 1.2**2 * spreads[2]
    energies = [float(np.square(say(text, blur=blur)).sum()) for blur in (0.0, 0.6)]
    assert energies[1] == pytest.approx(energies[0], rel=0.4)


def test_the_voices_noise_lies_over_everything() -> None:
    noisy = speak_atypically(dataclasses.replace(VOICE, noise_std=0.01), Impairment(), "seven nine", seeds=Seeds(0))
    assert np.std(noisy - say()) == pytest.approx(0.01, rel=0.05)


def test_workers_render_the_same(tmp_path: Path) -> None:
    impairment = Impairment(pause_s=0.1, pitch_spread=5, tremor=0.02, blur=0.2)
    jobs = [Job(f"{i}.flac", VOICE, "two six", Seeds(3).at(i), 0.1, impairment) for i in range(2)]
    lengths = render(jobs, tmp_path, workers=2)
    for job, length in zip(jobs, lengths, strict=True):
        expected = speak_atypically(VOICE, impairment, job.text, seeds=job.seeds)
        assert length == len(expected) / 16_000 > 0.1, "no window hurries it"
        np.testing.assert_allclose(read_audio(tmp_path / job.file), expected, atol=2**-15)


@pytest.mark.usefixtures("cache")
def test_every_speaker_is_labelled_trained_on_and_tested_on() -> None:
    splits = SMALL.load(5.0)
    assert (len(splits.train), len(splits.test), splits.seen, splits.notes) == (18, 12, (), ())
    assert {u.speaker for u in splits.train} == {u.speaker for u in splits.test}
    for utterance in (*splits.train, *splits.test):
        assert utterance.attributes["synthetic"] == "espeak-ng"
        assert utterance.speaker.startswith(utterance.attributes["severity"])
        assert utterance.language == "en"
    assert {u.attributes["severity"] for u in splits.train} == {"mild", "moderate", "severe"}
    default = AtypicalVoices()
    assert default.speakers * len(default.groups) >= 24


@pytest.mark.usefixtures("cache")
def test_the_more_severe_the_slower() -> None:
    corpus = dataclasses.replace(SMALL, speakers=3, groups=tuple(SEVERITIES), utterances_per_speaker=1)
    test = corpus.load(5.0).test
    by_group = [
        sum(u.duration_s for u in test if u.attributes["severity"] == group)
        / sum(len(u.text.split()) for u in test if u.attributes["severity"] == group)
        for group in SEVERITIES
    ]
    assert by_group == sorted(by_group)
    assert by_group[-1] > 2 * by_group[0]


@pytest.mark.usefixtures("cache")
def test_what_does_not_fit_is_left_out_of_training_and_counted() -> None:
    whole, cut = SMALL.load(5.0), SMALL.load(0.8)
    assert 0 < len(cut.train) < len(whole.train)
    assert cut.test == whole.test
    assert f"left out {len(whole.train) - len(cut.train)} utterances longer than the window of 0.8 s" in cut.notes[0]
    with pytest.raises(DataError, match=r"model\.window_s = 0\.1: none of 18 training clips"):
        SMALL.load(0.1)


def test_more_speakers_and_groups_leave_the_first_ones_as_they_are() -> None:
    few = list(SMALL._speakers())
    more = list(dataclasses.replace(SMALL, speakers=3, groups=("severe", "typical", "mild", "moderate"))._speakers())
    assert all(speaker in more for speaker in few)
    assert len({voice for _, _, voice, _ in more}) == len(more) == 12
    for group, _, voice, impairment in more:
        low, high = SEVERITIES[group].rate
        assert low <= voice.rate <= high
        for name in ("pause_s", "pitch_spread", "tremor", "blur"):
            low_part, high_part = getattr(SEVERITIES[group], name)
            assert low_part <= getattr(impairment, name) <= high_part
    assert {voice.timbre for _, _, voice, _ in more} <= {v.timbre for v in federated_voices(2000, Seeds(0))}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"groups": ("milde",)}, r"data\.corpus\.groups = 'milde' .*did you mean 'mild'"),
        ({"groups": ()}, r"data\.corpus\.groups is empty; choose among typical"),
        ({"languages": ("xx",)}, r"data\.corpus\.languages = 'xx'"),
        ({"digits": (2, 1)}, r"data\.corpus\.digits = 1"),
        ({"speakers": 0}, r"data\.corpus\.speakers = 0"),
    ],
)
def test_wrong_options(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        AtypicalVoices(**changes)  # type: ignore[arg-type]
