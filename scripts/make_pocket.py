"""Makes the pocket speech-LLM that ships with the package, from nothing but synthetic voices.

    python scripts/make_pocket.py                     renders, pretrains and writes src/sordino/models/pocket

Every parameter is trained, on digit strings spoken by the clean pretraining voices alone: no noise and none of the
federated timbres, since closing that gap is what the federated runs are for. Needs the extra ``synthetic`` and takes
about ten minutes on a free core. The shipped weights are those of the default arguments; their WER was

     1.0 %  unseen clean voices of the pretraining timbres
    40.0 %  federated timbres without noise
    70.4 %  federated timbres with noise
    69.9 %  held-out timbres with noise
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from sordino.data import digits, features, synthetic
from sordino.models import ModelOptions, SpeechLLM, load_model, pocket, save_base
from sordino.seeds import Seeds

NUM_MELS = 80
CLIP_NORM = 1.0
WEIGHT_DECAY = 0.01


@dataclass(frozen=True)
class Clips:
    """Log-mels, float16 [clips, mels, frames], and what is said in them."""

    features: torch.Tensor
    texts: list[str]

    def batch(self, indices: Sequence[int]) -> tuple[torch.Tensor, list[str]]:
        return self.features[list(indices)].float(), [self.texts[i] for i in indices]


def say(job: tuple[synthetic.Voice, Seeds]) -> tuple[np.ndarray[Any, Any], str]:
    """One voice says one digit string."""
    voice, seeds = job
    text = digits.digit_string(voice.language, seeds.at("text").generator())
    audio = synthetic.synthesise(voice, text, seeds=seeds, window_s=pocket.WINDOW_S)
    return features.LogMel(NUM_MELS, pocket.WINDOW_S)(audio).astype(np.float16), text


def render(voices: Sequence[synthetic.Voice], seeds: Seeds, *, workers: int) -> Clips:
    """Each voice says one digit string."""
    jobs = [(voice, seeds.at("clip", index)) for index, voice in enumerate(voices)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        spoken = list(pool.map(say, jobs, chunksize=64))
    return Clips(torch.from_numpy(np.stack([mel for mel, _ in spoken])), [text for _, text in spoken])


def learning_rate(step: int, *, steps: int, peak: float) -> float:
    """Linear warm-up over the first 5 %, then half a cosine to zero."""
    warmup = max(1, steps // 20)
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup)))


def vary(mels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The same clips as other vocal tracts, microphones and rooms might have given them.

    Each clip's mel axis is stretched by up to 12 % (vocal tract length perturbation, Jaitly and Hinton 2013) and tilted
    by up to 10 dB, and one band of up to 10 mels and one stretch of up to 0.12 s are blanked (SpecAugment, Park et al.
    2019).

    Shape:
        mels: float32 [batch, mels, frames], in units of 40 dB; so is the result
    """
    batch, bands, frames = mels.shape

    def uniform(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(batch, 1, generator=generator)

    places = (torch.arange(bands) * uniform(0.88, 1.12)).clamp(max=bands - 1)  # [batch, bands]
    below = places.floor().long().clamp(max=bands - 2)
    weight = (places - below).unsqueeze(-1)
    index = below.unsqueeze(-1).expand(-1, -1, frames)
    warped = mels.gather(1, index) * (1 - weight) + mels.gather(1, index + 1) * weight
    tilted = warped + (uniform(-0.25, 0.25) * torch.linspace(-1, 1, bands)).unsqueeze(-1)
    for axis, size, widest in ((1, bands, 10), (2, frames, 12)):
        first, width = uniform(0, size), uniform(0, widest)
        blank = (torch.arange(size) >= first) & (torch.arange(size) < first + width)  # [batch, size]
        tilted = tilted.masked_fill(blank.unsqueeze(3 - axis), -1.0)
    return tilted


class Alignment(nn.Module):
    """An auxiliary CTC head on the encoder's frames, thrown away afterwards.

    A decoder takes long to find out where in the audio a character is said; CTC (Graves et al. 2006) tells the encoder
    so from the start, which halves the training.
    """

    def __init__(self, model: SpeechLLM) -> None:
        super().__init__()
        self.tokens = model.tokens
        self.scores = nn.Linear(model.encoder.config.d_model, len(model.tokens.tokenizer))
        self.frames = torch.empty(0)
        model.encoder.register_forward_hook(self._keep)

    def _keep(self, _module: nn.Module, _inputs: Any, output: Any) -> None:
        self.frames = output.last_hidden_state

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """CTC loss of the frames last encoded; the unknown token, id 0, is the blank."""
        log_probs = self.scores(self.frames).log_softmax(dim=-1).transpose(0, 1)  # [positions, batch, vocabulary]
        encoded = [self.tokens.encode(text) for text in texts]
        targets = torch.tensor([token for ids in encoded for token in ids])
        positions = torch.full((len(texts),), len(log_probs))
        lengths = torch.tensor([len(ids) for ids in encoded])
        return F.ctc_loss(log_probs, targets, positions, lengths, zero_infinity=True)


def train(model: SpeechLLM, clips: Clips, *, steps: int, batch_size: int, peak: float, seeds: Seeds) -> None:
    """AdamW over random batches, each epoch of every clip once; the auxiliary loss fades out linearly."""
    alignment = Alignment(model)
    optimiser = torch.optim.AdamW(
        [*model.flat.parameters(), *alignment.parameters()], betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY
    )
    rng, order, started = seeds.at("order").generator(), np.empty(0, np.int64), time.monotonic()
    generator = torch.Generator().manual_seed(seeds.at("variation").integer())
    model.train()
    for step in range(steps):
        if len(order) < batch_size:
            order = rng.permutation(len(clips.texts))
        indices, order = order[:batch_size], order[batch_size:]
        optimiser.param_groups[0]["lr"] = learning_rate(step, steps=steps, peak=peak)
        model.flat.zero_gradient()
        alignment.zero_grad()
        mels, texts = clips.batch(indices.tolist())
        loss = model.loss(vary(mels, generator), texts)
        (loss + (1 - step / steps) * alignment(texts)).backward()
        model.flat.gradient.mul_((CLIP_NORM / (model.flat.gradient.norm() + 1e-6)).clamp(max=1.0))
        optimiser.step()
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step:5d}  loss {loss.item():.4f}  {time.monotonic() - started:5.0f} s", flush=True)


def word_error_rate(model: SpeechLLM, clips: Clips, *, batch_size: int = 100) -> float:
    written: list[str] = []
    for start in range(0, len(clips.texts), batch_size):
        mels, _ = clips.batch(range(start, min(start + batch_size, len(clips.texts))))
        written += [result.text for result in model.transcribe(mels)]
    return float(jiwer.wer(clips.texts, written))


def report(model: SpeechLLM, *, clips: int, seeds: Seeds, workers: int) -> None:
    """WER on voices that pretraining did not hear: of its own kind, and of the kinds that federated runs adapt to."""
    kinds: dict[str, tuple[Callable[..., list[synthetic.Voice]], bool]] = {
        "unseen clean voices of the pretraining timbres": (synthetic.pretraining_voices, False),
        "federated timbres without noise": (synthetic.federated_voices, True),
        "federated timbres with noise": (synthetic.federated_voices, False),
        "held-out timbres with noise": (synthetic.held_out_voices, False),
    }
    for name, (draw, silence_noise) in kinds.items():
        voices = draw(clips, seeds)
        if silence_noise:
            voices = [synthetic.Voice(v.language, v.timbre, v.pitch, v.rate) for v in voices]
        print(f"WER {word_error_rate(model, render(voices, seeds, workers=workers)):6.1%}  {name}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the pocket speech-LLM.")
    parser.add_argument("--out", type=Path, default=pocket.FOLDER)
    parser.add_argument("--clips", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=2_400)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="threads, and processes that render")
    parser.add_argument("--test-clips", type=int, default=400)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    seeds = Seeds(args.seed).at("pocket")

    started = time.monotonic()
    heard = seeds.at("train")
    clips = render(synthetic.pretraining_voices(args.clips, heard), heard, workers=args.threads)
    print(f"{args.clips} clips rendered in {time.monotonic() - started:.0f} s", flush=True)
    model = pocket.untrained(seed=seeds.integer())
    train(model, clips, steps=args.steps, batch_size=args.batch_size, peak=args.lr, seeds=seeds)
    save_base(model, args.out, connector=pocket.CONNECTOR)

    shipped = load_model(ModelOptions(base=str(args.out)))
    report(shipped, clips=args.test_clips, seeds=seeds.at("test"), workers=args.threads)
    size = sum(file.stat().st_size for file in args.out.rglob("*") if file.is_file())
    parameters = sum(p.numel() for p in pocket.untrained(seed=0).parameters())
    print(f"{parameters:,} parameters, {size / 1e6:.2f} MB in {args.out}")


if __name__ == "__main__":
    main()
