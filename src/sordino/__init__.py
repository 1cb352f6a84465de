"""sordino: adapt speech and language models to private data, and say truthfully how private that was."""

from sordino.errors import BudgetExhausted, ConfigError, DataError, PrivacyError, SordinoError

__all__ = ["BudgetExhausted", "ConfigError", "DataError", "PrivacyError", "SordinoError", "__version__"]

__version__ = "0.1.0.dev0"
