"""Recordings in, mono 16 kHz samples out, whatever their rate, channel count and format."""

from __future__ import annotations

from typing import Final

__all__ = ["SAMPLE_RATE_HZ"]

SAMPLE_RATE_HZ: Final = 16_000
"""What every model here listens at, in Hz."""
