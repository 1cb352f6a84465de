"""What a run's records say, for people: a page, figures for a paper, and trackers. Nothing here needs torch."""

from sordino.reporting.page import write_report
from sordino.reporting.reading import read_run, read_runs
from sordino.reporting.runs import Run

__all__ = ["Run", "read_run", "read_runs", "write_report"]
