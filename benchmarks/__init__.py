"""Accuracy and speed, ours beside a stored anchor. Run with ``python -m benchmarks`` (see README.md here)."""
