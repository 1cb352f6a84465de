"""Reads a page back as a browser's parser would see it."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "link", "img", "br", "hr", "input", "source", "embed", "base", "col"}


class Page(HTMLParser):
    """Elements, ids, references, visible text and the captions of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.references: list[str] = []
        self.styles: list[str] = []
        self.handlers: list[str] = []
        self.figures: list[dict[str, str]] = []
        self.drawn: list[str] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        assert not self._open, f"left open: {self._open}"

    @property
    def text(self) -> str:
        return " ".join("".join(self._text).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            if name == "id":
                self.ids[value or ""] += 1
            if name.split(":")[-1] in ("href", "src", "data", "action", "srcset"):
                self.references.append(value or "")
            if name == "style":
                self.styles.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
        if tag == "figure":
            self.figures.append({"svg": "", "figcaption": ""})
        if tag == "svg":
            assert "figure" in self._open
            self.figures[-1]["svg"] = "yes"
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            self.styles.append(data)
        else:
            self._text.append(data)
        if "svg" in self._open:
            self.drawn.append(data)
        if "figcaption" in self._open:
            self.figures[-1]["figcaption"] += data


def assert_sound(page: Page) -> None:
    """Self-contained, without scripts, every figure with a caption, no id twice."""
    for tag in ("script", "link", "img", "iframe", "object", "embed", "base", "form"):
        assert page.tags[tag] == 0, tag
    assert page.handlers == []
    assert all(reference.startswith("#") for reference in page.references)
    assert all(reference[1:] in page.ids for reference in page.references)
    for style in page.styles:
        assert "@import" not in style
        assert all(target.startswith("#") for target in re.findall(r"url\(\s*['\"]?([^)]*)", style))
    assert [name for name, count in page.ids.items() if count > 1] == []
    assert page.tags["svg"] == len(page.figures)
    assert all(figure["svg"] and len(figure["figcaption"]) > 60 for figure in page.figures)
