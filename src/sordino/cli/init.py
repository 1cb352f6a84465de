"""``sordino init``: a commented experiment to start from, by a few questions or by flags."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sordino.cli.console import Json, print_json, stdout

if TYPE_CHECKING:
    from rich.console import Console

    from sordino.experiments.starting import Started

__all__ = ["init"]

_KINDS = {"voices": None, "folder": "audio", "manifest": "manifest"}
"""What ``--data`` can be, and the flag that says where that is."""


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make; nothing is ever overwritten.")],
    *,
    data: Annotated[
        str | None, typer.Option("--data", help="voices (synthetic), folder (needs --audio) or manifest.")
    ] = None,
    audio: Annotated[
        Path | None,
        typer.Option("--audio", help="Folder of your recordings, in speakers' sub-folders or with a metadata table."),
    ] = None,
    manifest: Annotated[Path | None, typer.Option("--manifest", help="Manifest of your recordings.")] = None,
    language: Annotated[str, typer.Option("--language", help="Language code of the recordings in --audio.")] = "",
    model: Annotated[
        str | None,
        typer.Option("--model", help="pocket (the default), or the folder of a speech-LLM that sordino saved."),
    ] = None,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="Whisper-type model, hub id or folder; with --decoder.")
    ] = None,
    decoder: Annotated[
        str | None, typer.Option("--decoder", help="Llama-type language model, hub id or folder; with --encoder.")
    ] = None,
    epsilon: Annotated[float, typer.Option("--epsilon", help="Strength of the guarantee; smaller is stronger.")] = 8.0,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Write a commented experiment that is ready to run, sized to your recordings.

    At a terminal it asks a few questions if no recordings are named; elsewhere it then takes synthetic voices.

    Examples:
    sordino init first
    sordino init clinic --audio recordings/ --language de --epsilon 4
    """
    given: dict[str, Any] = {"audio": audio, "manifest": manifest, "language": language, "epsilon": epsilon}
    models: dict[str, Any] = {"base": model, "encoder": encoder, "decoder": decoder}
    from sordino._check import free_folder

    free_folder(
        folder.expanduser(), remedy="name another one, nothing is ever overwritten."
    )  # before anything is asked
    _require_consistent(data, given)
    if data is None and audio is None and manifest is None and not as_json and sys.stdin.isatty():
        _ask(given, models)
    from sordino.cli.tracking import tracked
    from sordino.experiments.starting import Start, start_experiment
    from sordino.models import ModelOptions

    options = ModelOptions(
        base=_place(models["base"]), encoder=_place(models["encoder"]), decoder=_place(models["decoder"])
    )
    started = start_experiment(folder, Start(model=options, **given), watch=lambda items: tracked(items, "recordings"))
    if as_json:
        print_json(_result(started))
    else:
        _show(stdout(), started)


def _require_consistent(data: str | None, given: dict[str, Any]) -> None:
    from sordino._check import one_of
    from sordino.errors import ConfigError

    if data is None:
        return
    flag = _KINDS[one_of("--data", data, _KINDS)]
    if flag is not None and given[flag] is None:
        raise ConfigError(f"--data {data} needs --{flag}: say where the recordings are.")
    others = [name for name in ("audio", "manifest") if name != flag and given[name] is not None]
    if others:
        raise ConfigError(f"--data {data} does not go with --{others[0]}; leave one of them out.")


def _ask(given: dict[str, Any], models: dict[str, Any]) -> None:
    """Fills in what no flag said."""
    from rich.prompt import FloatPrompt, Prompt

    from sordino.cli.console import stderr

    console = stderr()
    kind = Prompt.ask("Whose recordings?", choices=list(_KINDS), default="voices", console=console)
    flag = _KINDS[kind]
    if flag is not None:
        given[flag] = Path(Prompt.ask(f"Where is the {kind}?", console=console))
    if kind == "folder":
        given["language"] = Prompt.ask("Language code, e.g. de (may be left empty)", default="", console=console)
    if not any(models.values()):
        encoder = Prompt.ask("Model: pocket, or the hub id or folder of a Whisper", default="pocket", console=console)
        if encoder != "pocket":
            models["encoder"] = encoder
            models["decoder"] = Prompt.ask("and of a Llama-type language model", console=console)
    given["epsilon"] = FloatPrompt.ask("Strength of the guarantee, epsilon", default=given["epsilon"], console=console)


def _place(name: str | None) -> str | None:
    """A folder by its absolute path, so that the experiment runs from anywhere; a hub id as it is."""
    if name is None or name == "pocket" or not Path(name).expanduser().is_dir():
        return name
    return str(Path(name).expanduser().absolute())


def _result(started: Started) -> dict[str, Any]:
    prepared = started.prepared
    return {
        "file": str(started.file),
        "notes": list(started.notes),
        "left_out": {kind: len(items) for kind, items in prepared.kinds.items()} if prepared else {},
        "population": started.report["population"],
        "epsilon": started.report["epsilon"],
        "statement": started.report["statement"],
        "noise": started.prospects.noise,
        "population_needed": started.prospects.population_needed,
    }


def _show(console: Console, started: Started) -> None:
    from sordino.cli.data import show_left_out, summary

    def say(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    if started.prepared is not None:
        prepared = started.prepared
        say(summary(prepared))
        show_left_out(console, prepared)
    for note in started.notes:
        say(f"- {note}")
    say(f"- Planned: {started.report['statement']}")
    say(f"- {started.prospects.words}")
    say(f"wrote {started.file}; its comments explain every choice. Next:")
    file, run = shlex.quote(str(started.file)), shlex.quote(str(started.file.parent / "run"))
    say(f"  sordino plan {file}")
    say(f"  sordino run {file} --out {run}")
    if not started.prospects.good:
        say(f"  sordino run {file} --set privacy.mechanism=none    # what could be learnt, without any guarantee")
