"""TEST-LIN: solve the linear system of a file (SpaceLib User's Manual, §4.3.3).

python linear_system.py [DATA_FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import chasles.interop.spacelib as sl
from chasles.interop.spacelib.linear_systems import LinearSystem

DATA = Path(__file__).parent / "data"


def reduce(system: sl.LinearEquations) -> LinearSystem:
    """Bring A and b into the reduced form."""
    n, m = system.A.shape
    return sl.linear(np.column_stack([system.A, system.b]), n, m + 1, n, m, 1)


def main(data: str | Path = DATA / "INP.DAT") -> None:
    """Print the solution; if there is not exactly one, the reduced form."""
    system = sl.read_linear_system(data)
    n, m = system.A.shape
    sl.printmat("\n Matrix and right-hand side vector\n", np.column_stack([system.A, system.b]), n, m + 1, n, m + 1)
    reduced = reduce(system)
    if n == m == reduced.irank:
        x = np.empty(m)
        x[reduced.ivet] = reduced.H[:, m]
        print("The solution is\n" + " ".join(f"{value:f}" for value in x))
        return
    if n != m:
        print("The number of rows and columns are different")
    print(f"The rank of the matrix is {reduced.irank}\n")
    print(" ".join(f"{unknown:7d}" for unknown in reduced.ivet) + "\n")
    sl.printmat("", reduced.H, n, m + 1, n, m + 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
