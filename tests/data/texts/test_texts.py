"""Text sets in the layouts they were published in, and how they are divided."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sordino.data.texts import TEXTS, Example, division
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds


def write(folder: Path, files: dict[str, str], *, encoding: str = "utf-8") -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding=encoding)
    return folder


def read(name: str, **options: object) -> list[Example]:
    return list(TEXTS.get(name)(**options).read())


def test_financial_phrasebank_as_published_and_as_lines(tmp_path: Path, data_root: Path) -> None:
    write(
        tmp_path,
        {"Sentences_AllAgree.txt": "Profit rose to EUR 1 @ home .@positive\nÅ .@neutral\n"},
        encoding="latin-1",
    )
    found = read("financial-phrasebank", path=tmp_path / "Sentences_AllAgree.txt")
    assert [(e.text, e.label) for e in found] == [("Profit rose to EUR 1 @ home .", "positive"), ("Å .", "neutral")]
    shared = read("financial-phrasebank", path=data_root / "financial-phrasebank" / "allagree.jsonl")
    assert Counter(e.label for e in shared) == {"neutral": 1390, "positive": 570, "negative": 303}


def test_mrpc(tmp_path: Path) -> None:
    head = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    write(tmp_path, {
        "msr_paraphrase_train.txt": head + '1\t1\t2\tHe said "no .\tHe refused .\n',
        "msr_paraphrase_test.txt": head + "0\t3\t4\tA .\tB .\n",
    })  # fmt: skip
    first, second = read("mrpc", path=tmp_path)
    assert (first.text, first.second, first.label, first.split) == (
        'He said "no .',
        "He refused .",
        "equivalent",
        "train",
    )
    assert (second.label, second.split) == ("different", "test")


def test_bbc(tmp_path: Path) -> None:
    write(tmp_path, {"sport/001.txt": "Title\n\nBody £1\n", "tech/001.txt": "Chips"})
    assert [(e.text, e.label) for e in read("bbc", path=tmp_path)] == [("Title Body £1", "sport"), ("Chips", "tech")]


def test_tweets(tmp_path: Path) -> None:
    write(tmp_path, {
        "mapping.txt": "0\tanger\n1\tjoy\n",
        "train_text.txt": "so\u2028happy\nno\n", "train_labels.txt": "1\n0\n",
        "test_text.txt": "ok\n", "test_labels.txt": "1\n",
    })  # fmt: skip
    assert [(e.text, e.label, e.split) for e in read("tweets", path=tmp_path)] == [
        ("so\u2028happy", "joy", "train"), ("no", "anger", "train"), ("ok", "joy", "test"),
    ]  # fmt: skip


def test_sets_to_write_from(tmp_path: Path) -> None:
    chats = json.dumps([{"id": "1", "dialogue": "A: hi\r\nB: hi", "summary": "They greet."}])
    write(tmp_path, {"train.json": chats, "test.json": chats})
    assert read("samsum", path=tmp_path)[0].target == "They greet."
    table = 'id,article,highlights\n1,"Long, ' + "x" * 200_000 + '","Short\nof it"\n'
    write(tmp_path, {"train.csv": table, "test.csv": table})
    assert read("cnn-dailymail", path=tmp_path)[1].target == "Short\nof it"
    write(tmp_path, {
        "train.tags.en-de.en": "<url>u</url>\n One . \nTwo & more .\n",
        "train.tags.en-de.de": "<url>u</url>\nEins .\n Zwei .\n",
        "IWSLT17.TED.tst2010.en-de.en.xml": '<doc><seg id="1"> Three </seg>\n<seg id="2">Four</seg></doc>',
        "IWSLT17.TED.tst2010.en-de.de.xml": '<doc><seg id="1"> Drei </seg>\n<seg id="2">Vier</seg></doc>',
    })  # fmt: skip
    assert [(e.text, e.target, e.split) for e in read("iwslt", path=tmp_path)] == [
        ("One .", "Eins .", "train"), ("Two & more .", "Zwei .", "train"),
        ("Three", "Drei", "test"), ("Four", "Vier", "test"),
    ]  # fmt: skip


def test_own_lines(tmp_path: Path) -> None:
    write(tmp_path, {"own.jsonl": '{"text": "a", "label": "x", "age": 40}\n'})
    (only,) = read("jsonl", path=tmp_path / "own.jsonl")
    assert (only.text, only.label, only.attributes) == ("a", "x", {"age": "40"})


def test_synthetic_notes_differ_and_repeat() -> None:
    notes = read("synthetic-notes", count=200)
    assert len({note.text for note in notes}) == 200
    assert notes == read("synthetic-notes", count=200)
    assert set(Counter(note.label for note in notes)) == {"better", "worse"}


def test_damage_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        read("mrpc", path=tmp_path)
    write(tmp_path, {"a.txt": "no label\n", "b.jsonl": '{"txt": 1}\n'})
    for name, file in (("financial-phrasebank", "a.txt"), ("jsonl", "b.jsonl")):
        with pytest.raises(DataError, match=file):
            read(name, path=tmp_path / file)
    with pytest.raises(DataError, match="topic"):
        read("bbc", path=tmp_path / "nowhere")


def test_division_keeps_proportions_and_shares_nothing() -> None:
    examples = [Example(text=str(i), label="a" if i % 4 else "b") for i in range(400)]
    sets = division([*examples, *examples], sizes={"train": 200, "test": 100, "public": 100}, seeds=Seeds(1))
    assert len({e.text for part in sets.values() for e in part}) == 400
    assert all(sum(e.label == "b" for e in part) == len(part) // 4 for part in sets.values())
    with pytest.raises(DataError, match="different texts are left"):
        division(examples, sizes={"train": 401}, seeds=Seeds(1))


def test_division_keeps_the_splits_of_a_set() -> None:
    examples = [Example(text=str(i), label="a", split="test" if i < 10 else "train") for i in range(30)]
    sets = division(examples, sizes={"train": 15, "test": 10}, seeds=Seeds(1))
    assert {e.split for e in sets["test"]} == {"test"}
    assert {e.split for e in sets["train"]} == {"train"}
