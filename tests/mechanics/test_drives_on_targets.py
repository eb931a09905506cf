"""Friction of the load, transitions, position torques and coupled drives on every target of programs."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import sympy
from tests.engine.run_wasm import Loaded
from tests.mechanics.test_to_c import called, compiled
from tests.oracles.drives import drives, written_out

ARM = drives()
Q, QD, QDD = np.random.default_rng(0).normal(size=(3, 2))
TAU = written_out(Q, QD, QDD)


def test_machine_code_and_numpy() -> None:
    np.testing.assert_allclose(ARM.inverse_dynamics(Q, QD, QDD), TAU, rtol=1e-12)
    np.testing.assert_allclose(ARM.forward_dynamics(Q, QD, TAU), QDD, rtol=1e-9)


def test_c(tmp_path: Path) -> None:
    ARM.to_c(tmp_path, ["inverse_dynamics", "forward_dynamics"])
    library: ctypes.CDLL = compiled(tmp_path, "planar2r")
    np.testing.assert_allclose(called(library.inverse_dynamics, [Q, QD, QDD], (2,)), TAU, rtol=1e-12)
    np.testing.assert_allclose(called(library.forward_dynamics, [Q, QD, TAU], (2,)), QDD, rtol=1e-9)


def test_webassembly() -> None:
    for computation, given, expected in (
        (ARM.inverse_dynamics, (Q, QD, QDD), TAU),
        (ARM.forward_dynamics, (Q, QD, TAU), QDD),
    ):
        program = computation.specialize().to_wasm()
        (name,) = program.kernels
        (result,) = Loaded(program).call(name, *(np.array(x)[None] for x in given))
        np.testing.assert_allclose(result[0], expected, rtol=1e-9)


def test_sympy() -> None:
    formulas = ARM.inverse_dynamics.specialize().to_sympy()
    symbols = {f"{name}{k}": float(x[k]) for name, x in (("q", Q), ("qd", QD), ("qdd", QDD)) for k in range(2)}
    values = {sympy.Symbol(name, real=True): value for name, value in symbols.items()}
    column = np.array(formulas.subs(values).evalf(), dtype=np.float64).ravel()
    np.testing.assert_allclose(column, TAU, rtol=1e-12)
