"""A function may be called for the first time by several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from chasles.engine import Function, sin, trace


def test_first_calls_at_the_same_time() -> None:
    """The machine code of whoever compiled first must not go when another has compiled, too."""
    x = np.linspace(0.0, 1.0, 20_000)
    barrier = Barrier(8)

    def call(function: Function) -> np.ndarray:
        barrier.wait()
        return np.asarray([function(x) for _ in range(5)])

    with ThreadPoolExecutor(8) as pool:
        for k in range(12):
            function = Function(trace(lambda x, k=k: sin(x) * (k + 0.5), {"x": ()}, name=f"wave{k}"))
            for found in pool.map(call, [function] * 8):
                np.testing.assert_allclose(found, np.tile(np.sin(x) * (k + 0.5), (5, 1)), rtol=1e-12)
