"""Speaker-independent folds: everybody is tested once, by a model that never heard them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sordino.data.holding_out import Division
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError

__all__ = ["speaker_folds"]


def speaker_folds(utterances: Sequence[Utterance], *, num: int = 0) -> tuple[Division, ...]:
    """Divides the speakers into folds of about equally many utterances; nothing is drawn, so it is always the same.

    The speakers are dealt one by one, those with the most utterances first, to the fold that has the fewest so far.

    Args:
        utterances: all of them.
        num: number of folds; 0 for one a speaker.

    Raises:
        ConfigError: more folds than speakers, or fewer than two.
    """
    counts = Counter(utterance.speaker for utterance in utterances)
    wanted = num or len(counts)
    if not 2 <= wanted <= len(counts):
        raise ConfigError(
            f"{wanted} folds of {len(counts)} speakers: expected from 2 to one a speaker; choose another."
        )
    sizes = [0] * wanted
    fold_of: dict[str, int] = {}
    for speaker, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        fold_of[speaker] = sizes.index(min(sizes))
        sizes[fold_of[speaker]] += count
    return tuple(
        Division(
            train=tuple(u for u in utterances if fold_of[u.speaker] != fold),
            test=tuple(u for u in utterances if fold_of[u.speaker] == fold),
            test_is="held-out speakers",
        )
        for fold in range(wanted)
    )
