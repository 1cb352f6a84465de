from __future__ import annotations

import hashlib
import subprocess
import sys
import threading

import numpy as np
import pytest

from sordino.data import DIGITS, Voice, digit_string, espeak, federated_voices, held_out_voices, pretraining_voices
from sordino.data.synthetic import PRETRAINING_TIMBRES, federated_timbres, held_out_timbres, synthesise
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

pytest.importorskip("espeakng_loader", reason="the extra 'synthetic' is not installed")

SEEDS = Seeds(5)
# Breathy variants draw from espeak's random source, Klatt ones from the C library's; the others keep filters between calls.
TIMBRES = ("m1", "f2", "Reed", "caleb", "klatt3", "whisper", "Demonic", "iven", "robosoft6", "Mr serious")


def say(timbre: str, text: str = "three nine", **changes: object) -> bytes:
    fields = {"language": "en", "timbre": timbre, "pitch": 50, "rate": 175, "noise_std": 0.01} | changes
    return hashlib.sha256(synthesise(Voice(**fields), text, seeds=SEEDS).tobytes()).digest()  # type: ignore[arg-type]


def test_samples_do_not_depend_on_what_was_said_before() -> None:
    first = {timbre: say(timbre) for timbre in TIMBRES}
    say("m4", "vier sieben", language="de", rate=300, pitch=10)
    assert {timbre: say(timbre) for timbre in reversed(TIMBRES)} == first
    assert len(set(first.values())) == len(TIMBRES), "timbres must differ"


@pytest.mark.slow
def test_every_variant_is_the_same_in_any_order() -> None:
    def raw(timbre: str) -> bytes:
        return espeak.speak("seven", language="en", timbre=timbre, pitch=50, rate=175).tobytes()

    forwards = {timbre: raw(timbre) for timbre in espeak.timbres()}
    assert {timbre: raw(timbre) for timbre in reversed(espeak.timbres())} == forwards


def test_another_process_gives_identical_samples() -> None:
    code = (
        "import hashlib, sys\n"
        "from sordino.data import Voice, synthesise\n"
        "from sordino.seeds import Seeds\n"
        "for timbre in sys.argv[1:]:\n"
        "    voice = Voice('en', timbre, 50, 175, 0.01)\n"
        "    print(hashlib.sha256(synthesise(voice, 'three nine', seeds=Seeds(5)).tobytes()).hexdigest())\n"
    )
    run = subprocess.run([sys.executable, "-c", code, *TIMBRES], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [say(timbre).hex() for timbre in TIMBRES]


def test_threads_do_not_disturb_each_other() -> None:
    alone = [say(timbre) for timbre in TIMBRES[:4]]
    together: dict[int, bytes] = {}
    threads = [
        threading.Thread(target=lambda i=i: together.__setitem__(i, say(TIMBRES[i])))
        for i in range(4)  # type: ignore[misc]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[index] for index in range(4)] == alone


def test_every_parameter_is_heard() -> None:
    base = say("m1")
    changes: list[dict[str, object]] = [{"pitch": 60}, {"rate": 190}, {"noise_std": 0.02}, {"language": "de"}]
    assert len({base, *(say("m1", **change) for change in changes)}) == 5
    assert say("m1", "three eight") != base


def test_noise_has_the_given_spread_and_comes_from_the_seeds() -> None:
    clean = synthesise(Voice("en", "m1", 50, 175), "three nine", seeds=SEEDS)
    noisy = synthesise(Voice("en", "m1", 50, 175, 0.01), "three nine", seeds=SEEDS)
    other = synthesise(Voice("en", "m1", 50, 175, 0.01), "three nine", seeds=Seeds(6))
    assert np.std(noisy - clean) == pytest.approx(0.01, rel=0.03)
    np.testing.assert_array_equal(clean, synthesise(Voice("en", "m1", 50, 175), "three nine", seeds=Seeds(6)))
    assert abs(np.corrcoef(noisy - clean, other - clean)[0, 1]) < 0.05


def test_silence_around_the_words_is_cut() -> None:
    audio = synthesise(Voice("en", "m1", 50, 175), "three nine", seeds=SEEDS)
    peak = np.abs(audio).max()
    assert np.abs(audio[:160]).max() > 0.005 * peak
    assert np.abs(audio[-160:]).max() > 0.005 * peak
    assert 0.3 < len(audio) / 16_000 < 1.2


def test_what_is_too_long_is_said_faster_or_refused() -> None:
    voice = Voice("es", "m4", 50, 90)
    long = "cuatro cuatro cuatro cuatro"
    assert len(synthesise(voice, long, seeds=SEEDS, window_s=9.0)) > 2 * 16_000
    assert len(synthesise(voice, long, seeds=SEEDS, window_s=2.0)) < 2 * 16_000
    with pytest.raises(DataError, match=r"takes longer than 2\.0 s to say; choose a shorter one"):
        synthesise(voice, " ".join([long] * 5), seeds=SEEDS, window_s=2.0)


def test_wrong_names_are_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"timbre = 'klat' is not known \(did you mean 'klatt'\?\)"):
        say("klat")
    with pytest.raises(ConfigError, match=r"language = 'xx' is not known"):
        say("m1", language="xx")
    with pytest.raises(DataError, match="gives no sound"):
        say("m1", "...")


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    espeak._paths.cache_clear()
    try:
        with pytest.raises(ConfigError, match=r"pip install 'sordino\[synthetic\]'"):
            say("m1")
    finally:
        monkeypatch.undo()
        espeak._paths.cache_clear()


def test_populations_share_no_timbre_and_no_family() -> None:
    populations = [set(PRETRAINING_TIMBRES), set(federated_timbres()), set(held_out_timbres())]
    assert set().union(*populations) == set(espeak.timbres())
    assert sum(map(len, populations)) == len(espeak.timbres())
    families = [{timbre.rstrip("0123456789").lower() for timbre in p if len(timbre) > 2} for p in populations[1:]]
    assert not families[0] & families[1]
    assert 15 <= len(populations[2]) <= 30


def test_populations_are_as_described() -> None:
    clean, noisy, held_out = (draw(400, SEEDS) for draw in (pretraining_voices, federated_voices, held_out_voices))
    assert {voice.timbre for voice in clean} == set(PRETRAINING_TIMBRES)
    assert {voice.noise_std for voice in clean} == {0.0}
    assert {voice.timbre for voice in noisy} == set(federated_timbres())
    assert {voice.timbre for voice in held_out} == set(held_out_timbres())
    assert {voice.language for voice in noisy} == {"en", "de", "fr", "es"}
    spread = np.log([voice.noise_std for voice in noisy])
    assert spread.min() >= np.log(0.0016)
    assert spread.max() <= np.log(0.016)
    assert np.median(spread) == pytest.approx(np.log(0.0016 * 0.016) / 2, abs=0.15), "log-uniform"
    assert len(set(noisy)) == 400


def test_more_voices_leave_the_first_ones_as_they_are() -> None:
    assert federated_voices(20, SEEDS)[:5] == federated_voices(5, SEEDS)
    assert federated_voices(20, SEEDS) != federated_voices(20, Seeds(6))
    assert {voice.language for voice in federated_voices(30, SEEDS, languages=("it", "nl"))} == {"it", "nl"}


@pytest.mark.parametrize("language", sorted(DIGITS))
def test_digit_strings(language: str) -> None:
    assert len(set(DIGITS[language])) == 10
    assert all(word == word.lower() and " " not in word for word in DIGITS[language])
    rng = np.random.default_rng(0)
    strings = [digit_string(language, rng).split() for _ in range(300)]
    assert {len(words) for words in strings} == {1, 2, 3, 4}
    assert {word for words in strings for word in words} == set(DIGITS[language])
    voice = Voice(language, "m1", 50, 175)
    longest = " ".join([max(DIGITS[language], key=len)] * 4)
    assert 0.5 < len(synthesise(voice, longest, seeds=SEEDS)) / 16_000 < 2.0


def test_digit_strings_of_an_unknown_language() -> None:
    with pytest.raises(ConfigError, match="language = 'english'"):
        digit_string("english", np.random.default_rng(0))
