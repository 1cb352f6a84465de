"""``sordino data prepare``: from what a source found to utterances that can be trained on; nothing is left out unsaid."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sordino.data.audio import ROUNDING_S
from sordino.data.listening import Heard, listen
from sordino.data.source import SPLIT, LeftOut
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Recordings that were looked at one by one.

    Attributes:
        utterances: the usable ones, with their real lengths.
        left_out: the others, and why.
        clipped: how many of ``utterances`` are overdriven.
    """

    utterances: tuple[Utterance, ...]
    left_out: tuple[LeftOut, ...]
    clipped: int

    @property
    def hours(self) -> float:
        """Length of all usable utterances."""
        return sum(utterance.duration_s for utterance in self.utterances) / 3600

    @property
    def speakers(self) -> Mapping[str, int]:
        """Usable utterances of each speaker."""
        return Counter(utterance.speaker for utterance in self.utterances)

    @property
    def kinds(self) -> Mapping[str, Sequence[LeftOut]]:
        """What was left out, by kind, the most frequent first."""
        kinds: dict[str, list[LeftOut]] = {}
        for item in self.left_out:
            kinds.setdefault(item.kind, []).append(item)
        return dict(sorted(kinds.items(), key=lambda pair: -len(pair[1])))


def prepare(
    found: Iterable[Utterance | LeftOut],
    *,
    longest_s: float | None = None,
    hear: Callable[[Utterance], Heard] = listen,
) -> Prepared:
    """Looks at every recording once and leaves out what cannot be used.

    | recording | outcome |
    |---|---|
    | no transcript, or an empty one | left out: ``transcript`` |
    | nobody is named as its speaker | left out: ``speaker`` |
    | a name that is not UTF-8, which no manifest can hold | left out: ``name`` |
    | a transcript, speaker or attribute with half a character, as JSON can escape | left out: ``characters`` |
    | not there | left out: ``missing`` |
    | empty, damaged, NaN or infinite samples | left out: ``unreadable`` |
    | longer than ``longest_s`` | left out: ``long`` |
    | peak under -80 dB | left out: ``silent`` |
    | the same samples as an earlier one, in whatever file | left out: ``duplicate`` |
    | overdriven | kept and counted |

    Args:
        found: what a source yields; taken one by one.
        longest_s: most seconds of an utterance.
        hear: `listen`, or `glance` for the headers alone; then damage behind them, silence and copies pass.

    Raises:
        DataError: nothing usable remains.
    """
    kept: list[Utterance] = []
    left_out: list[LeftOut] = []
    first: dict[bytes, Utterance] = {}
    clipped = 0
    for item in found:
        outcome = item if isinstance(item, LeftOut) else _examined(item, first, longest_s, hear)
        if isinstance(outcome, LeftOut):
            left_out.append(outcome)
        else:
            kept.append(outcome[0])
            clipped += outcome[1]
    prepared = Prepared(utterances=tuple(kept), left_out=tuple(left_out), clipped=clipped)
    if not kept:
        reasons = "; ".join(
            f"{len(items)} {kind} ({items[0].audio} {items[0].reason})" for kind, items in prepared.kinds.items()
        )
        raise DataError(f"no usable recording remains: {reasons or 'there was none'}; correct that and prepare again.")
    return prepared


def _examined(
    utterance: Utterance,
    first: dict[bytes, Utterance],
    longest_s: float | None,
    hear: Callable[[Utterance], Heard],
) -> tuple[Utterance, bool] | LeftOut:
    """The utterance with its real length and whether it is clipped; ``first`` remembers who had which samples."""
    speaker = unicodedata.normalize("NFC", utterance.speaker.strip())
    utterance = replace(utterance, speaker=speaker, text=utterance.text.strip())
    lacking = _lacking(utterance)
    if lacking is not None:
        return lacking
    try:
        heard = hear(utterance)
    except DataError as error:
        return LeftOut(utterance.audio, "unreadable", f"cannot be used: {error}")
    if longest_s is not None and heard.duration_s > longest_s + ROUNDING_S:
        return LeftOut(utterance.audio, "long", f"has {heard.duration_s:.2f} s, more than {longest_s:g} s")
    if heard.silent:
        return LeftOut(utterance.audio, "silent", "is silent")
    earlier = first.setdefault(heard.digest, utterance)
    if earlier is not utterance:
        same = "is listed twice" if earlier.audio == utterance.audio else f"has the same sound as {earlier.audio}"
        whose = "" if earlier.speaker == speaker else f", where the speaker is {earlier.speaker!r}, not {speaker!r}"
        return LeftOut(utterance.audio, "duplicate", f"{same}{whose}{_otherwise(earlier, utterance)}")
    return replace(utterance, duration_s=heard.duration_s), heard.clipped


def _otherwise(earlier: Utterance, utterance: Utterance) -> str:
    """What else is said of the same sound."""
    text = f", with another transcript, {earlier.text!r}" if earlier.text != utterance.text else ""
    splits = [str(item.attributes.get(SPLIT, "")) for item in (earlier, utterance)]
    return text + (f", in split {splits[0]!r} and again in {splits[1]!r}" if splits[0] != splits[1] else "")


def _lacking(utterance: Utterance) -> LeftOut | None:
    if not utterance.text:
        return LeftOut(utterance.audio, "transcript", "has an empty transcript")
    if not utterance.speaker:
        return LeftOut(utterance.audio, "speaker", "lies in no speaker's folder, and no table names its speaker")
    try:
        str(utterance.audio).encode()
    except UnicodeEncodeError:
        return LeftOut(utterance.audio, "name", "has a name that is not UTF-8; rename it")
    try:
        "".join((utterance.text, utterance.speaker, utterance.language, *utterance.attributes.values())).encode()
        "".join(utterance.attributes).encode()
    except UnicodeEncodeError:
        return LeftOut(utterance.audio, "characters", "is described in halves of characters, which are no text")
    if not utterance.audio.is_file():
        return LeftOut(utterance.audio, "missing", "does not exist, or is no file")
    return None
