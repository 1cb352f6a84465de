"""Gamma variates from the cryptographic stream, which itself gives uniform and normal numbers only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.privacy.noise import Stream

__all__ = ["gamma"]


def gamma(shape: float, *, size: int, stream: Stream) -> npt.NDArray[np.float64]:
    """Independent Gamma(shape, rate 1) numbers for ``shape >= 1``, exact up to floating point.

    Rejection: with ``a = shape - 1/3`` and ``v = (1 + x / sqrt(9 a))**3`` of a normal x, ``a v`` is kept with probability
    ``exp(x**2 / 2 + a (1 - v + ln v))``; for large shapes nearly all are.

    Shape:
        result: float64 [size]

    Source: Marsaglia and Tsang, A simple method for generating gamma variables, 2000.
    """
    base = shape - 1 / 3
    result = np.empty(size, np.float64)
    filled = 0
    while filled < size:
        wanted = size - filled
        x = stream.normal(wanted)
        v = (1.0 + x / np.sqrt(9.0 * base)) ** 3
        log_v = np.log(np.where(v > 0, v, 1.0))
        log_u = np.log(stream.uniform(wanted) + 2.0**-53)
        kept = v[(v > 0) & (log_u < 0.5 * x**2 + base * (1.0 - v + log_v))]
        result[filled : filled + len(kept)] = base * kept
        filled += len(kept)
    return result
