"""The wire between a client and the owner of a large model: gRPC with safetensors; needs the extra ``split``."""

import os
from importlib.util import find_spec

from sordino.errors import ConfigError

if find_spec("grpc") is None:
    raise ConfigError("split learning over a wire needs gRPC; install it with: pip install 'sordino[split]'.")

# Whatever gRPC has to say comes back as a status; its own lines would stand beside the sentence that is made of it.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

from sordino.split.wire.connection import Endpoint, ServerRefused, ServerUnreachable
from sordino.split.wire.limits import Limits
from sordino.split.wire.remote import RemoteStates
from sordino.split.wire.traffic import Traffic

__all__ = ["Endpoint", "Limits", "RemoteStates", "ServerRefused", "ServerUnreachable", "Traffic"]
