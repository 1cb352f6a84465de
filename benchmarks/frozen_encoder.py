"""Local training with a frozen encoder: its output kept, against the encoder run in every step.

    python benchmarks/frozen_encoder.py [--json] [--real | --medium]

Prints ``cached_ratio`` (processor time with the kept output divided by that without, the first look at the clips not
counted), ``first_round_ratio`` (with it), and the largest difference of a client's mean loss. The clips are noise: what is
said in them changes no time. ``--real`` takes Whisper tiny.en and SmolLM2-135M from SORDINO_WEIGHTS, with two clients.
``--medium`` puts an encoder of Whisper medium's shape, with random weights, and its window of 30 s before the same decoder:
one client of one clip, and minutes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from interleaving import print_result, ratios, seconds
from transformers import WhisperConfig, WhisperModel

from sordino.data import FeatureStore, Utterance, write_audio
from sordino.federated import LocalOptions, SpeechLearner
from sordino.models import LoraOptions, ModelOptions, SpeechLLM, load_model
from sordino.models.connectors.linear import Linear
from sordino.seeds import Seeds


@dataclass(frozen=True)
class Case:
    """What is trained, and how much of it."""

    options: ModelOptions
    clients: int
    clips_each: int
    repeats: int


def case(which: str, folder: Path) -> Case:
    """A model whose encoder has no adapters: the pocket's, or a Whisper's before SmolLM2-135M."""
    if which == "pocket":
        return Case(ModelOptions(lora=LoraOptions(encoder_targets=())), clients=8, clips_each=6, repeats=15)
    weights = Path(os.environ["SORDINO_WEIGHTS"])
    encoder = weights / "whisper-tiny.en" if which == "real" else medium(folder)
    options = ModelOptions(
        encoder=str(encoder),
        decoder=str(weights / "smollm2-135m"),
        connector=Linear(stack=5),
        window_s=8.0 if which == "real" else 30.0,
        prompt="Transcribe: {audio}",
        train_encoder=False,
    )
    clients, clips_each, repeats = (2, 6, 3) if which == "real" else (1, 1, 2)
    return Case(options, clients=clients, clips_each=clips_each, repeats=repeats)


def medium(folder: Path) -> Path:
    """A Whisper with an encoder of the medium model's shape and hardly any decoder."""
    shape = WhisperConfig(d_model=1024, encoder_layers=24, encoder_attention_heads=16, encoder_ffn_dim=4096,
                          decoder_layers=1, decoder_attention_heads=16, decoder_ffn_dim=64)  # fmt: skip
    WhisperModel(shape).save_pretrained(folder / "medium")
    return folder / "medium"


def clips(folder: Path, *, window_s: float, count: int) -> list[Utterance]:
    """Noise of most of a window with a few words."""
    generator, made = np.random.default_rng(0), []
    for index in range(count):
        audio = 0.1 * generator.standard_normal(int(16_000 * window_s * 0.9)).astype(np.float32)
        path = folder / f"{index}.flac"
        length = write_audio(path, audio)
        made.append(Utterance(audio=path, text="two four seven", speaker="s", duration_s=length))
    return made


def learner(model: SpeechLLM, utterances: list[Utterance], *, clients: int) -> SpeechLearner:
    """A learner whose clips are dealt out evenly."""
    store = FeatureStore(model.num_mels, model.window_s)
    dealt = {str(index): utterances[index::clients] for index in range(clients)}
    return SpeechLearner(model, store, dealt, LocalOptions(epochs=2, batch_size=6, lr=1e-3))


def main() -> None:
    """Measures and prints."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        which = next((name for name in ("real", "medium") if f"--{name}" in sys.argv[1:]), "pocket")
        measured = case(which, Path(folder))
        model, plain = load_model(measured.options), load_model(measured.options)
        plain.frozen_encoder = None
        start, clients = model.flat.snapshot(), measured.clients
        utterances = clips(Path(folder), window_s=model.window_s, count=measured.clips_each * clients)
        cached, every = (learner(one, utterances, clients=clients) for one in (model, plain))

        def train(by: SpeechLearner) -> list[float]:
            return [by.fit(client, start, seeds=Seeds(0).at(client)).loss for client in by.clients]

        def train_anew() -> list[float]:
            return train(learner(model, utterances, clients=clients))

        losses = zip(train(cached), train(every), strict=True)
        taken = seconds(
            {"cached": lambda: train(cached), "first_round": train_anew, "every_step": lambda: train(every)},
            repeats=measured.repeats,
            warm_up=1 if which == "pocket" else 0,
        )
    found = ratios(taken, floor="every_step")
    print_result(
        {
            "cached_ratio": found["cached"],
            "speed_up": round(1 / found["cached"], 2),
            "first_round_ratio": found["first_round"],
            "largest_loss_difference": max(abs(one - other) for one, other in losses),
        }
    )


if __name__ == "__main__":
    main()
