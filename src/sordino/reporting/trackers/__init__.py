"""Other programs that show runs, fed from a run folder's records alone."""

from sordino.reporting.trackers.base import TRACKERS, Point, Tracked, Tracker, tracked

__all__ = ["TRACKERS", "Point", "Tracked", "Tracker", "tracked"]
