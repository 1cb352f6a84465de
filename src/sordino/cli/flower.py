"""``sordino flower``: the same experiment on Flower, simulated or at sites."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from sordino.cli.console import Json, Overrides, print_json, stderr, stdout
from sordino.cli.run import experiment_and_folder, show_summary

__all__ = ["app"]

app = typer.Typer(help="Run experiments on Flower, simulated or at sites.", no_args_is_help=True)

_Nodes = typer.Option(
    "--nodes", help="Simulated SuperNodes (one a client if not given); with --superlink, how many to wait for.", min=1
)
_DrawAtNodes = typer.Option(
    "--draw-at-nodes", help="Nodes hold several speakers each, and draw them themselves; needs --superlink."
)


@app.callback()
def _group() -> None:
    pass


@app.command("run")
def run(
    file: Annotated[Path | None, typer.Argument(help="Experiment file; without one, the default job.")] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="Run folder, on the SuperLink's machine; under runs/ if not given.")
    ] = None,
    overrides: Annotated[list[str] | None, Overrides] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the interrupted run in --out.")] = False,
    superlink: Annotated[
        str | None,
        typer.Option("--superlink", help="Run at the sites behind this connection of Flower's config.", metavar="NAME"),
    ] = None,
    nodes: Annotated[int | None, _Nodes] = None,
    draw_at_nodes: Annotated[bool, _DrawAtNodes] = False,
    cpus: Annotated[float, typer.Option("--cpus", help="Simulation: CPUs that one client takes.")] = 1.0,
    gpus: Annotated[float, typer.Option("--gpus", help="Simulation: share of a GPU that one client takes.")] = 0.0,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", help="Seconds that a round waits for answers.", min=0)
    ] = None,
    wait_s: Annotated[float, typer.Option("--wait", help="With --superlink: seconds to wait for the nodes.")] = 300.0,
    as_json: Annotated[bool, Json] = False,
) -> None:
    """Run an experiment on Flower: simulated on this machine, or with --superlink at sites with recordings of their own.

    Examples:
    sordino flower run my.toml --nodes 6
    sordino flower run my.toml --superlink clinic --nodes 2 --draw-at-nodes
    """
    from sordino.errors import ConfigError

    console = stderr()
    experiment, folder = experiment_and_folder(file, out, overrides or [], resume=resume)
    from sordino.experiments.on_flower.launching import Deployment, Simulation, run_on_flower

    where: Simulation | Deployment
    patience = {} if timeout_s is None else {"timeout_s": timeout_s}
    if superlink is not None:
        where = Deployment(
            superlink=superlink, nodes=nodes or 1, draw_at_nodes=draw_at_nodes, wait_s=wait_s, **patience
        )
    elif draw_at_nodes:
        raise ConfigError(
            "--draw-at-nodes without --superlink; a simulation does so by itself with fewer --nodes than clients."
        )
    else:
        where = Simulation(nodes=nodes, cpus=cpus, gpus=gpus, **patience)

    def note(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False)

    try:
        result = run_on_flower(experiment, folder, where=where, resume=resume, note=note)
    except KeyboardInterrupt:
        note(f"interrupted; continue with the same command, --resume and --out {quote(str(folder))}")
        raise typer.Exit(130) from None
    if result is None:
        note(f"the run folder is on the SuperLink's machine: {folder.absolute()}")
        return
    if as_json:
        print_json(result)
    show_summary(console, folder, result)
    note(f"look at {folder / 'report.html'}")


@app.command("app")
def write(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make the app in.")],
    file: Annotated[Path | None, typer.Argument(help="Experiment file; without one, the default job.")] = None,
    *,
    out: Annotated[Path, typer.Option("--out", help="Run folder, on the SuperLink's machine.")] = Path("runs/flower"),
    overrides: Annotated[list[str] | None, Overrides] = None,
    own_recordings: Annotated[
        bool, typer.Option("--own-recordings", help="For SuperNodes that bring their own recordings.")
    ] = False,
    draw_at_nodes: Annotated[
        bool, typer.Option("--draw-at-nodes", help="They draw their speakers themselves.")
    ] = False,
    nodes: Annotated[int, typer.Option("--nodes", help="How many to wait for before the first round.", min=1)] = 1,
) -> None:
    """Make a Flower app of an experiment, which ``flwr run`` runs as it is.

    Example: sordino flower app federation my.toml
    """
    from sordino.config import to_toml
    from sordino.experiments import load_experiment
    from sordino.flower import FlowerSettings
    from sordino.flower.app_folder import write_app

    options = load_experiment(file, overrides or [])
    settings = FlowerSettings(
        experiment=to_toml(options),
        out=str(out.absolute()),
        own_recordings=own_recordings or draw_at_nodes,
        draw_at_nodes=draw_at_nodes,
        nodes=nodes,
    )
    options.on_flower().require(settings)
    write_app(folder, settings, name=f"sordino-{options.name}")
    stdout().print(f"wrote {folder / 'pyproject.toml'} and {folder / 'README.md'}", soft_wrap=True, markup=False)


@app.command("keys")
def keys(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make them in.")],
    *,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", help="Name or address under which sites reach the SuperLink. May be repeated."),
    ] = None,
    nodes: Annotated[
        list[str] | None, typer.Option("--node", help="Make a pair of keys for this node too. May be repeated.")
    ] = None,
    days: Annotated[int, typer.Option("--days", help="How long the certificates are good.")] = 365,
) -> None:
    """Make the certificate of a SuperLink, the authority that SuperNodes check it by, and keys for nodes.

    Example: sordino flower keys keys --host federation.example.org --node clinic-a --node clinic-b
    """
    from sordino.flower.keys import make_keys

    for path in make_keys(folder, hosts=hosts or [], nodes=nodes or [], days=days):
        stdout().print(f"wrote {path}", soft_wrap=True, markup=False)
