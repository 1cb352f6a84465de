"""Data sets of the Hugging Face hub by their id, or what ``save_to_disk`` left, or a folder of Parquet files.

Source: https://huggingface.co/docs/datasets. Its own decoding needs FFmpeg; here the encoded recordings are written to
files and read like any others.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import soundfile

from sordino.config import option
from sordino.data.cache import cache_root
from sordino.data.manifest import RESERVED_KEYS
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.tables import COLUMNS
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError, DataError

__all__ = ["HuggingFace"]

_SAVED: Final = ("dataset_dict.json", "state.json")


@SOURCES.register("huggingface")
@dataclass(frozen=True, slots=True)
class HuggingFace(Source):
    """A data set of the Hugging Face hub by its id, or a local copy of one; needs the extra sordino[hub].

    Recordings that lie inside its tables are written to files, which the manifest then refers to.
    """

    subset: str = option("Configuration of the data set, e.g. a language, where it has several.", "")
    split: str = option("Split to read; all of them without one.", "")
    audio: Path | None = option("Folder for recordings from inside the tables; sordino's cache without one.", None)
    language: str = option("Language code of recordings for which the data set gives none.", "")
    text_column: str = option("Column with the transcript.", "")
    speaker_column: str = option("Column with the speaker.", "")

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads split by split; ``split`` and the further texts and classes become attributes."""
        splits = self._splits(folder)
        columns = {name: self._columns(name, data) for name, data in splits.items()}
        for name, data in splits.items():
            yield from self._rows(name, data, columns[name])

    def _splits(self, folder: Path) -> Mapping[str, Any]:
        try:
            import datasets
        except ImportError:
            raise ConfigError("data sets of the hub need the extra hub: pip install 'sordino[hub]'") from None
        name = str(folder)
        local = folder.is_dir() and any(folder.iterdir())
        if not local and (folder.exists() or folder.is_absolute()):
            kind = "not there" if not folder.exists() else "empty" if folder.is_dir() else "a file"
            raise DataError(f"{folder} is {kind}; name a data set's id or the folder of a local copy.")
        if not sys.stderr.isatty():
            datasets.disable_progress_bars()
        saved = any((folder / file).is_file() for file in _SAVED)
        if saved and self.subset:
            raise ConfigError(f"subset = {self.subset!r}, but {folder} holds one data set; leave subset out.")
        try:
            loaded = datasets.load_from_disk(name) if saved else datasets.load_dataset(name, self.subset or None)
        except Exception as error:  # its loaders raise whatever their readers do
            raise DataError(_why(name, error)) from None
        splits: Mapping[str, Any] = loaded if isinstance(loaded, Mapping) else {str(loaded.split or ""): loaded}
        odd = next((split for split in splits if Path(split).name != split or split == ".."), None)
        if odd:
            raise DataError(f"data set {name!r} calls a split {odd!r}: expected a plain name; save it again under one.")
        if self.split and self.split not in splits:
            known = ", ".join(filter(None, splits))
            remedy = f"choose among {known}" if known else "it has none, so leave split out"
            raise ConfigError(f"split {self.split!r} is not in data set {name!r}; {remedy}.")
        return {self.split: splits[self.split]} if self.split else splits

    def _columns(self, split: str, data: Any) -> Mapping[str, str]:
        """Which column holds what."""
        import datasets

        place = f"split {split!r}" if split else "the data set"
        audio = [name for name, feature in data.features.items() if isinstance(feature, datasets.Audio)]
        if not audio:
            raise DataError(
                f"{place} has the columns {', '.join(data.column_names)}, none of which is audio; name another data set."
            )
        columns = {"audio": audio[0]}
        for role, wanted in (("text", self.text_column), ("speaker", self.speaker_column), ("language", "")):
            known = (wanted,) if wanted else COLUMNS[role]
            found = next(
                (column for name in known for column in data.column_names if column.lower() == name.lower()), None
            )
            if found:
                columns[role] = found
            elif role != "language":
                raise DataError(
                    f"{place} has the columns {', '.join(data.column_names)}, none of which is known to hold the "
                    f"{role} ({', '.join(known)}); name it with --set {role}_column=..."
                )
        return columns

    def _rows(self, split: str, data: Any, columns: Mapping[str, str]) -> Iterator[Utterance | LeftOut]:
        import datasets

        # A saved data set may call its fingerprint anything, a path too.
        name = hashlib.sha256(str(data._fingerprint).encode()).hexdigest()[:16]
        place = (self.audio or cache_root() / "huggingface" / name) / (split or "all")
        classes = {name: kind for name, kind in data.features.items() if isinstance(kind, datasets.ClassLabel)}
        for index, row in enumerate(data.cast_column(columns["audio"], datasets.Audio(decode=False))):
            texts = {name: _text(row[name], classes.get(name)) for name in row if name != columns["audio"]}
            audio = _file(row[columns["audio"]] or {}, place / f"{index:07d}")
            if isinstance(audio, LeftOut):
                yield audio
                continue
            named = {*columns.values(), *RESERVED_KEYS}
            kept = {name: text for name, text in texts.items() if text and name not in named}
            yield Utterance(
                audio=audio,
                text=texts[columns["text"]],
                speaker=texts[columns["speaker"]],
                language=texts.get(columns.get("language", ""), "") or self.language,
                duration_s=TO_END,
                attributes=kept | ({SPLIT: split} if split else {}),
            )


def _why(name: str, error: BaseException) -> str:
    """The first cause of a failed loading and what to do about it."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(
        error, ImportError
    ):  # it wants FFmpeg and more before it lists recordings that are files of their own
        place = name if Path(name).is_dir() else "DIR"
        fetch = (
            f"get them with: hf download {name} --repo-type dataset --local-dir DIR, then: " if place == "DIR" else ""
        )
        return (
            f"data set {name!r} holds its recordings as files of their own, which are read without it; {fetch}sordino data "
            f"prepare audiofolder {place} OUT"
        )
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return (
        f"data set {name!r} cannot be loaded ({first.strip().rstrip('.')}); check the id, the configuration (--set "
        "subset=...), and the connection or the local copy."
    )


def _text(value: Any, classes: Any) -> str:
    if classes is not None and isinstance(value, int):
        return str(classes.int2str(value)) if value >= 0 else ""
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _file(audio: Mapping[str, Any], place: Path) -> Path | LeftOut:
    """The recording's own file, or one that is written at ``place`` with what the table holds."""
    if audio.get("bytes") is None:
        path = audio.get("path")
        return Path(path) if path else LeftOut(place, "missing", "has neither a recording nor a path in the data set")
    content: bytes = audio["bytes"]
    try:
        with soundfile.SoundFile(io.BytesIO(content)) as sound:
            file = place.with_suffix(f".{sound.format.lower()}")
    except soundfile.LibsndfileError as error:
        return LeftOut(place, "unreadable", f"is not audio that can be read ({error.error_string})")
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".draft")
        draft.write_bytes(content)
        draft.replace(file)
    elif file.read_bytes() != content:
        raise DataError(f"{file} is another recording than the data set's; name another folder: --set audio=...")
    return file
