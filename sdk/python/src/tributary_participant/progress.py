"""How far a running function is. The function's thread reports; the thread that waits for it sends the report on."""

from __future__ import annotations

import math


class Progress:
    """The newest fraction that a function reported. Older ones are not kept, because callers only show the newest."""

    def __init__(self) -> None:
        self._fraction: float | None = None
        self._taken: float | None = None

    def report(self, fraction: float) -> None:
        if isinstance(fraction, (bool, str, bytes)) or not hasattr(fraction, "__float__") or not math.isfinite(float(fraction)):
            raise ValueError(f"context.progress takes a number from 0 to 1, not {fraction!r}")
        self._fraction = min(1.0, max(0.0, float(fraction)))

    def take(self) -> float | None:
        """The newest fraction if it was not taken before."""
        fraction = self._fraction
        if fraction is None or fraction == self._taken:
            return None
        self._taken = fraction
        return fraction
