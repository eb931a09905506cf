"""Derivatives of programs, as programs: rules in `partials`, the two sweeps in `accumulation`, choice in `sparsity`.

Adjoints of loops are in `scans` and `solves`.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
