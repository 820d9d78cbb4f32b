"""How fast something went."""

from __future__ import annotations

__all__ = ["per_second"]


def per_second(n: int, seconds: float) -> float:
    """Items in a second, to one digit: what every ``evaluate`` reports as its speed."""
    return round(n / max(seconds, 1e-9), 1)
