"""Runs a split experiment with speech in a run folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import torch

from sordino.config import to_toml
from sordino.experiments.measuring import versions
from sordino.experiments.observer import Observer, Silent
from sordino.experiments.split.finishing import common_result
from sordino.experiments.split.in_turn import compared, fit_in_turn
from sordino.experiments.split.judging import LabelJudge
from sordino.experiments.split.paying import sender_of, terms_of
from sordino.experiments.split.returning import require_returned
from sordino.experiments.split.serving import Served, serving_model
from sordino.experiments.split.staging import staged
from sordino.experiments.split_speech.attacking import (
    attack_speech,
    empirical_privacy,
    read_by_attacker,
    require_attackable,
)
from sordino.experiments.split_speech.gathering import Speech, gathered
from sordino.experiments.split_speech.judging import WordJudge
from sordino.experiments.split_speech.material import SpeechMaterial, exchange_speech, hear, longest_frames
from sordino.experiments.tasks.split_speech import SplitSpeechExperiment
from sordino.privacy import Ledger, Terms
from sordino.records import RunFolder
from sordino.seeds import Seeds
from sordino.split.fitting import FittedCorrector
from sordino.split.keeping import save_corrector
from sordino.split.readout import Labels, Readout
from sordino.split.speech_front import PublicFrames, SpeechFront
from sordino.split.transcripts import Transcripts

__all__ = ["PUBLIC", "run_split_speech"]

PUBLIC: Final = "public.safetensors"
"""File of a run's ``model/`` that says where frames lie."""

_FRAMES: Final = {
    False: "what was said: a moment of sound reaches into several frames, so that a figure for one frame is about its "
    "embedding and not about 20 ms of speech; see the figure for a recording",
    True: "what was said: attention has mixed all frames before they leave, so that each tells of the whole recording; see "
    "the figure for a recording",
}


def run_split_speech(
    options: SplitSpeechExperiment, path: Path, *, resume: bool = False, observer: Observer | None = None
) -> dict[str, Any]:
    """Sends each recording once, trains the methods, attacks what was sent, and writes the result.

    Args:
        options: the experiment.
        path: where the run folder is made.
        resume: go on in it: what was drawn is sent again as it was, and what was fetched is not asked for again.
        observer: is told the progress.

    Returns:
        What ``sordino run --json`` prints.

    Raises:
        ConfigError: ``path`` is taken, or holds no run to resume; no such model, server or recordings.
    """
    started = time.monotonic()
    observer = observer or Silent()
    if options.simulation.threads:
        torch.set_num_threads(options.simulation.threads)
    folder = RunFolder.claim(path, resume=resume)
    speech = gathered(options)
    for note in speech.notes:
        observer.note(note)
    model = options.model
    if options.telemetry == "debug":
        require_attackable(options.attacks, speech)
    front = SpeechFront.load(model.source, client_layers=model.client_layers, window_s=options.data.window_s)
    with serving_model(model.source, options.server, client_layers=model.client_layers) as served:
        require_returned(model, served.server.describe())
        folder.begin(config=to_toml(options))
        with Ledger(folder.ledger, terms=_terms(options, speech)) as ledger:
            result = _run(options, speech, front, served, ledger=ledger, folder=folder, observer=observer)
    result["seconds"] = round(time.monotonic() - started, 1)
    folder.write_json(folder.result, {**result, "versions": versions()})
    return result


def _terms(options: SplitSpeechExperiment, speech: Speech) -> Terms:
    about_frames = (_FRAMES[options.model.client_layers > 0],) if options.privacy.unit == "frame" else ()
    return terms_of(
        options, population=speech.num_private, of="recordings", size="how long each is", caveats=about_frames
    )


def _run(
    options: SplitSpeechExperiment,
    speech: Speech,
    front: SpeechFront,
    served: Served,
    *,
    ledger: Ledger,
    folder: RunFolder,
    observer: Observer,
) -> dict[str, Any]:
    seeds, kept, window_s = Seeds(options.seed), folder.path / "exchange", options.data.window_s
    heard = {name: hear(ones, speech, front=front, window_s=window_s) for name, ones in speech.sets.items()}
    public = PublicFrames.of(heard["public"].frames)
    sender = sender_of(options, space=public.space(longest_frames(window_s)), ledger=ledger, folder=kept)
    material = exchange_speech(heard, served, front=front, public=public, sender=sender, seeds=seeds, folder=kept)
    readout = _readout(options, speech)
    scene = staged(options, material, served, readout=readout, sender=sender, observer=observer)
    fitted = fit_in_turn(options.methods[: options.num_steps], scene, observer=observer)
    first = fitted[options.methods[0].name][0]
    if isinstance(first, FittedCorrector):
        longest = longest_frames(window_s)
        save_corrector(folder.model, first, labels=speech.labels, max_tokens=longest, units=speech.units)
        public.save(folder.model / PUBLIC)
    attacks, methods = {}, {}
    if options.telemetry == "debug":
        judge = _judge(speech, material, seeds=seeds)
        attacks = attack_speech(
            options.attacks, material, sender=sender, num_mels=front.num_mels, window_s=window_s, seeds=seeds
        )
        if options.attacks.own_head:
            attacks |= read_by_attacker(speech, material, readout=readout, judge=judge, model=served.local)
        methods = compared(
            options.methods,
            fitted,
            material.shown("test", options.methods),
            judge=judge,
            privacy=lambda method, _: empirical_privacy(attacks, sees=method.sees),
        )
    said = common_result(served, sender, material, place=options.server.place, layers=scene.layers, folder=folder)
    about = {"target": speech.target, "test": speech.test_is, "radius": sender.noise.radius_in(sender.space)}
    return {"task": options.task, "run": str(folder.path), **about, "methods": methods, "attacks": attacks, **said}


def _readout(options: SplitSpeechExperiment, speech: Speech) -> Readout:
    if speech.units is None:
        return Labels(len(speech.labels))
    return Transcripts(units=speech.units, seeds=Seeds(options.seed))


def _judge(speech: Speech, material: SpeechMaterial, *, seeds: Seeds) -> LabelJudge | WordJudge:
    test = material.recordings["test"]
    if speech.units is None:
        return LabelJudge(test.labels, seeds)
    return WordJudge(test.utterances, test.lengths.tolist(), speech.units, seeds)
