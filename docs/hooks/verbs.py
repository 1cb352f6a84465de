"""The command line as Markdown, from the same declarations that ``--help`` prints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click
import typer.main
from families import as_table


def sections(app: Any) -> str:
    """One section a command."""
    command = typer.main.get_command(app)
    return "\n".join(_sections(command, click.Context(command, info_name="sordino")))


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None  # noqa: S101 - it has just been listed
            yield from _sections(member, click.Context(member, info_name=name, parent=context))
        return
    yield f"## {context.command_path}\n\n```text\n{_usage(command, context)}\n```\n\n{_words(command)}\n"
    yield _parameters(command, context)


def _usage(command: click.Command, context: click.Context) -> str:
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _words(command: click.Command) -> str:
    """The help text, its examples as a block of commands."""
    text = inspect.cleandoc(command.help or "")
    words, _, examples = re.sub(r"\bExamples?:\s", "\0", text).partition("\0")
    return f"{words.strip()}\n\n```bash\n{examples.strip()}\n```"


def _parameters(command: click.Command, context: click.Context) -> str:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            name, meaning = record
            rows.append((f"`{name.strip()}`", _plain(meaning)))
    return as_table(("argument or option", "meaning"), rows)


def _plain(meaning: str) -> str:
    """Without what the terminal colours; brackets of ``[required]`` and ``[default: ...]`` stay."""
    return re.sub(r"\s+", " ", meaning.replace("\\[", "[")).strip()
