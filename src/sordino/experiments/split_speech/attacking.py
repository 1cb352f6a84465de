"""What an attacker at the server makes of the noised frames of private recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import torch

from sordino.data import Utterance
from sordino.errors import ConfigError
from sordino.evaluation.attacks import attribute_inference, averaged
from sordino.evaluation.attacks.spectrum import rebuild_spectrum
from sordino.evaluation.classification import Classification
from sordino.experiments.split.exchanging import PRIVATE
from sordino.experiments.split_speech.gathering import Speech, attribute
from sordino.experiments.split_speech.judging import Recognition
from sordino.experiments.split_speech.material import SpeechMaterial, spectra
from sordino.experiments.tasks.split_speech import TEXT, SpeechAttacks
from sordino.privacy import NoiseSource
from sordino.seeds import Seeds
from sordino.split import LocalStates
from sordino.split.readout import Readout
from sordino.split.sending import Sender

__all__ = ["attack_speech", "empirical_privacy", "read_by_attacker", "require_attackable"]

_CLEAN: Final = "clean "
_REPEATED: Final = "repeated-"
_OWN_HEAD: Final = "own head"
_SPECTRUM: Final = "spectrum"

Rows = npt.NDArray[np.float32]


def attack_speech(
    options: SpeechAttacks, material: SpeechMaterial, *, sender: Sender, num_mels: int, window_s: float, seeds: Seeds
) -> dict[str, Any]:
    """Attributes of recordings and their spectra, read off the frames; a table of its success for each attack."""
    private = [one for name in PRIVATE for one in material.recordings[name].utterances]
    lengths = [int(length) for name in PRIVATE for length in material.recordings[name].lengths]
    found: dict[str, Any] = {}
    for name in options.attributes:
        values, groups = _values(name, private)
        for kind, rows in ((_CLEAN, material.rows), ("", material.noised_rows)):
            sent = torch.cat([rows[one] for one in PRIVATE]).numpy()
            found[f"{kind}{name}"] = attribute_inference(sent, lengths, values, groups=groups).to_json()
    if options.spectrum:
        found |= _spectra(options, material, sender=sender, num_mels=num_mels, window_s=window_s, seeds=seeds)
    return found


def _values(name: str, utterances: Sequence[Utterance]) -> tuple[list[str], list[str]]:
    """An attribute of some utterances, and the group of each that must not be both learned on and attacked."""
    groups = [one.text if name == "speaker" else one.speaker for one in utterances]
    return [attribute(one, name) for one in utterances], groups


def require_attackable(options: SpeechAttacks, speech: Speech) -> None:
    """Two values of each attribute, in two groups each: or nobody could learn on some groups what is asked in another.

    Raises:
        ConfigError: an attribute that the recordings do not have, or not so.
    """
    private = [one for name in PRIVATE for one in speech.sets[name]]
    for name in options.attributes:
        spread = Counter(value for value, _ in set(zip(*_values(name, private), strict=True)))
        if sum(count > 1 for count in spread.values()) < 2:
            what = "texts" if name == "speaker" else "speakers"
            raise ConfigError(
                f"attacks.attributes: {name!r} cannot be attacked: expected two values that occur with two {what} each, "
                f"found at most {dict(spread.most_common(2))}; leave it out, or take more recordings."
            )


def _spectra(
    options: SpeechAttacks, material: SpeechMaterial, *, sender: Sender, num_mels: int, window_s: float, seeds: Seeds
) -> dict[str, Any]:
    """On test recordings, learned on public ones."""
    heard, known = (
        spectra(material.recordings[name], num_mels=num_mels, window_s=window_s).numpy() for name in ("test", "public")
    )
    clean = {name: material.rows[name].numpy() for name in ("test", "public")}

    def rebuilt(rows: Callable[[Literal["test", "public"]], Rows]) -> dict[str, Any]:
        return rebuild_spectrum(
            rows("test"),
            heard,
            material.recordings["test"].lengths.tolist(),
            examples=rows("public"),
            answers=known,
            own=material.recordings["public"].lengths.tolist(),
            seeds=seeds.at("spectrum"),
        ).to_json()

    def mean_of(times: int) -> Callable[[Literal["test", "public"]], Rows]:
        def rows(name: Literal["test", "public"]) -> Rows:
            streams = NoiseSource(seeds)  # draws that are imagined and never sent

            def draw(number: int) -> Rows:
                stream = streams.stream("repeated", name, number)
                return sender.noise.rehearse(clean[name], space=sender.space, stream=stream)

            return averaged(draw, times=times)

        return rows

    found = {
        f"{_CLEAN}{_SPECTRUM}": rebuilt(lambda name: clean[name]),
        _SPECTRUM: rebuilt(lambda name: material.noised_rows[name].numpy()),
    }
    return found | {f"{_REPEATED}{times} {_SPECTRUM}": rebuilt(mean_of(times)) for times in options.repeats}


def read_by_attacker(
    speech: Speech,
    material: SpeechMaterial,
    *,
    readout: Readout,
    judge: Callable[[torch.Tensor], Classification | Recognition],
    model: LocalStates,
) -> dict[str, Any]:
    """The target of private test recordings, by a head on the last states that the attacker trains on public recordings."""
    last = [model.describe().num_blocks]
    public, test = (material.noised[name].with_server(model) for name in ("public", "test"))
    head = readout.fit_head(
        public, features=lambda exchange: exchange.states(last)[:, 0], used=lambda exchange: exchange.sent(last)
    )
    table = judge(head.scores(test)).to_json()
    if speech.target == TEXT:
        bounds = table["wer_ci95"]
        ends = None if bounds is None else [max(0.0, 1 - end) for end in reversed(bounds)]
        return {_OWN_HEAD: {"of": "words", "success": max(0.0, 1 - table["wer"]), "chance": 0.0, "ci95": ends}}
    labels = material.recordings["test"].labels
    chance = float(labels.bincount().max() / len(labels))
    return {
        _OWN_HEAD: {
            "of": speech.target,
            "success": table["accuracy"],
            "chance": chance,
            "ci95": table["accuracy_ci95"],
        }
    }


def empirical_privacy(attacks: dict[str, Any], *, sees: str) -> float | None:
    """1 - success of the best attack of any kind on what a method shows the server; None if none was tried.

    Args:
        attacks: results of `attack_speech` and `read_by_attacker`.
        sees: what the method shows.
    """
    if sees == "nothing":
        return 1.0
    tried = list(_successes(attacks, clean=sees == "clean"))
    return 1 - max(tried) if tried else None


def _successes(attacks: dict[str, Any], *, clean: bool) -> Iterator[float]:
    for name, table in attacks.items():
        if name.startswith(_CLEAN) == clean and not name.startswith(_REPEATED):
            yield float(table["success"])
