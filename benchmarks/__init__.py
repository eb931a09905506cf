"""Chasles timed beside its peers in one run: ``python -m benchmarks`` from the repository root."""
