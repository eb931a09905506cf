"""Inverse dynamics of a robot as a C function for a microcontroller.

Writes source and header in single precision, compiles them with the C compiler of this machine if there is one, and
compares the result with Chasles' own.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np

import chasles as ch


def main(folder: str = "exported") -> None:
    """Export the SCARA arm's inverse dynamics with the payload as an argument."""
    arm = ch.load("scara")
    function = arm.inverse_dynamics.specialize(vary=["payload.mass"])
    source, header = function.to_c(precision="float")
    target = Path(folder)
    target.mkdir(exist_ok=True)
    (target / "inverse_dynamics.c").write_text(source)
    (target / "inverse_dynamics.h").write_text(header)
    print(f"operations: {function.program.operation_count}")
    print(f"lines of C: {len(source.splitlines())}")
    print(f"prototype: {next(line for line in header.splitlines() if line.startswith('void'))}")

    compiler = shutil.which("cc")
    if compiler is None:
        print("no C compiler here: nothing compared")
        return
    library = target / "inverse_dynamics.so"
    command = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", "-o", library, target / "inverse_dynamics.c", "-lm"]
    subprocess.run(command, check=True)
    compiled = ctypes.CDLL(str(library.resolve())).inverse_dynamics
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, arm.n)).astype(np.float32)
    mass, tau = np.array([1.5], np.float32), np.empty(arm.n, np.float32)
    compiled(*(ctypes.c_void_p(array.ctypes.data) for array in (q, qd, qdd, mass, tau)))
    expected = function(q, qd, qdd, mass[0])
    print(f"torques in C: {tau.round(3)}")
    print(f"largest relative difference: {np.abs(tau - expected).max() / np.abs(expected).max():.1e}")


if __name__ == "__main__":
    main()
