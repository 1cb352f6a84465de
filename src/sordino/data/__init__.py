"""Speech data."""
