from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from recorder import write

from sordino.data import LeftOut
from sordino.data.lines import keyed_lines, read_genders
from sordino.data.tables import Table
from sordino.errors import DataError


def rows(path: Path) -> list[object]:
    return [item.reason if isinstance(item, LeftOut) else dict(item) for item in Table(path)]


def test_what_ends_a_line_and_what_does_not(tmp_path: Path) -> None:
    content = 'path,text\r\na.wav,one\u2028two\x85three\r\n\r\nb.wav,"two\nlines"\r\n'
    assert rows(write(tmp_path / "m.csv", "\ufeff" + content)) == [
        {"path": "a.wav", "text": "one\u2028two\x85three"},
        {"path": "b.wav", "text": "two\nlines"},
    ]


def test_rows_that_are_too_long_or_too_short(tmp_path: Path) -> None:
    content = "path\ttext\tspeaker\na\tone\ttwo\tthree\nb\ttwo\nc\tthree\ts\t\t\n"
    assert rows(write(tmp_path / "m.tsv", content)) == [
        "has 4 fields in line 2, but 3 in its heading; correct that line",
        {"path": "b", "text": "two"},
        {"path": "c", "text": "three", "speaker": "s"},
    ]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "m.csv",
            'path,text\na,one\nb,"two\nc,three\nd,four\n',
            r"the row that begins in line 3 is damaged \(unexpected end",
        ),
        ("m.csv", 'path,text\na,"one" two\n', r"the row that begins in line 2 is damaged"),
        ("m.csv", "", "has no row"),
        ("m.csv", "path,text\n", "has no row"),
        ("m.csv", "path,text,text,,\na,one,two,,\n", "has several columns 'text'; rename"),
        ("m.csv", "path,text\na,\xe9\n".encode("latin-1"), "is not UTF-8 text; save it"),
        ("m.tsv", "path\ttext\n".encode("utf-16"), "is not UTF-8"),
        ("m.jsonl", "\n\n", "has no row"),
        ("m.jsonl", '{"a": 1}\n[1]\n', "line 2 is no JSON object"),
        ("m.jsonl", f'{{"a": 1}}\n{{"a": 1{"0" * 5000}}}\n', "line 2 is not JSON"),
        ("m.tsv", f"path\ttext\na\t{'x' * 200_000}\n", r"line 2 is damaged \(field larger"),
    ],
)
def test_damage_is_found_before_the_first_row_is_given(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        Table(write(tmp_path / name, content))


def test_a_heading_alone_will_do_if_one_says_so(tmp_path: Path) -> None:
    table = Table(write(tmp_path / "m.tsv", "path\ttext\n"), may_be_empty=True)
    assert list(table) == []
    assert table.columns == ["path", "text"]


def test_columns_are_those_of_all_records(tmp_path: Path) -> None:
    table = Table(write(tmp_path / "m.jsonl", '{"file": "a", "n": 1, "list": [1]}\n{"file": "b", "Sentence": "x"}\n'))
    assert list(table.columns) == ["file", "n", "Sentence"]
    assert table.column("text") == "Sentence"


def test_a_table_is_never_held_as_a_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "m.tsv", "path\ttext\n" + f"{'p' * 100}\t{'t' * 900}\n" * 20_000)
    tracemalloc.start()
    try:
        assert sum(len(row) for row in Table(path) if not isinstance(row, LeftOut)) == 40_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size / 20


def test_names_and_the_rest_of_their_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "text", "\ufeffa-1  one  two \r\n\r\nb-2\n c-3\tthree\u2028four\n")
    assert list(keyed_lines(path)) == [(1, "a-1", "one  two"), (3, "b-2", ""), (4, "c-3", "three\u2028four")]
    assert list(keyed_lines(write(path, "a 1\tone\ttwo\n"), "\t")) == [(1, "a 1", "one\ttwo")]
    with pytest.raises(DataError, match=r"text, line 2 is not UTF-8"):
        list(keyed_lines(write(path, b"a one\nb \xe9\n")))
    with pytest.raises(DataError, match="cannot be read"):
        list(keyed_lines(tmp_path / "absent"))


def test_genders(tmp_path: Path) -> None:
    content = b";ID |SEX| SUBSET\n14   | F | train-clean-360  | 25.03 | Kristin\n16|m|x|1|Ren\xe9e\n17|?|x\nodd\n"
    assert read_genders(write(tmp_path / "SPEAKERS.TXT", content)) == {"14": "female", "16": "male"}
    assert read_genders(tmp_path / "absent") == {}
