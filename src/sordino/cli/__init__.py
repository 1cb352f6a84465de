"""The command line: one file a verb. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import sys

from sordino.errors import SordinoError

__all__ = ["main"]

_INTERRUPTED = 130
"""What shells make of a program that Ctrl-C ended."""


def main() -> None:
    """Entry point: prints a user's mistake as one sentence and exits with its code; ``--debug`` shows the traceback."""
    debug = "--debug" in sys.argv
    try:
        from sordino.cli.app import app  # here, where Ctrl-C is heard while the verbs are still being loaded

        app(args=[argument for argument in sys.argv[1:] if argument != "--debug"])
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except Exception as error:
        if debug:
            raise
        print(f"error: {' '.join(_sentence(error).split())}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code if isinstance(error, SordinoError) else 1)


def _sentence(error: Exception) -> str:
    if isinstance(error, SordinoError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'} cannot be used ({error.strerror or error}); check space and permissions."
    return f"unexpected {type(error).__name__}: {error}; run again with --debug to see where, and please report it."
