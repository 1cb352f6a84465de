"""Does matching gradients give log-mels back? On the pocket model, a clip and a plain gradient a victim, the words known.

    python scripts/match_gradients.py            some minutes of one core

Prints, for each victim, the cosine that was reached and the error of the log-mel over the clip, by that of the public mean.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from sordino.data import Utterance
from sordino.evaluation.attacks.gradient_matching import FeaturePrior, match_gradient
from sordino.experiments import load_federated
from sordino.experiments.assembly import Assembly, assemble

EXAMPLE = Path(__file__).parents[1] / "examples" / "pocket-audit.toml"
VICTIMS, DIRECTIONS, STEPS = 6, 60, 100


def gradient(parts: Assembly, features: torch.Tensor, text: str) -> torch.Tensor:
    """Of everything that is trained, differentiable by the features."""
    tensors = [tensor for tensor in parts.model.parameters() if tensor.requires_grad]
    with sdpa_kernel(SDPBackend.MATH):  # the quicker kernels have no second derivative
        loss = parts.model.loss(features[None], [text])
        return torch.cat([part.flatten() for part in torch.autograd.grad(loss, tensors, create_graph=True)])


def attacked(parts: Assembly, victim: Utterance, prior: FeaturePrior) -> tuple[float, float]:
    """Cosine, and error by that of the public mean."""
    secret = parts.features.features([victim])[0]
    observed = gradient(parts, secret, victim.text).detach()
    found, cosine = match_gradient(
        lambda features: gradient(parts, features, victim.text), observed, prior=prior, steps=STEPS
    )
    spoken = slice(0, round(victim.duration_s * 100))
    error, blind = (float((guess - secret)[:, spoken].norm()) for guess in (found, prior.mean))
    return cosine, error / blind


def main() -> None:
    parts = assemble(load_federated(EXAMPLE, []))
    by_speaker = {clip.speaker: clip for clip in parts.splits.train}
    victims = [by_speaker[name] for name in sorted(by_speaker)[:VICTIMS]]
    names = {victim.speaker for victim in victims}
    public = parts.features.features([clip for clip in parts.splits.train if clip.speaker not in names])
    prior = FeaturePrior.of(public, directions=DIRECTIONS)
    for victim in victims:
        cosine, ratio = attacked(parts, victim, prior)
        print(f"{victim.speaker}: cosine {cosine:.3f}, error {ratio:.2f} of the public mean's", flush=True)


if __name__ == "__main__":
    main()
