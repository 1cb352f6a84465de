"""What single updates of an experiment's clients give away: the words and the voice, bare and as the plan lets them out.

Speakers of the training data are dealt to the attacker, as somebody whose recordings are public, and to the victims.
Everybody's update on one utterance, or on a few, is made by the experiment's own local training. As it is let out means:
clipped, with all the noise of the round's sum on it, and everybody else's part subtracted, which is the attacker that
differential privacy is proven against.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch

from sordino.data import Utterance
from sordino.errors import ConfigError
from sordino.evaluation.attacks import Transcripts, identify, learn_inverse, learn_voices, score_recovery
from sordino.experiments.assembly import Assembly
from sordino.federated import InProcess, SpeechLearner
from sordino.layout import ParameterLayout
from sordino.privacy import Plan
from sordino.seeds import Seeds

__all__ = ["EVERYTHING", "Gathered", "attack_updates", "gather_updates"]

_SPEAKERS: Final = 120
_UTTERANCES: Final = 8
_FEWEST_SPEAKERS: Final = 6
_MEL_GRID: Final = (20, 20)

EVERYTHING: Final = "everything"

_RELEASES: Final[Mapping[str, str]] = {
    "bare": "a client's update on one utterance, as it is before anything protects it",
    "released": "such an update, clipped, under the noise of a round, everybody else's part being known",
}
_PARTS: Final[Mapping[str, str]] = {
    EVERYTHING: "all of",
    "encoder": "the encoder's part of",
    "rest": "all but the encoder's part of",
}

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Gathered:
    """Updates on one utterance each, or on a few of one speaker's, all from the experiment's first model.

    Attributes:
        updates: float32 [updates, size], bare.
        texts: what was said in each.
        speakers: by whom.
        mels: log-mels on a coarse grid of bands and times, the mean of an update's, float64 [updates, cells].
        victims: whether the speaker is a victim, bool [updates]; the others' recordings are public.
        each: updates of every speaker, which stand one after another.
        layout: of the updates.
    """

    updates: Matrix
    texts: Sequence[str]
    speakers: Sequence[str]
    mels: npt.NDArray[np.float64]
    victims: npt.NDArray[np.bool_]
    each: int
    layout: ParameterLayout


def gather_updates(
    parts: Assembly, *, seeds: Seeds, speakers: int = _SPEAKERS, utterances: int = _UTTERANCES, together: int = 1
) -> Gathered:
    """Trains on single utterances, or on a few together, as a client would that had no other.

    Args:
        parts: the experiment.
        seeds: of who is a victim, and of local training.
        speakers: at most so many; a third are victims.
        utterances: of each; whoever has fewer is left out.
        together: utterances behind one update.

    Raises:
        ConfigError: fewer than six speakers have enough utterances for two updates.
    """
    learner = _learner(parts)
    owned: dict[str, list[Utterance]] = {}
    for utterance in parts.splits.train:
        owned.setdefault(utterance.speaker, []).append(utterance)
    each = min(utterances, max(map(len, owned.values()))) // together
    enough = sorted(name for name, clips in owned.items() if len(clips) // together >= each > 1)
    if len(enough) < _FEWEST_SPEAKERS:
        fewest = max(each, 2) * together
        raise ConfigError(
            f"--updates needs {_FEWEST_SPEAKERS} speakers with {fewest} utterances: the training data has "
            f"{len(enough)}; name a larger corpus."
        )
    order = seeds.at("victims").generator().permutation(len(enough))[:speakers]
    chosen = [enough[index] for index in order]
    groups = [tuple(owned[name][at * together : (at + 1) * together]) for name in chosen for at in range(each)]
    alone = replace(learner, clients={str(index): clips for index, clips in enumerate(groups)})
    start = parts.model.flat.snapshot()
    updates = np.empty((len(groups), parts.model.layout.size), np.float32)
    for index in range(len(groups)):
        updates[index] = alone.fit(str(index), start, seeds=seeds.at("training", index)).update.values.numpy()
    parts.model.flat.load(start)
    return Gathered(
        updates=updates,
        texts=[" ".join(clip.text for clip in clips) for clips in groups],
        speakers=[clips[0].speaker for clips in groups],
        mels=np.stack([np.mean([_coarse(parts, clip) for clip in clips], axis=0) for clips in groups]),
        victims=np.repeat(np.arange(len(chosen)) < max(2, len(chosen) // 3), each),
        each=each,
        layout=parts.model.layout,
    )


def attack_updates(gathered: Gathered, plan: Plan | None = None, *, seeds: Seeds) -> Mapping[str, dict[str, Any]]:
    """Learns from the attacker's updates, and asks about the victims' what was said and who it was.

    Args:
        gathered: everybody's updates.
        plan: how they are clipped and noised; without one they are attacked bare.
        seeds: of the noise, which here protects nobody, and of the intervals.

    Returns:
        The attacks by name, e.g. ``"words, bare, encoder"``, as ``audit.json`` has them.
    """
    clean, stds = gathered.updates, np.zeros(gathered.layout.size, np.float32)
    if plan is not None:
        clean, stds = _bounded(gathered.updates, plan), _stds(plan)
    noise = seeds.at("noise").generator().standard_normal((int(gathered.victims.sum()), len(stds)), np.float32)
    release = "bare" if plan is None else "released"
    whole = _View(gathered, clean, clean[gathered.victims] + noise * stds, stds, release, EVERYTHING)
    most = gathered.each - gathered.each // 2
    found: dict[str, dict[str, Any]] = {}
    for view in whole.parts():
        words, voice = view.title("words"), view.title("voice")
        found[words] = view.words(seeds.at(words))
        found[voice] = view.voice(seeds.at(voice), rounds=1)
        found[f"{voice}, {most} rounds"] = view.voice(seeds.at(voice), rounds=most)
    return found


@dataclass(frozen=True)
class _View:
    """What an attacker sees of all updates, or of one part of them.

    Attributes:
        gathered: the updates as they were made.
        clean: all of them as they are bounded, float32 [utterances, size of the part].
        seen: the victims' as they are let out, float32 [victims' utterances, size of the part].
        stds: of the noise on them, float32 [size of the part].
        release: key of `_RELEASES`.
        part: key of `_PARTS`.
    """

    gathered: Gathered
    clean: Matrix
    seen: Matrix
    stds: Matrix
    release: str
    part: str

    def parts(self) -> Iterator[_View]:
        """Everything; and, where there are several components, the encoder's part and what is not the encoder's."""
        yield self
        layout = self.gathered.layout
        encoder = np.zeros(layout.size, bool)
        for slot in layout.slots:
            encoder[slot.start : slot.stop] = slot.component == "encoder"
        if encoder.any() and not encoder.all():
            for part, columns in (("encoder", encoder), ("rest", ~encoder)):
                matrices = (self.clean[:, columns], self.seen[:, columns], self.stds[columns])
                yield _View(self.gathered, *matrices, self.release, part)

    def title(self, attack: str) -> str:
        """The attack's name in results."""
        return ", ".join([attack, self.release, *([] if self.part == EVERYTHING else [self.part])])

    def words(self, seeds: Seeds) -> dict[str, Any]:
        """What was said, and how loud each band was when."""
        known, victims = ~self.gathered.victims, self.gathered.victims
        public, said = _chosen(self.gathered.texts, known), _chosen(self.gathered.texts, victims)
        transcripts = Transcripts(public)
        targets = np.hstack([transcripts.targets(public), self.gathered.mels[known]])
        told = learn_inverse(self.clean[known], targets, noise_stds=self.stds)(self.seen)
        cells = self.gathered.mels.shape[1]
        recovery = score_recovery(
            transcripts, told[:, :-cells], said=said, speakers=_chosen(self.gathered.speakers, victims), public=public,
            seeds=seeds,
        )  # fmt: skip
        heard, blind = self.gathered.mels[victims], self.gathered.mels[known].mean(axis=0)
        error = float(np.sqrt(((told[:, -cells:] - heard) ** 2).mean() / ((blind - heard) ** 2).mean()))
        return {"asks": self._asks("Which words were said?"), **recovery.to_json(), "mel_error": error}

    def voice(self, seeds: Seeds, *, rounds: int) -> dict[str, Any]:
        """Whose it is; an attacker who sees several rounds takes the mean."""
        known, victims, each = ~self.gathered.victims, self.gathered.victims, self.gathered.each
        names = np.unique(_chosen(self.gathered.speakers, known), return_inverse=True)[1]
        space = learn_voices(self.clean[known], names, noise_stds=self.stds / np.float32(rounds**0.5), seeds=seeds)
        enrolled = self.clean[victims].reshape(-1, each, len(self.stds))[:, : each // 2].mean(axis=1)
        seen = self.seen.reshape(-1, each, len(self.stds))[:, each // 2 :][:, :rounds].mean(axis=1)
        question = f"Whose is it, of {len(seen)} people with public recordings, after {rounds} round(s)?"
        return {"asks": self._asks(question), **identify(space, enrolled=enrolled, seen=seen).to_json()}

    def _asks(self, question: str) -> str:
        return f"{question} Asked of {_PARTS[self.part]} {_RELEASES[self.release]}."


def _bounded(updates: Matrix, plan: Plan) -> Matrix:
    return np.stack([plan.clipper.clip(torch.from_numpy(update)).values.numpy() for update in updates])


def _stds(plan: Plan) -> Matrix:
    """Standard deviation of a round's noise on each coordinate of the sum."""
    stds = np.zeros(plan.layout.size, np.float32)
    for block, std in zip(plan.clipper.bounds.blocks, plan.noise_stds, strict=True):
        for start, stop in block.slices:
            stds[start:stop] = std
    return stds


def _chosen(items: Sequence[str], mask: npt.NDArray[np.bool_]) -> list[str]:
    return [item for item, taken in zip(items, mask, strict=True) if taken]


def _learner(parts: Assembly) -> SpeechLearner:
    assert isinstance(parts.backend, InProcess)  # noqa: S101 - `assemble` makes no other without a remote
    learner = parts.backend.learners[0]
    assert isinstance(learner, SpeechLearner)  # noqa: S101 - likewise
    return learner


def _coarse(parts: Assembly, clip: Utterance) -> npt.NDArray[np.float64]:
    """The clip's log-mel, averaged over a grid of bands and times."""
    mel = parts.features.features([clip])[0].numpy()
    bands = np.array_split(mel, _MEL_GRID[0])
    return np.array([[cell.mean() for cell in np.array_split(band, _MEL_GRID[1], axis=1)] for band in bands]).ravel()
