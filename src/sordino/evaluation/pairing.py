"""Two systems on the same references, speaker by speaker: what every paired interval and test starts from."""

from __future__ import annotations

from collections.abc import Mapping

from sordino.errors import DataError
from sordino.evaluation.wer import Errors

__all__ = ["paired_differences"]


def paired_differences(first: Mapping[str, Errors], second: Mapping[str, Errors]) -> Mapping[str, int]:
    """How many errors more ``first`` made on each speaker, the speakers sorted by name.

    Raises:
        DataError: the two differ in speakers or in a speaker's words.
    """
    if first.keys() != second.keys():
        odd = sorted(first.keys() ^ second.keys())[0]
        raise DataError(
            f"speaker {odd!r} is in one of the two results only: a paired comparison needs the same speakers; score "
            "both systems on the same utterances."
        )
    for speaker in sorted(first):
        if first[speaker].words != second[speaker].words:
            raise DataError(
                f"speaker {speaker!r} has {first[speaker].words} reference words in one result and "
                f"{second[speaker].words} in the other: expected equal; score both systems on the same utterances."
            )
    return {speaker: first[speaker].total - second[speaker].total for speaker in sorted(first)}
