"""Flower: the same round, on many machines. The only room that knows Flower; needs the extra ``flower``."""

from importlib.util import find_spec

from sordino.errors import ConfigError

if find_spec("flwr") is None:
    raise ConfigError("Flower is not installed: expected flwr 1.42; install it with: pip install 'sordino[flower]'.")

from flwr.serverapp import Grid

from sordino.flower.client_app import OpensSites, make_client_app
from sordino.flower.cohort import DrawnAtNodes
from sordino.flower.grid import FlowerGrid
from sordino.flower.nodes import Nodes
from sordino.flower.server_app import make_server_app
from sordino.flower.settings import FlowerSettings
from sordino.flower.site import Site, Tries
from sordino.flower.trials import Trial, Tried

__all__ = [
    "DrawnAtNodes",
    "FlowerGrid",
    "FlowerSettings",
    "Grid",
    "Nodes",
    "OpensSites",
    "Site",
    "Trial",
    "Tried",
    "Tries",
    "make_client_app",
    "make_server_app",
]
