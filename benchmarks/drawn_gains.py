"""Arms with stiff friction under drawn gains and periods: runs with default steps beside much finer ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tests.oracles.drawn_gains import ARMS, drawn_runs

from benchmarks.tables import Table

PERIODS, RUNS = 5, 100
FAST = 100.0  # rad/s, of joints on their way to divergence


def tables() -> Iterator[Table]:
    """The table of this section."""
    table = Table(
        f"Stiff friction, computed torque, {2 * PERIODS * RUNS:,} drawn gains and periods an arm, no effort limits",
        ("arm", "friction", "diverge", "finer ones", "only here", "median", "largest below 100 rad/s", "largest"),
        notes=[
            "Viscous and Coulomb friction of at least 1 N·m·s/rad and 1 N·m, smooth below 0.05 rad/s or sticking. "
            "Periods of 1 to 10 ms, natural frequencies of 2 rad/s to 1.5 / period, damping ratios of 0.2 to 2, 0.2 s.",
            "Finer: error tolerances of 1e-8 and 1e-10 instead of the default ones. Then: difference of the pairs that "
            "do not diverge, rad. Runs beyond 100 rad/s are on their way to divergence: what differs grows with them.",
        ],
    )
    for name in ARMS:
        for friction, velocity in {"smooth": 0.05, "sticking": 0.0}.items():
            drawn = drawn_runs(name, velocity, PERIODS, RUNS, seed=1)
            kept = np.isfinite(drawn.apart)
            apart, tame = drawn.apart[kept], drawn.apart[kept & (drawn.fastest < FAST)]
            counts = (drawn.coarse.sum(), drawn.fine.sum(), (drawn.coarse & ~drawn.fine).sum())
            sizes = (np.median(apart), tame.max(), apart.max())
            table.add(name, friction, *map(str, counts), *(f"{size:.0e}" for size in sizes))
    yield table
