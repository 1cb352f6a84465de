"""Feature files as CMU and others publish them, in miniature; a pickle is opened only when asked."""

from __future__ import annotations

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
from recorder import write

from sordino.data import ModalityFeatures
from sordino.data.corpora.sentiment_features import SentimentFeatures
from sordino.data.feature_files import FeatureFile, read_features, read_pickled
from sordino.errors import ConfigError, DataError

FRAMES = {
    "abc[0]": np.arange(6, dtype=np.float32).reshape(3, 2),
    "abc[1]": np.ones((1, 2), np.float32),
    "xyz[0]": np.array([[np.inf, -np.inf], [np.nan, 1]], np.float32),
}
LABELS = (
    "video_id,clip_id,text,label,annotation,mode\n"
    "abc,0,GOOD,2.4,Positive,train\nabc,1,,0,Neutral,valid\nxyz,0,BAD,-3,Negative,test\n"
)


def as_csd(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        for segment, frames in FRAMES.items():
            file[f"COVAREP/data/{segment}/features"] = frames
            file[f"COVAREP/data/{segment}/intervals"] = np.zeros((len(frames), 2))
        file["COVAREP/metadata/root name"] = "COVAREP"
    return path


def as_h5(path: Path) -> Path:
    with h5py.File(path, "w") as file:
        for segment, frames in FRAMES.items():
            file[segment] = frames
    return path


def as_npz(path: Path) -> Path:
    np.savez(path, **FRAMES)
    return path


@pytest.mark.parametrize(("name", "save"), [("a.csd", as_csd), ("a.h5", as_h5), ("a.npz", as_npz)])
def test_frames_by_segment(name: str, save: object, tmp_path: Path) -> None:
    found = read_features(save(tmp_path / name))  # type: ignore[operator]
    assert found.keys() == FRAMES.keys()
    np.testing.assert_array_equal(found["abc[0]"], FRAMES["abc[0]"])


def test_labels_and_features_meet_in_the_segment(tmp_path: Path) -> None:
    splits = SentimentFeatures(labels=write(tmp_path / "label.csv", LABELS)).load(30)
    (train,), (test,) = splits.train, splits.test
    assert train.attributes == {"sentiment": "2.4", "segment": "abc[0]", "split": "train"}
    assert (train.speaker, train.text, test.speaker) == ("abc", "GOOD", "xyz")
    assert splits.notes == ("left out 1 utterances of split valid.",)
    assert splits.test_is == "held-out speakers"
    features = ModalityFeatures({"acoustic": FeatureFile(read_features(as_csd(tmp_path / "covarep.csd")))})
    np.testing.assert_array_equal(features.of(train)["acoustic"], FRAMES["abc[0]"])
    np.testing.assert_array_equal(features.of(test)["acoustic"], [[0, 0], [0, 1]])
    lacking = ModalityFeatures(
        {"face": FeatureFile({"abc[0]": FRAMES["abc[0]"], "xyz[0]": np.zeros((0, 2), np.float32)})}
    )
    assert lacking.of(test) == {}


class Exploit:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('a pickle ran')",)


def test_a_pickle_is_not_opened_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "aligned_50.pkl"
    path.write_bytes(pickle.dumps(Exploit()))
    with pytest.raises(ConfigError, match="can run any program"):
        SentimentFeatures(labels=path).load(30)
    with pytest.raises(ConfigError, match="can run any program"):
        read_pickled(path)
    with pytest.raises(DataError, match="can run any program"):
        read_features(path)
    disguised = tmp_path / "a.npz"
    np.savez(disguised, a=np.array([Exploit()]))
    with pytest.raises(DataError, match="without objects"):
        read_features(disguised)


def test_a_pickle_that_is_trusted(tmp_path: Path) -> None:
    parts = {
        "id": ["abc$_$0", "xyz$_$0"], "raw_text": ["GOOD", "BAD"], "audio": np.ones((2, 4, 3)),
        "regression_labels": np.array([2.0, -1.0]),
    }  # fmt: skip
    path = tmp_path / "aligned_50.pkl"
    path.write_bytes(pickle.dumps({"train": parts, "test": parts | {"id": ["pqr$_$0", "pqr$_$1"]}}))
    frames, labels = read_pickled(path, unpickle=True)
    assert frames.keys() == {"audio"}
    assert frames["audio"]["xyz$_$0"].shape == (4, 3)
    assert labels["pqr$_$1"] == ("test", -1.0)
    splits = SentimentFeatures(labels=path, unpickle=True).load(30)
    assert {u.speaker for u in splits.train} == {"abc", "xyz"}
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(DataError, match="is not laid out as"):
        read_pickled(path, unpickle=True)


def test_damaged_and_odd_files_are_refused(tmp_path: Path) -> None:
    for name in ("a.csd", "a.npz"):
        with pytest.raises(DataError, match="cannot be read"):
            read_features(write(tmp_path / name, "nothing"))
        with pytest.raises(DataError, match="does not exist"):
            read_features(tmp_path / f"no-{name}")
    with pytest.raises(DataError, match=r"expected \.csd, \.h5 or \.npz"):
        read_features(tmp_path / "a.mat")
    np.savez(tmp_path / "empty.npz")
    with pytest.raises(DataError, match="holds no features"):
        read_features(tmp_path / "empty.npz")
    with pytest.raises(DataError, match="2 widths"):
        FeatureFile({"a": np.zeros((1, 2), np.float32), "b": np.zeros((1, 3), np.float32)})


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (LABELS.replace("2.4", "happy"), r"abc\[0\] has the label 'happy'"),
        (LABELS.replace("2.4", "3.1"), "expected a number from -3 to 3"),
        (LABELS.replace("2.4", "nan"), "expected a number from -3 to 3"),
        (LABELS.replace(",test", ",train"), "expected train and test"),
        (LABELS.replace("label", "level"), "expected label too"),
    ],
)
def test_labels_that_cannot_be_are_refused(text: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=match):
        SentimentFeatures(labels=write(tmp_path / "label.csv", text)).load(30)


def test_a_segment_name_of_other_parts_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"data\.corpus\.segment_name = '\{video\}'"):
        SentimentFeatures(labels=Path("a.csv"), segment_name="{video}")
