"""``sordino split``: a large model at its owner's, adapted by clients who keep their text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino.cli.console import Json, Overrides, print_json, stderr, stdout

if TYPE_CHECKING:
    from sordino.split import ModelCard

__all__ = ["app"]

app = typer.Typer(help="Use and adapt a large model that stays with its owner.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    pass


@app.command("keys")
def keys(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make them in.")],
    *,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", help="Name or address under which clients reach the server. May be repeated."),
    ] = None,
    clients: Annotated[
        list[str] | None, typer.Option("--client", help="Make a token for this client. May be repeated.")
    ] = None,
    days: Annotated[int, typer.Option("--days", help="How long the certificate is good.")] = 365,
) -> None:
    """Make the certificate of a server, the authority that clients check it by, and a token for each client.

    Example: sordino split keys keys --host models.example.org --client clinic-a --client clinic-b
    """
    from sordino.split.wire.keys import make_keys

    for path in make_keys(folder, hosts=hosts or [], holders=clients or ["client"], days=days):
        stdout().print(f"wrote {path}", soft_wrap=True, markup=False)


@app.command("serve")
def serve(
    model: Annotated[str, typer.Argument(help="Folder or hub id of a Llama, Qwen, T5 or Whisper, or pocket.")],
    *,
    key_folder: Annotated[
        Path | None, typer.Option("--keys", help="Folder with server.crt, server.key and holders.toml.")
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Name or address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen at; 0 for a free one.")] = 50_551,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Without TLS, on a loopback address alone; the token is still asked for.")
    ] = False,
    dtype: Annotated[
        str, typer.Option("--dtype", help="Number format to compute in: float32 or bfloat16.")
    ] = "float32",
    device: Annotated[str, typer.Option("--device", help="Where to compute: cpu, cuda, or auto.")] = "auto",
    client_layers: Annotated[
        int, typer.Option("--client-layers", help="Layers of a Whisper that clients keep, besides its convolutions.")
    ] = 0,
    limits: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A limit of the server, e.g. --set max_batch=16."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="When calls are taken, print address and model as JSON to stdout.")
    ] = False,
    with_stdin: Annotated[
        bool, typer.Option("--with-stdin", help="End when standard input ends, for a program that starts servers.")
    ] = False,
) -> None:
    """Serve the hidden states of a model, until Ctrl-C.

    Tokens are those of the folder's holders.toml, and the one in SORDINO_SPLIT_TOKEN.

    Of a Whisper, blocks after the clients' layers are served; "pocket" is the shipped speech encoder.

    Examples:
    sordino split serve Qwen/Qwen2-1.5B --keys keys --host 0.0.0.0
    sordino split serve model --insecure
    """
    from sordino.config import build, parse_overrides
    from sordino.split.wire import Limits
    from sordino.split.wire.hosting import Hosting, host_model

    console = stderr()

    def note(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    def ready(address: str, card: ModelCard) -> None:
        if as_json:
            print(json.dumps({"address": address, "card": card.to_json()}), flush=True)  # noqa: T201
        note(f"serving {card.model} ({card.num_blocks} blocks of width {card.width}) at {address}; Ctrl-C ends it")

    hosting = Hosting(
        model=model,
        keys=key_folder,
        host=host,
        port=port,
        insecure=insecure,
        dtype=dtype,
        device=device,
        client_layers=client_layers,
        limits=build(Limits, parse_overrides(limits or [])),
    )
    counts = host_model(hosting, ready=ready, note=note, with_stdin=with_stdin)
    note(
        f"ended after {counts.total()} calls: {', '.join(f'{n} {code}' for code, n in counts.most_common()) or 'none'}"
    )


_Server = typer.Option("--server", metavar="HOST:PORT", help="The server, as sordino split serve printed it.")
_Authority = typer.Option("--ca", help="ca.crt of the server's keys; public authorities if not given.")
_Token = typer.Option("--token", help="File of the token; SORDINO_SPLIT_TOKEN if not given.")
_Insecure = typer.Option("--insecure", help="Without TLS, for a server on a loopback address.")


@app.command("train")
def train(
    file: Annotated[Path, typer.Argument(help="Experiment file of a split experiment.")],
    *,
    server: Annotated[str, _Server],
    authority: Annotated[Path | None, _Authority] = None,
    token: Annotated[Path | None, _Token] = None,
    insecure: Annotated[bool, _Insecure] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Run folder; made under runs/ if not given.")] = None,
    overrides: Annotated[list[str] | None, Overrides] = None,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Learn from private texts with a model that somebody serves: sordino run, with the server named here.

    Example: sordino split train my.toml --server models.example.org:50551 --ca ca.crt --token clinic.token
    """
    from sordino.cli.run import run

    _require_divided(file, overrides or [])
    place: dict[str, str | bool] = {"place": "remote", "address": server, "insecure": insecure}
    place |= {name: str(path.absolute()) for name, path in (("authority", authority), ("token", token)) if path}
    settings = [f"server.{key}={json.dumps(value)}" for key, value in place.items()]
    run(file, out=out, overrides=[*(overrides or []), *settings], as_json=as_json)


def _require_divided(file: Path, overrides: list[str]) -> None:
    """Raises ConfigError for an experiment that has no server to learn with."""
    from sordino.errors import ConfigError
    from sordino.experiments.loading import load_experiment
    from sordino.experiments.tasks.divided import DividedExperiment

    experiment = load_experiment(file, overrides)
    if not isinstance(experiment, DividedExperiment):
        raise ConfigError(
            f'task = "{experiment.name}": sordino split train expects a split experiment, in which a server has part of the '
            "model; name such a file, or use sordino run."
        )


@app.command("predict")
def predict(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    text: Annotated[
        str,
        typer.Argument(help="A text, or a file with one on each line; of a run with speech, a recording or a folder."),
    ],
    *,
    server: Annotated[
        str | None, typer.Option("--server", metavar="HOST:PORT", help="The server, if it moved.")
    ] = None,
    authority: Annotated[Path | None, _Authority] = None,
    token: Annotated[Path | None, _Token] = None,
    insecure: Annotated[bool, _Insecure] = False,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Label or write of new texts or recordings with a finished run. Each call draws noise anew, and the run's ledger pays.

    Examples:
    sordino split predict runs/notes "slept badly again" --server models.example.org:50551 --ca ca.crt
    sordino split predict runs/voices call.wav
    """
    from rich.markup import escape
    from rich.table import Table

    from sordino.experiments.loading import load_experiment
    from sordino.experiments.tasks.divided import SplitServer
    from sordino.records import RunFolder

    place = None
    if server is not None:
        place = SplitServer(place="remote", address=server, authority=authority, token=token, insecure=insecure)
    task = load_experiment(RunFolder.open(folder).config).name
    if task == "split-speech":
        from sordino.experiments.split_speech import predict_split_speech

        result = predict_split_speech(folder, _recordings(Path(text)), server=place)
    elif task == "split-writing":
        from sordino.experiments.split import predict_split_writing

        result = predict_split_writing(folder, _texts(text), server=place)
    else:
        from sordino.experiments.split import predict_split

        result = predict_split(folder, _texts(text), server=place)
    if as_json:
        print_json(result)
        return
    columns = ("text", "written") if task == "split-writing" else ("text", "label", "score")
    table = Table(title="Written" if task == "split-writing" else "Labels")
    for column in columns:
        table.add_column(column, justify="right" if column == "score" else "left")
    for one in result["predictions"]:
        scores = one.get("scores")
        score = f"{scores[one['label']]:.2f}" if scores else ""
        table.add_row(*(score if column == "score" else escape(one[column]) for column in columns))
    stdout().print(table)
    promised = [guarantee["words"] for guarantee in result["guarantees"].values()]
    for words in (
        *promised,
        f"The ledger has {result['draws']} draws now, and counts all as if they were of one text or recording.",
    ):
        stderr().print(words, soft_wrap=True, markup=False)


def _recordings(path: Path) -> list[Path]:
    """The recordings of a folder, or a single one."""
    from sordino.data import recordings_in

    return recordings_in(path) if path.is_dir() else [path]


def _texts(text: str) -> list[str]:
    """The lines of a file that are not empty, or the text itself."""
    from sordino.errors import DataError

    try:
        if not Path(text).is_file():
            return [text]
        lines = [line for line in Path(text).read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError:  # too long for a file's name
        return [text]
    except UnicodeDecodeError:
        raise DataError(f"{text} is no text in UTF-8; convert it.") from None
    if not lines:
        raise DataError(f"{text} has no line with text; write one on each line.")
    return lines
