"""A figure with what belongs to it: name, title and a caption that stands alone; written as SVG and PDF."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from sordino.records import replace_file
from sordino.reporting.figures.style import styled

__all__ = ["Plate"]

_NO_METADATA: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}
_SVG_SIZE: Final = re.compile(r'<svg [^>]*?viewBox="(?P<box>[^"]+)"[^>]*>')


@dataclass(frozen=True, kw_only=True)
class Plate:
    """A finished figure.

    Attributes:
        name: of its files, and unique on a page.
        title: what it shows, in a few words.
        caption: what is on the axes and how to read it, without the text around it.
        figure: made inside `styled`.
    """

    name: str
    title: str
    caption: str
    figure: Figure

    def inline(self) -> str:
        """The figure as an ``<svg>`` element for a page: text stays text and takes the page's font."""
        drawn = _sized(self._render("svg", **{"svg.fonttype": "none"}).decode(), self.name)
        return re.sub(r"(style=\"[^\"]*)'DejaVu Sans'", r"\1var(--sans)", drawn)

    def write(self, folder: Path) -> list[Path]:
        """Writes ``NAME.svg``, its text as outlines and on white so that it looks alike everywhere, and ``NAME.pdf``."""
        written = []
        for kind, changes in (("svg", {"svg.fonttype": "path", "savefig.facecolor": "white"}), ("pdf", {})):
            path = folder / f"{self.name}.{kind}"
            replace_file(path, self._render(kind, **changes))
            written.append(path)
        return written

    def _render(self, kind: str, **changes: Any) -> bytes:
        buffer = io.BytesIO()
        metadata = _NO_METADATA if kind == "svg" else {"CreationDate": None, "Creator": None, "Producer": None}
        with styled(**changes), _any_script():
            self.figure.savefig(buffer, format=kind, metadata=metadata)
        return buffer.getvalue()


@contextmanager
def _any_script() -> Iterator[None]:
    """Names in scripts that the measuring font lacks are drawn by the reader's fonts: nothing to warn of."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _sized(document: str, name: str) -> str:
    """The ``<svg>`` element alone, as wide as its place, with ids that no other figure of the page has."""
    element = document[document.index("<svg") :].strip()
    element = _SVG_SIZE.sub(lambda match: f'<svg viewBox="{match["box"]}" aria-hidden="true">', element, count=1)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', element))
    element = re.sub(r'\sid="([^"]+)"', lambda match: f' id="{name}-{match[1]}"' if match[1] in used else "", element)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", element).replace("xlink:href", "href")
