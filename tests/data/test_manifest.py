from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sordino.data import Utterance, read_manifest, write_audio, write_manifest
from sordino.errors import DataError

GOOD = {"audio_filepath": "a.flac", "duration": 0.5, "text": "one", "speaker": "s1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_audio(tmp_path / "a.flac", np.full(8_000, 0.1, np.float32))
    return tmp_path


def manifest(folder: Path, *lines: object) -> Path:
    path = folder / "m.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def test_keys_become_fields_and_other_texts_attributes(folder: Path) -> None:
    record = {**GOOD, "language": "en", "offset": 0.25, "gender": "female", "label": 3, "id": "x"}
    [utterance] = read_manifest(manifest(folder, record))
    assert utterance == Utterance(
        audio=folder / "a.flac",
        text="one",
        speaker="s1",
        duration_s=0.5,
        language="en",
        offset_s=0.25,
        attributes={"gender": "female", "id": "x"},
    )


def test_byte_order_mark_blank_lines_and_carriage_returns(folder: Path) -> None:
    path = folder / "m.jsonl"
    line = json.dumps(GOOD)
    path.write_bytes(b"\xef\xbb\xbf" + f"{line}\r\n\r\n   \n{line}".encode())
    assert len(read_manifest(path)) == 2
    path.write_bytes(b"\xef\xbb\xbf" + f"{line}\r\n\r\n[]\r\n".encode())
    with pytest.raises(DataError, match="line 3"):
        read_manifest(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({key: GOOD[key] for key in GOOD if key != "speaker"}, r"has no 'speaker'; say who speaks"),
        ({**{key: GOOD[key] for key in GOOD if key != "speaker"}, "speeker": "s1"}, r"did you mean 'speeker'"),
        ({key: GOOD[key] for key in GOOD if key != "text"}, r"has no 'text'; give the transcript"),
        ({key: GOOD[key] for key in GOOD if key != "duration"}, r"has no 'duration'; give it in seconds"),
        ({key: GOOD[key] for key in GOOD if key != "audio_filepath"}, r"has no 'audio_filepath'; give the recording's"),
        ({**GOOD, "speaker": ""}, r"speaker = ''"),
        ({**GOOD, "speaker": 7}, r"speaker = 7: expected a text"),
        ({**GOOD, "text": None}, r"text = None"),
        ({**GOOD, "duration": 0}, r"duration = 0: expected seconds above 0"),
        ({**GOOD, "duration": -1.5}, r"duration = -1.5"),
        ({**GOOD, "duration": "1.5"}, r"duration = '1.5'"),
        ({**GOOD, "duration": True}, r"duration = True"),
        ({**GOOD, "duration": 10**400}, r"duration = 1000.*: expected seconds above 0"),
        ({**GOOD, "audio_filepath": "x" * 5000}, r"does not exist"),
        ({**GOOD, "audio_filepath": "a\0/b.flac"}, r"does not exist"),
        ({**GOOD, "audio_filepath": "/a.flac"}, r"audio_filepath '/a\.flac' does not exist"),
        ('{"audio_filepath": "a.flac", "duration": NaN, "text": "", "speaker": "s"}', r"duration = nan"),
        ({**GOOD, "offset": -0.1}, r"offset = -0.1: expected seconds, at least 0"),
        ({**GOOD, "audio_filepath": "b/none.flac"}, r"audio_filepath '.*b/none\.flac' does not exist; correct"),
        ({**GOOD, "audio_filepath": "."}, r"does not exist"),
        ('{"audio_filepath": ', r"is not JSON .* write one JSON object a line"),
        ("[" * 100_000, r"is not JSON"),
        ("1" * 5_000, r"is not JSON"),
        ("[1, 2]", r"is list, not a JSON object"),
        ("plain text", r"is not JSON"),
    ],
)
def test_each_bad_line_is_named_with_its_remedy(folder: Path, line: object, message: str) -> None:
    with pytest.raises(DataError, match=rf"m\.jsonl, line 2: .*{message}"):
        read_manifest(manifest(folder, GOOD, line, GOOD))


def test_further_bad_lines_are_counted(folder: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: .*\(2 more such lines; see: sordino data check\)"):
        read_manifest(manifest(folder, "x", GOOD, "y", "z"))


def test_manifests_that_are_none(folder: Path) -> None:
    with pytest.raises(DataError, match=r"m\.jsonl has no utterance; write one JSON object a line"):
        read_manifest(manifest(folder))
    with pytest.raises(DataError, match=r"absent\.jsonl cannot be read \(No such file"):
        read_manifest(folder / "absent.jsonl")
    with pytest.raises(DataError, match="cannot be read"):
        read_manifest(folder)
    (folder / "m.jsonl").write_bytes("{}".encode("utf-16"))
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_manifest(folder / "m.jsonl")


NAMES = st.text(min_size=1, max_size=8).filter(
    lambda name: name not in {"audio_filepath", "duration", "text", "speaker", "language", "offset"}
)
UTTERANCES = st.builds(
    dict,
    text=st.text(max_size=20),
    speaker=st.text(min_size=1, max_size=8),
    duration_s=st.floats(1e-6, 1e6),
    language=st.text(max_size=3),
    offset_s=st.floats(0, 1e6),
    attributes=st.dictionaries(NAMES, st.text(max_size=8), max_size=3),
)


@given(st.lists(UTTERANCES, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(folder: Path, fields: list[dict[str, object]]) -> None:
    (folder / "deep").mkdir(exist_ok=True)
    utterances = [Utterance(audio=folder / "a.flac", **each) for each in fields]  # type: ignore[arg-type]
    for path in (folder / "m.jsonl", folder / "deep" / "m.jsonl"):
        write_manifest(path, utterances)
        back = read_manifest(path)
        assert [u.audio.resolve() for u in back] == [(folder / "a.flac").resolve()] * len(back)
        assert [(u.text, u.speaker, u.duration_s, u.language, u.offset_s, u.attributes) for u in back] == [
            (u.text, u.speaker, u.duration_s, u.language, u.offset_s, u.attributes) for u in utterances
        ]


def test_paths_are_written_relative_so_that_a_folder_can_move(folder: Path) -> None:
    [utterance] = read_manifest(manifest(folder, GOOD))
    write_manifest(folder / "m.jsonl", [utterance])
    assert json.loads((folder / "m.jsonl").read_text())["audio_filepath"] == "a.flac"


def test_recordings_are_found_in_any_folder_and_through_links(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "link.flac").symlink_to(folder / "a.flac")
    names = ["deep/link.flac", "./a.flac", "deep/../a.flac", str(folder / "a.flac"), "a.flac"]
    utterances = read_manifest(manifest(folder, *({**GOOD, "audio_filepath": name} for name in names)))
    assert [utterance.audio for utterance in utterances] == [folder / name for name in names]
    write_manifest(folder / "deep" / "m.jsonl", utterances[:2])
    written = [json.loads(line)["audio_filepath"] for line in (folder / "deep" / "m.jsonl").read_text().splitlines()]
    assert written == ["link.flac", "../a.flac"], "a link stays a link, whatever it leads to"


def test_folders_are_listed_once_and_files_are_not_looked_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "deep").mkdir()
    names = [f"{place}{index}.flac" for place in ("", "deep/") for index in range(10)]
    for name in names:
        (folder / name).touch()
    path = manifest(folder, *({**GOOD, "audio_filepath": name} for name in names * 2))
    listed: list[object] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda place: (listed.append(place), real(place))[1])
    monkeypatch.setattr(Path, "is_file", lambda _: pytest.fail("a million of these take longer than the manifest"))
    assert len(read_manifest(path)) == 40
    assert len(listed) == 2


def test_a_folder_that_may_be_entered_but_not_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(place: Path) -> None:
        raise PermissionError(place)

    monkeypatch.setattr(os, "scandir", forbidden)
    assert len(read_manifest(manifest(folder, GOOD))) == 1


def test_a_failed_write_leaves_the_old_manifest(folder: Path) -> None:
    path = manifest(folder, GOOD)
    before = path.read_bytes()
    good = read_manifest(path)[0]
    bad = Utterance(audio=good.audio, text="", speaker="s", duration_s=1.0, attributes={"duration": "long"})
    with pytest.raises(DataError, match=r"attribute 'duration' .* rename it"):
        write_manifest(path, [good, good, bad])
    assert path.read_bytes() == before
    assert {file.name for file in folder.iterdir()} == {"a.flac", "m.jsonl"}


@pytest.mark.parametrize(
    ("name", "count", "speakers"), [("fsdd", 3_000, 6), ("nemo", 424, 9), ("librispeech-10", 100, 10)]
)
def test_real_manifests(data_root: Path, name: str, count: int, speakers: int) -> None:
    utterances = read_manifest(data_root / name / "manifest.jsonl")
    assert len(utterances) == count
    assert len({utterance.speaker for utterance in utterances}) == speakers
    assert len({utterance.key for utterance in utterances}) == count
