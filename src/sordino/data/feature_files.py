"""Features that others computed, by segment: CMU's ``.csd`` and ``.h5``, numpy's ``.npz``, and pickles if asked for.

| file | what is in it |
|---|---|
| ``.csd``, ``.h5`` | ``NAME/data/SEGMENT/features`` [frames, width], as CMU writes, or ``SEGMENT`` itself |
| ``.npz`` | an array [frames, width] for each segment |
| ``.pkl`` | ``{split: {"id": [...], MODALITY: [segments, frames, width], "regression_labels": [segments]}}`` |

A pickle can run any program when it is opened, so it is read only where ``unpickle`` says that its origin is trusted.
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sordino.data.utterance import Utterance
from sordino.errors import ConfigError, DataError

__all__ = ["SEGMENT", "FeatureFile", "read_features", "read_pickled"]

SEGMENT: Final = "segment"
"""Attribute that names an utterance's segment in feature files."""

Frames = npt.NDArray[np.float32]

_IDS: Final = "id"
_LABELS: Final = ("regression_labels", "labels")


class FeatureFile:
    """The frames of one modality from a file, for `sordino.data.modalities.ModalityFeatures`.

    Frames that are not finite, as CMU's acoustic features have, become 0.

    Args:
        frames: by segment, as `read_features` gives them.

    Raises:
        DataError: no segment, or segments of different widths.
    """

    def __init__(self, frames: Mapping[str, Frames]) -> None:
        widths = {array.shape[1] if array.ndim == 2 else -1 for array in frames.values()}
        if len(widths) != 1 or -1 in widths:
            raise DataError(
                f"a feature file has segments of {len(widths)} widths ({', '.join(map(str, sorted(widths)))}): expected "
                "[frames, width] with one width for all; export it anew."
            )
        self.width = widths.pop()
        self._frames = frames

    def __call__(self, utterance: Utterance) -> Frames | None:
        """The frames of the utterance's `SEGMENT`, or None where the file lacks it or has no frame of it."""
        found = self._frames.get(utterance.attributes.get(SEGMENT, ""))
        if found is None or not len(found):
            return None
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)


def read_features(path: Path) -> Mapping[str, Frames]:
    """Frames by segment of a ``.csd``, ``.h5``, ``.hdf5`` or ``.npz`` file.

    Shape:
        result: float32 [frames, width] each

    Raises:
        DataError: unreadable, another kind of file, or a pickle, which `read_pickled` reads.
        ConfigError: HDF5 without the extra that reads it.
    """
    readers = {".npz": _npz, ".csd": _hdf5, ".h5": _hdf5, ".hdf5": _hdf5}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        refused = path.suffix.lower() in (".pkl", ".pickle", ".npy")
        why = "a pickle can run any program when it is opened; convert it to .npz where it was made" if refused else (
            "expected .csd, .h5 or .npz; convert it"
        )  # fmt: skip
        raise DataError(f"{path} is not read: {why}.")
    if not path.is_file():
        raise DataError(f"{path} does not exist or is no file; correct the path.")
    found = dict(reader(path))
    if not found:
        raise DataError(
            f"{path} holds no features: expected an array [frames, width] for each segment; export it anew."
        )
    return found


def _npz(path: Path) -> Iterator[tuple[str, Frames]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                yield name, np.asarray(archive[name], np.float32)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} cannot be read ({error}); save plain arrays with numpy.savez, without objects."
        ) from None


def _hdf5(path: Path) -> Iterator[tuple[str, Frames]]:
    try:
        import h5py
    except ImportError:
        raise ConfigError(f"{path} is an HDF5 file; to read it: pip install 'sordino[sentiment]'") from None
    try:
        with h5py.File(path, "r") as file:
            roots = [file[name]["data"] for name in file if isinstance(file[name], h5py.Group) and "data" in file[name]]
            for segment, content in (roots[0] if roots else file).items():
                frames = content.get("features") if isinstance(content, h5py.Group) else content
                if isinstance(frames, h5py.Dataset):
                    yield segment, np.asarray(frames[()], np.float32)
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path} cannot be read as HDF5 ({error}); copy it again.") from None


def read_pickled(
    path: Path, *, unpickle: bool = False
) -> tuple[Mapping[str, Mapping[str, Frames]], Mapping[str, tuple[str, float]]]:
    """Frames by modality and segment, and split and label by segment, of a pickle as published for CMU-MOSI and MOSEI.

    Args:
        path: ``aligned_50.pkl`` and its like.
        unpickle: that the file's origin is trusted; opening it can run any program.

    Raises:
        ConfigError: ``unpickle`` is not set.
        DataError: unreadable, or laid out otherwise.
    """
    if not unpickle:
        raise ConfigError(
            f"{path} is a pickle, which can run any program when it is opened: expected .csd, .h5 or .npz; if you trust its "
            "origin, set data.corpus.unpickle = true."
        )
    try:
        with path.open("rb") as file:
            content: Any = pickle.load(file)  # noqa: S301 - only when the user vouches for it
        return _modalities(content)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); correct the path.") from None
    except Exception as error:  # whatever a pickle's own code raises
        raise DataError(
            f"{path} is not laid out as {{split: {{'id', modality, 'regression_labels'}}}} ({error!r}); export it as .npz."
        ) from None


def _modalities(
    content: Mapping[str, Mapping[str, Any]],
) -> tuple[Mapping[str, Mapping[str, Frames]], Mapping[str, tuple[str, float]]]:
    frames: dict[str, dict[str, Frames]] = {}
    labels: dict[str, tuple[str, float]] = {}
    for split, parts in content.items():
        names = ["_".join(map(str, np.ravel(name))) for name in parts[_IDS]]  # some have start and end beside the video
        targets = next(np.asarray(parts[key], np.float64).reshape(len(names)) for key in _LABELS if key in parts)
        labels |= {name: (split, float(value)) for name, value in zip(names, targets, strict=True)}
        for key, arrays in parts.items():
            shape = np.shape(arrays)
            if len(shape) == 3 and np.asarray(arrays).dtype.kind == "f":
                frames.setdefault(key, {}).update(zip(names, np.asarray(arrays, np.float32), strict=True))
    return frames, labels
