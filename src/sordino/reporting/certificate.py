"""A certificate as a page that anybody can read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sordino.records import replace_file
from sordino.reporting.templating import template

__all__ = ["write_certificate_page"]


def write_certificate_page(certificate: Mapping[str, Any], path: Path) -> None:
    """Writes the HTML page of a certificate."""
    title = f"certificate: {certificate['modality']}"
    replace_file(path, template("certificate.html").render(title=title, certificate=certificate).encode())
