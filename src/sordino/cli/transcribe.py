"""``sordino transcribe``: what a run's model hears in recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.console import Json, stderr

__all__ = ["transcribe"]


def transcribe(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    audio: Annotated[
        list[Path], typer.Argument(help="Recordings (WAV, FLAC, OGG, MP3; any rate), or folders of them.")
    ],
    *,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Transcribe recordings with a run's model.

    One file gives its text; several give a line each, path and text with a tab between; --json gives an object a line.
    A recording that cannot be used is named on stderr, the others are done all the same, and the exit code is 1.

    Examples:
    sordino transcribe runs/first note.wav
    sordino transcribe runs/first recordings/ --json
    """
    from sordino.experiments.transcribing import Unheard, transcribe_recordings

    alone = len(audio) == 1 and not audio[0].is_dir()
    failed = False
    for result in transcribe_recordings(run, audio):
        if isinstance(result, Unheard):
            failed = True
            stderr().print(f"error: {result.reason}", soft_wrap=True, markup=False)
            line: dict[str, Any] = {"path": str(result.path), "error": result.reason}
            text = None
        else:
            text = " ".join(result.text.split())
            line = {
                "path": str(result.path),
                "text": result.text,
                "duration_s": round(result.duration_s, 3),
                "truncated": result.truncated,
            }
        if as_json:
            typer.echo(json.dumps(line, ensure_ascii=False))
        elif text is not None:
            typer.echo(text if alone else f"{result.path}\t{text}")
    if failed:
        raise typer.Exit(1)
