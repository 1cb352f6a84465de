"""The experiment once more, with each person in it by the toss of a coin, and an attack on the model that comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from sordino.data import Utterance
from sordino.errors import BudgetExhausted, ConfigError
from sordino.evaluation.attacks import likelihood_ratio, loss_drop
from sordino.experiments.assembly import Assembly
from sordino.federated import InProcess, ServerState, SpeechLearner, run_rounds
from sordino.privacy import Ledger, NoiseSource
from sordino.seeds import Seeds

__all__ = ["attack_membership"]

_BATCH: Final = 32
_ASKS: Final = "Did this person take part? Asked of everybody, after seeing the final model and their recordings."
_ASKS_SHADOWS: Final = (
    "Did this person take part? Asked of everybody, after seeing the final model, their recordings, and models that the "
    "attacker trained on them."
)
_CAVEAT: Final = "whose loss fell, which an audit measured on everybody, in or out; nothing of its model was kept"


def attack_membership(parts: Assembly, folder: Path, *, shadows: int = 0, seeds: Seeds) -> Mapping[str, dict[str, Any]]:
    """Runs all rounds with about half of the people and asks of each whether they took part.

    The plan is the experiment's own, its divisor included, so the model moves about half as far as with everybody. Shadow
    runs have coins, cohorts and noise of their own; the attacker is somebody who has everybody's recordings and can train.

    Args:
        parts: the experiment.
        folder: for the ledgers of these runs.
        shadows: runs that the attacker makes besides; without any, only the fall of the loss is looked at.
        seeds: of the coins.

    Returns:
        The attacks by name, as ``audit.json`` has them.

    Raises:
        ConfigError: fewer than two people.
        BudgetExhausted: the budget covers no round.
    """
    people = _people(parts)
    if len(people.names) < 2:
        raise ConfigError(
            f"--membership asks about {len(people.names)} people: expected at least 2; name a larger corpus."
        )
    included = _coins(seeds, people)
    before = people.losses(people.start)
    trained = _trained(parts, people, included, folder / "membership.jsonl", noise=parts.noise, seeds=parts.seeds)
    after = people.losses(trained)
    found = {"membership": {"asks": _ASKS, **loss_drop(before, after, included).to_json()}}
    if shadows:
        taken, falls = [], []
        for number in range(shadows):
            own = seeds.at("shadow", number)
            noise = NoiseSource(own.at("privacy") if parts.noise.seeded else None)
            taken.append(_coins(own, people))
            path = folder / f"shadow-{number}.jsonl"
            falls.append(before - people.losses(_trained(parts, people, taken[-1], path, noise=noise, seeds=own)))
        ratio = likelihood_ratio(np.stack(falls), np.stack(taken), before - after, included)
        found["membership, shadow runs"] = {"asks": _ASKS_SHADOWS, **ratio.to_json()}
    return found


def _coins(seeds: Seeds, people: _People) -> npt.NDArray[np.bool_]:
    return np.asarray(seeds.generator().random(len(people.names)) < 0.5)


def _trained(
    parts: Assembly, people: _People, included: npt.NDArray[np.bool_], path: Path, *, noise: NoiseSource, seeds: Seeds
) -> torch.Tensor:
    """The final model of a run with those whose coin says so, charged to a ledger of its own."""
    chosen = tuple(client for owned, taken in zip(people.clients, included, strict=True) if taken for client in owned)
    terms = replace(parts.terms, caveats=(*parts.terms.caveats, _CAVEAT))
    state = ServerState(0, people.start)
    with Ledger(path, terms=terms) as ledger:
        rounds = run_rounds(
            state,
            parts.plan,
            rounds=parts.options.federated.rounds,
            method=parts.options.federated.method,
            backend=replace(people.backend, ids=chosen),
            ledger=ledger,
            noise=noise,
            seeds=seeds.at("training"),
        )
        try:
            for result in rounds:
                state = result.state
        except BudgetExhausted:
            if state.round == 0:
                raise
    return state.values


@dataclass(frozen=True)
class _People:
    """Whoever the guarantee protects: speakers, or single clients.

    Attributes:
        backend: their clients.
        learner: has their recordings.
        start: the model before the first round.
        names: of each.
        clients: of each.
    """

    backend: InProcess
    learner: SpeechLearner
    start: torch.Tensor
    names: Sequence[str]
    clients: Sequence[Sequence[str]]

    def losses(self, values: torch.Tensor) -> npt.NDArray[np.float64]:
        """Mean loss a token of everybody's own recordings under an adapter.

        Shape:
            values: float32 [layout.size]
            result: float64 [people]
        """
        self.learner.model.flat.load(values)
        self.learner.model.eval()
        recordings = [[u for client in clients for u in self.learner.clients[client]] for clients in self.clients]
        return np.array([self._loss(utterances) for utterances in recordings])

    @torch.no_grad()
    def _loss(self, utterances: Sequence[Utterance]) -> float:
        model, total, tokens = self.learner.model, 0.0, 0
        for first in range(0, len(utterances), _BATCH):
            part = utterances[first : first + _BATCH]
            prepared = self.learner.features.features(part, encoder=model.frozen_encoder)
            losses, counts = model.token_losses(model.inputs(prepared), [u.text for u in part])
            total, tokens = total + float(losses.sum()), tokens + int(counts.sum())
        return total / tokens


def _people(parts: Assembly) -> _People:
    backend = parts.backend
    assert isinstance(backend, InProcess)  # noqa: S101 - `assemble` makes no other without a remote
    learner = backend.learners[0]
    assert isinstance(learner, SpeechLearner)  # noqa: S101 - likewise
    owned: dict[str, list[str]] = {}
    for client, utterances in learner.clients.items():
        owner = utterances[0].speaker if parts.terms.unit == "speaker" else client
        owned.setdefault(owner, []).append(client)
    return _People(backend, learner, parts.model.flat.snapshot(), list(owned), list(owned.values()))
