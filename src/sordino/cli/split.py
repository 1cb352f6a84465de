"""``sordino split``: a large model at its owner's, adapted by clients who keep their text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sordino.cli.console import stderr, stdout

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
    model: Annotated[str, typer.Argument(help="Folder or hub id of a model of Llama's, Qwen's or T5's type.")],
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
    settings: Annotated[
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

    Examples: sordino split serve Qwen/Qwen2-1.5B --keys keys --host 0.0.0.0, sordino split serve model --insecure
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
        limits=build(Limits, parse_overrides(settings or [])),
    )
    counts = host_model(hosting, ready=ready, note=note, with_stdin=with_stdin)
    note(
        f"ended after {counts.total()} calls: {', '.join(f'{n} {code}' for code, n in counts.most_common()) or 'none'}"
    )
