"""New recordings through a finished split run: noised and paid for, sent once, and told by the client's network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from sordino.data import TO_END, Utterance
from sordino.errors import ConfigError
from sordino.evaluation.ctc import Decoder, DecodingOptions
from sordino.experiments.loading import load_experiment
from sordino.experiments.split.finishing import guarantees
from sordino.experiments.split.paying import sender_of
from sordino.experiments.split.serving import serving_model
from sordino.experiments.split_speech.material import frames_of
from sordino.experiments.split_speech.running import PUBLIC
from sordino.experiments.tasks.divided import SplitServer
from sordino.experiments.tasks.split_speech import SplitSpeechExperiment
from sordino.privacy import Ledger, make_statement
from sordino.privacy.ledger import read_ledger
from sordino.records import RunFolder
from sordino.split.exchange import Exchange
from sordino.split.keeping import Kept, load_corrector
from sordino.split.sequences import Lengths
from sordino.split.speech_front import PublicFrames, SpeechFront

__all__ = ["predict_split_speech"]


def predict_split_speech(run: Path, recordings: Sequence[Path], *, server: SplitServer | None = None) -> dict[str, Any]:
    """Labels or words of new recordings. Every call draws noise anew, and charges it to the run's ledger.

    Args:
        run: folder of a finished run whose first method sees hidden states.
        recordings: what to hear, none longer than the run's window.
        server: where the model is now; None for where the run had it.

    Returns:
        ``predictions`` (text is the recording's name; label, the words or the likeliest label; scores by label, empty where
        words are written), ``guarantees``, ``draws`` in the ledger, ``wire``.

    Raises:
        ConfigError: no such run, or another model is served than the run's.
        DataError: a recording that cannot be read, or is too long.
        PrivacyError: the ledger is in use or damaged.
    """
    folder = RunFolder.open(run)
    options = load_experiment(folder.config)
    if not isinstance(options, SplitSpeechExperiment):
        raise ConfigError(f'{run} is a run of task = "{options.name}"; name the folder of a split-speech run.')
    model, window_s = options.model, options.data.window_s
    front = SpeechFront.load(model.source, client_layers=model.client_layers, window_s=window_s)
    heard = [Utterance(audio=path, text="", speaker="", duration_s=TO_END) for path in recordings]
    clips = frames_of(heard, front=front, window_s=window_s)
    lengths = Lengths(
        lengths=torch.tensor([len(clip) for clip in clips]), labels=torch.zeros(len(clips), dtype=torch.int64)
    )
    terms, _ = read_ledger(folder.ledger)
    place = server or options.server
    with (
        serving_model(model.source, place, client_layers=model.client_layers) as served,
        Ledger(folder.ledger, terms=terms) as ledger,
    ):
        kept = load_corrector(folder.model, server=served.server)
        public = PublicFrames.load(folder.model / PUBLIC)
        sender = sender_of(options, space=public.space(kept.max_tokens), ledger=ledger)
        rows = torch.cat(clips) - public.centre
        known = front.places(lengths.lengths.tolist()) + public.centre
        noised = sender.again({"new": rows}, draw=len(ledger.charges) + 1)["new"]
        folder.write_json(folder.privacy, make_statement(ledger.terms, ledger.events).to_json())
        exchange = Exchange(lengths, clean=rows + known, noised=noised + known, server=served.server)
        scores = kept.fitted.scores(exchange)
        return {
            "predictions": list(_predictions(recordings, scores, lengths.lengths.tolist(), kept)),
            "guarantees": guarantees(sender),
            "draws": len(ledger.charges),
            "wire": served.traffic,
        }


def _predictions(
    recordings: Sequence[Path], scores: torch.Tensor, lengths: Sequence[int], kept: Kept
) -> Iterator[dict[str, Any]]:
    decoder = None if kept.units is None else Decoder(kept.units, DecodingOptions())
    for path, row, length in zip(recordings, scores, lengths, strict=True):
        if decoder is not None:
            yield {"text": path.name, "label": decoder(row[:length]), "scores": {}}
        else:
            by_label = dict(zip(kept.labels, row.tolist(), strict=True))
            yield {"text": path.name, "label": max(by_label, key=lambda label: by_label[label]), "scores": by_label}
