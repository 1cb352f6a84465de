"""What can go wrong by the user's doing. Every message names the value, the expectation and the remedy."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["BudgetExhausted", "ConfigError", "DataError", "PrivacyError", "SordinoError"]


class SordinoError(Exception):
    """Root of all errors that the command line prints as one line.

    Attributes:
        exit_code: what the process exits with.
    """

    exit_code: ClassVar[int] = 1


class ConfigError(SordinoError):
    """A wrong option, file or argument."""

    exit_code = 2


class DataError(SordinoError):
    """A recording, transcript or manifest that cannot be used."""

    exit_code = 2


class PrivacyError(SordinoError):
    """An operation that would break a guarantee, or a ledger that cannot be trusted."""

    exit_code = 2


class BudgetExhausted(PrivacyError):
    """The next release would spend more than the declared budget."""

    exit_code = 3
