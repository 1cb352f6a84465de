"""What the pages tell the reader to type: fenced blocks, and commands in running text."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE: Final = re.compile(
    r'(?P<run><!-- run -->\s*)?^(?P<indent> *)```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?\n'
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_INLINE: Final = re.compile(r"`((?:[A-Z_]+=\S+ )?sordino\s[^`]+)`")


@dataclass(frozen=True)
class Block:
    """One fenced block; ``runs`` if it stands under ``<!-- run -->``."""

    page: Path
    line: int
    language: str
    title: str
    text: str
    runs: bool

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One call of sordino: what follows its name."""

    page: Path
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: sordino {shlex.join(self.arguments)}"


def blocks(*languages: str) -> list[Block]:
    """All blocks in these languages; ``""`` is a fence without a language."""
    return [block for page in PAGES for block in _blocks(page) if block.language in languages]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        content = textwrap.dedent(match["text"])
        yield Block(page, line, match["language"], match["title"] or "", content, bool(match["run"]))


def commands() -> list[Command]:
    """All calls in blocks and in running text, each once a page."""
    found = [Command(block.page, call) for block in blocks("bash", "console", "") for call in calls(block.text)]
    for page in PAGES:
        prose = _FENCE.sub("", page.read_text(encoding="utf-8"))
        found += [Command(page, call) for match in _INLINE.findall(prose) for call in calls(" ".join(match.split()))]
    return list(dict.fromkeys(found))


def calls(text: str) -> Iterator[tuple[str, ...]]:
    """The arguments of each call of sordino in a shell text; prompts, variables before it and comments are dropped."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True) if "sordino " in f"{line} " else []
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            words.pop(0)
        if words and words[0] == "sordino":
            yield tuple(words[1:])
