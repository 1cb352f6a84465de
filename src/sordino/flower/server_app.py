"""Flower's server half around ours: a ServerApp whose main is one run."""

from __future__ import annotations

from collections.abc import Callable

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from sordino.flower.settings import FlowerSettings

__all__ = ["make_server_app"]


def make_server_app(serve: Callable[[Grid, FlowerSettings], None]) -> ServerApp:
    """A ServerApp that reads its settings and serves one run.

    Args:
        serve: does all rounds.
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        serve(grid, FlowerSettings.of(context.run_config))

    return app
