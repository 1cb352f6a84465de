"""What people see of a finished run, one file a task."""

from sordino.reporting.summaries.base import SUMMARIES, Summariser, Summary, summarise

__all__ = ["SUMMARIES", "Summariser", "Summary", "summarise"]
