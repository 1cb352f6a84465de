"""The page in a real browser: nothing is wider than a phone or a desk, and figures and text are there to be seen."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

# Chromium's own window is never narrower than 500 px, so the page is looked at through a frame of the width in question.
WIDTHS = (390, 1280)
FRAME = '<iframe style="width:{width}px;height:900px;border:0" srcdoc="{page}"></iframe>'
WRAPPER = """<!doctype html><body style="margin:0">
{frames}
<pre id="found"></pre>
<script>
onload = () => {{
  const found = [...document.querySelectorAll("iframe")].map((frame) => {{
    const inner = frame.contentDocument, width = frame.clientWidth;
    const wide = [...inner.querySelectorAll("main *")].filter(
      (one) => !one.closest(".scroll, svg") && one.getBoundingClientRect().right > width + 0.5);
    const drawn = [...inner.querySelectorAll("figure svg")].map((one) => one.getBoundingClientRect());
    return {{
      scroll: inner.documentElement.scrollWidth,
      wide: wide.map((one) => one.outerHTML.slice(0, 120)),
      figures: drawn.map((box) => [box.width, box.height]),
      letters: inner.body.innerText.length,
    }};
  }});
  document.getElementById("found").textContent = JSON.stringify(found);
}};
</script>"""


@pytest.fixture(scope="module")
def chromium() -> Callable[..., str]:
    """Runs headless Chromium and returns its stdout."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed; .ci/run installs it where it may")

    def call(*arguments: str) -> str:
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    return call


@pytest.mark.parametrize("names", [("weak",), ("sound", "weak", "none"), ("comparison",)])
def test_nothing_is_wider_than_the_screen(
    names: tuple[str, ...], chromium: Callable[..., str], written: Callable[..., Path], tmp_path: Path
) -> None:
    page, wrapper = html.escape(written(*names).read_text(encoding="utf-8")), tmp_path / "wrapper.html"
    frames = "".join(FRAME.format(width=width, page=page) for width in WIDTHS)
    wrapper.write_text(WRAPPER.format(frames=frames))
    dom = chromium("--virtual-time-budget=5000", "--window-size=1800,1000", "--dump-dom", wrapper.as_uri())
    match = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert match is not None
    for width, found in zip(WIDTHS, json.loads(html.unescape(match[1])), strict=True):
        assert found["wide"] == []
        assert found["scroll"] == width
        assert found["letters"] > 1000
        assert len(found["figures"]) >= 3
        for drawn_width, drawn_height in found["figures"]:
            assert 300 < drawn_width < 480
            assert drawn_height > 80


def test_it_is_seen_and_printed(chromium: Callable[..., str], written: Callable[..., Path], tmp_path: Path) -> None:
    page = written("weak").as_uri()
    chromium("--window-size=1280,2000", f"--screenshot={tmp_path / 'page.png'}", page)
    pixels = imread(tmp_path / "page.png")[..., :3]  # [height, width, rgb], 0 to 1
    assert pixels.shape[:2] == (2000, 1280)
    dark = (pixels.mean(axis=-1) < 0.5).mean(axis=1)
    assert 0.01 < dark.mean() < 0.2
    assert all(part.any() for part in np.split(dark, 8))  # nowhere a long empty stretch
    chromium("--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'page.pdf'}", page)
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) >= 2
