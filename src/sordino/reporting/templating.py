"""Where pages come from: templates with the same way to write numbers, in which an unknown name is an error."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from sordino import __version__
from sordino.reporting import formatting

__all__ = ["template"]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sordino.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, write in vars(formatting).items():
        if name in formatting.__all__ and callable(write):
            environment.filters[name] = write
    environment.globals["version"] = __version__
    return environment


def template(name: str) -> Template:
    """A page of ``templates/``, with the filters that all pages share."""
    return _environment().get_template(name)
