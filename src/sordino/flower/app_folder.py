"""The thin Flower app of an experiment: a pyproject that names modules of this package, and a README."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Final

import tomli_w
from jinja2 import Environment, PackageLoader, StrictUndefined

from sordino._check import free_folder
from sordino.flower.settings import FlowerSettings
from sordino.records import replace_file

__all__ = ["APP", "write_app"]

APP: Final = "sordino.experiments.on_flower.app"
"""Module of the two halves."""


def write_app(folder: Path, settings: FlowerSettings, *, name: str) -> None:
    """Makes an app that ``flwr run`` runs as it is. It needs sordino on every machine, and brings no code.

    Args:
        folder: absent or empty.
        settings: go into the app's run config, where ``flwr run --run-config`` overrides them.
        name: the app's.

    Raises:
        ConfigError: there is something in the folder.
    """
    free_folder(folder, remedy="choose another.")
    project = {
        "project": {
            "name": name,
            "version": "1.0.0",
            "description": "A federated speech experiment under differential privacy, run by sordino.",
            "license": "Apache-2.0",
            "dependencies": [],
        },
        "tool": {
            "flwr": {
                "app": {
                    "publisher": "sordino",
                    "components": {"serverapp": f"{APP}:server", "clientapp": f"{APP}:client"},
                    "config": asdict(settings),
                }
            }
        },
    }
    templates = Environment(  # noqa: S701 - Markdown, of our own settings
        loader=PackageLoader("sordino.flower"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    readme = templates.get_template("README.md.jinja").render(name=name, settings=settings, version=version("sordino"))
    replace_file(folder / "pyproject.toml", tomli_w.dumps(project, multiline_strings=True).encode())
    replace_file(folder / "README.md", readme.encode())
