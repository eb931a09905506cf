"""Every way to run a program gives the same numbers, on random programs that use every operation."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from tests.engine.random_programs import (
    STEPS,
    build,
    folded,
    interpret,
    programs,
    safe_inputs,
    true_jacobian,
    true_values,
)

from chasles.engine import Program
from chasles.engine.derivatives import hessian_vector, jacobian, jvp, vjp
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.targets.numpy import NumpyKernel

_EXAMPLES = settings(max_examples=60)


def _flat(outputs: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([np.reshape(x, -1) for x in (outputs if isinstance(outputs, tuple) else (outputs,))])


def _point(program: Program, seed: int) -> list[np.ndarray[Any, Any]]:
    return [x[0] for x in safe_inputs(program, 1, seed)]


def test_the_generator_uses_every_operation() -> None:
    used = {operation for kind in STEPS for operation in build([(kind, 0, 1, 2)]).operations}
    assert used == set(OPERATIONS)


@given(programs())
@_EXAMPLES
def test_values_agree_with_exact_arithmetic_however_the_program_is_run(program: Program) -> None:
    arguments = _point(program, 1)
    scalars = _flat(tuple(arguments))
    expected = true_values(program, scalars.tolist())
    short = folded(program)
    numpy_table = {name: operation.numpy for name, operation in OPERATIONS.items()}
    ways: dict[str, Any] = {
        "eager": interpret(program, list(scalars), numpy_table),
        "replayed on numbers": program.replay(scalars.tolist()),
        "NumPy target": _flat(NumpyKernel(program)(*arguments)),
        "folded": _flat(NumpyKernel(short)(*arguments)),
        "read back from JSON": _flat(NumpyKernel(Program.from_json(short.to_json()))(*arguments)),
    }
    for way, values in ways.items():
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10, err_msg=way)


@given(programs())
@_EXAMPLES
def test_jacobians_agree_with_differences_of_many_digits(program: Program) -> None:
    arguments = _point(program, 2)
    expected = true_jacobian(program, _flat(tuple(arguments)).tolist())
    for source in (program, folded(program)):
        for mode in ("forward", "reverse", "auto"):
            da_dx, da_dy, db_dx, db_dy = NumpyKernel(jacobian(source, mode=mode))(*arguments)
            computed = np.block([[da_dx, da_dy[:, None]], [db_dx[None, :], np.reshape(db_dy, (1, 1))]])
            np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-9, err_msg=mode)


@given(programs())
@_EXAMPLES
def test_directional_and_adjoint_derivatives_are_products_with_the_jacobian(program: Program) -> None:
    arguments = _point(program, 3)
    matrix = true_jacobian(program, _flat(tuple(arguments)).tolist())
    source = np.random.default_rng(4)
    direction = [source.normal(size=a.shape) for a in program.inputs]
    adjoint = [source.normal(size=a.shape) for a in program.outputs]
    forward = _flat(NumpyKernel(jvp(program))(*arguments, *direction))
    np.testing.assert_allclose(forward, matrix @ _flat(tuple(direction)), rtol=1e-9, atol=1e-9)
    backward = _flat(NumpyKernel(vjp(program))(*arguments, *adjoint))
    np.testing.assert_allclose(backward, _flat(tuple(adjoint)) @ matrix, rtol=1e-9, atol=1e-9)


@given(programs(max_steps=8))
@settings(max_examples=25)
def test_hessian_times_vector_agrees_with_differences_of_the_gradient(program: Program) -> None:
    scalar = Program(
        "scalar", program.inputs, program.outputs[1:], program.instructions, program.results[-1:], program.programs
    )
    arguments = _point(program, 5)
    direction = [np.random.default_rng(6).normal(size=a.shape) for a in program.inputs]
    gradient = jacobian(scalar, mode="forward")
    expected = true_jacobian(gradient, _flat(tuple(arguments)).tolist()) @ _flat(tuple(direction))
    computed = _flat(NumpyKernel(hessian_vector(scalar))(*arguments, *direction))
    np.testing.assert_allclose(computed, expected, rtol=1e-8, atol=1e-8)
