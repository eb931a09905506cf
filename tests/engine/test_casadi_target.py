"""The CasADi target: values and derivatives of its functions against NumPy, exact arithmetic and closed forms."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import casadi
import numpy as np
import pytest
from tests.engine.random_programs import random_program, safe_inputs, true_jacobian
from tests.oracles.closed_machines import four_bar
from tests.thinning import thinned

import chasles as ch
from chasles import geometry
from chasles.base.errors import ArgumentError, MissingExtraError
from chasles.engine import (
    Argument,
    Function,
    Program,
    absolute,
    atan2,
    floor,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    trace,
    where,
)
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.tracing import call_traced
from chasles.engine.targets.casadi import lower, translations
from chasles.engine.targets.numpy import NumpyKernel, NumpyScan, NumpySolve
from chasles.model import robots

SHIPPED = sorted(file.stem for file in Path(robots.__file__).parent.iterdir() if file.suffix in (".toml", ".urdf"))


def _merged(array: Any) -> Any:
    """Return an array with its leading axes merged, as CasADi's matrices have them."""
    array = np.asarray(array, dtype=float)
    return array.reshape(-1, array.shape[-1]) if array.ndim > 2 else array


def _run(function: Any, arguments: list[Any]) -> list[Any]:
    return [np.array(value) for value in function.call([casadi.DM(_merged(x)) for x in arguments])]


def _agree(program: Program, function: Any, arguments: list[Any], tolerance: float = 1e-13) -> None:
    expected = NumpyKernel(program)(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(_run(function, arguments), expected, strict=True):
        scale = 1.0 + np.abs(theirs).max(initial=0.0)
        np.testing.assert_allclose(ours.reshape(np.shape(theirs)), theirs, rtol=tolerance, atol=tolerance * scale)


def _own_jacobian(function: Any, arguments: list[Any]) -> Any:
    """Return CasADi's derivative of all outputs, in its order of columns, to vectors and numbers, as one matrix."""
    symbols = [casadi.SX.sym(f"s{k}", *np.shape(x)) for k, x in enumerate(arguments)]
    outputs = casadi.vertcat(*map(casadi.vec, function.call(symbols)))
    derivative = casadi.Function("derivative", symbols, [casadi.jacobian(outputs, casadi.vertcat(*symbols))])
    return np.array(derivative.call([casadi.DM(x) for x in arguments])[0])


def _operations(function: Any) -> int:
    """Count the operations of a graph without calls: its instructions but those that move values."""
    moves = (casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST)
    return sum(function.instruction_id(k) not in moves for k in range(function.n_instructions()))


def _choices(program: Program) -> int:
    """Return the operations that CasADi, which has no choice between two values, needs besides.

    A choice is the sum of two values of which one is 0, by a condition and its negation; a minimum is NaN by tests of
    both operands.
    """
    count = program.operations.get
    conditions = sum(count(name, 0) for name in ("less", "less_equal", "equal", "both", "either", "negated"))
    return 2 * count("where", 0) + conditions + 5 * (count("minimum", 0) + count("maximum", 0))


def test_every_operation_is_translated() -> None:
    assert translations().keys() == OPERATIONS.keys()


@pytest.mark.parametrize("seed", range(16))
def test_random_programs_have_the_right_values_and_derivatives(seed: int) -> None:
    program = random_program(seed, calls=seed % 2 == 0)
    x, y = (argument[0] for argument in safe_inputs(program, 1, seed))
    for symbols in ("SX", "MX"):
        function = lower(Kernel(program), symbols)  # type: ignore[arg-type]
        _agree(program, function, [x, y], 1e-12)
    exact = true_jacobian(program, [*x, y])
    np.testing.assert_allclose(_own_jacobian(lower(Kernel(program)), [x, y]), exact, rtol=1e-9, atol=1e-10)


def _special(x: Any) -> Any:
    a, b = x
    pairs = [(a, b), (b, a)]
    rows = [f(u, v) for f in (minimum, maximum, atan2) for u, v in pairs]
    tests = [where((u < v) & ~(u == v) | (v <= u), 1.0, 2.0) for u, v in pairs]
    # CasADi would write 1, x, a, a and 1 for these by itself.
    vanishing = [a / a, sqrt(a) * sqrt(a), a + b - b, a * b / b, where(a == a, 1.0, 0.0), where(a <= a, 1.0, 0.0)]
    powers = [a**b, a**3, a**-2.5, a**0.5, a / 0, sqrt(a), sqrt(a * a)]
    choices = [where(a < 0, np.nan, 1), b * where(a < 0, a, 0.0), b * where(a < 0, 0.0, 1.0), maximum(a, np.nan)]
    limits = [minimum(a, 1.0), maximum(maximum(a, 0.5), b)]
    return np.array([*rows, *tests, *vanishing, *powers, *choices, *limits, sign(a), floor(a), -a, np.inf * a])


def test_special_numbers() -> None:
    program = trace(_special, {"x": (2,)}, name="special")
    function, kernel = lower(Kernel(program)), NumpyKernel(program)
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    for a in numbers:
        for b in numbers:
            (ours,) = _run(function, [[a, b]])
            np.testing.assert_allclose(ours.ravel(), kernel([a, b]), rtol=1e-14, err_msg=str((a, b)))


def test_a_branch_that_is_not_taken_leaves_no_nan_in_derivatives() -> None:
    safe_root = Function(trace(lambda x: where(x > 0.0, sqrt(x), 0.0), {"x": ()})).to_casadi()
    assert _own_jacobian(safe_root, [0.0]) == 0.0
    # Rotations by small vectors v are 1 + skew(v), whose formula divides by the length of v.
    derivative = _own_jacobian(geometry.exp_rotation.to_casadi(), [np.zeros(3)])
    for axis, column in zip(np.eye(3), derivative.T, strict=True):
        np.testing.assert_array_equal(column.reshape(3, 3).T @ [1.0, 2.0, 3.0], np.cross(axis, [1.0, 2.0, 3.0]))


@pytest.mark.parametrize("name", thinned(SHIPPED, keep=24))
def test_shipped_robots(name: str) -> None:
    robot = ch.load(name)
    functions: list[Any] = [robot.forward_kinematics, robot.jacobian.specialize(frame="space")]
    has_masses = any(link.inertia.mass > 0.0 for link in robot.description.links)
    if has_masses:
        functions += [robot.inverse_dynamics, robot.forward_dynamics, robot.mass_matrix]
    source = np.random.default_rng(3)
    state = {"q": robot.random_configuration(source)}
    for f in functions:
        arguments = [state.get(a.name, source.normal(size=a.shape)) for a in f.program.inputs]
        function = f.to_casadi()
        _agree(f.program, function, arguments, 1e-12)
        assert function.name_in() == [a.name for a in f.program.inputs]
        if not f.program.programs:
            assert _operations(function) <= 1.02 * f.program.operation_count + _choices(f.program)
    if has_masses:
        arguments = [state["q"], *source.normal(size=(2, robot.n))]
        ours = np.hstack([np.reshape(J, (robot.n, -1)) for J in robot.inverse_dynamics.jacobian()(*arguments)])
        theirs = _own_jacobian(robot.inverse_dynamics.to_casadi(), arguments)
        np.testing.assert_allclose(theirs, ours, rtol=1e-10, atol=1e-10 * np.abs(ours).max())


@pytest.mark.parametrize("name", ["log_rotation", "norm", "quaternion_from_rotation", "intersect_planes"])
def test_choices_take_two_more_operations_and_one_for_each_condition(name: str) -> None:
    function: Function = getattr(geometry, name)
    assert function.program.operations["where"] > 5
    assert _operations(function.to_casadi()) <= function.program.operation_count + _choices(function.program)


def test_a_panda_is_exported_within_a_tenth_of_a_second() -> None:
    dynamics = ch.load("panda").forward_dynamics
    assert dynamics.program.operation_count > 1000
    dynamics.to_casadi()
    start = time.process_time()
    dynamics.to_casadi()
    assert time.process_time() - start < 0.1


def test_calls_stay_calls() -> None:
    inner = trace(lambda x, y: (sin(x) * y, x + y), {"x": (), "y": ()}, name="inner")

    def outer(a: Any) -> Any:
        first = call_traced(inner, [a[0], a[1]], inline=False)
        second = call_traced(inner, [first[0], first[1]], inline=False)
        return second[0] * second[1]

    function = lower(Kernel(trace(outer, {"a": (2,)})))
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    assert kinds.count(casadi.OP_CALL) == 2
    assert casadi.OP_SIN not in kinds
    a, b = 0.4, 1.3
    x, y = np.sin(a) * b, a + b
    assert float(function([a, b])) == pytest.approx(np.sin(x) * y * (x + y), rel=1e-15)
    # d/da by the chain rule
    dx, dy = np.cos(a) * b, 1.0
    slope = np.cos(x) * dx * y * (x + y) + np.sin(x) * dy * (x + y) + np.sin(x) * y * (dx + dy)
    assert _own_jacobian(function, [np.array([a, b])])[0, 0] == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("symbols", [None, "SX"])
@pytest.mark.parametrize(("steps", "substeps"), [(1, 1), (5, 1), (4, 2), (3, 4)])
def test_loops_over_time(symbols: Any, steps: int, substeps: int) -> None:
    def step(state: Any, u: Any, k: Any) -> Any:
        following = np.array([state[0] + 0.1 * state[1] * u[1], state[1] - 0.1 * k * sin(state[0]) + u[0]])
        return following, state[0] * u[0], np.array([[state[0], state[1], k], [u[0], u[1], 1.0]])

    program = trace(step, {"state": (2,), "u": (2,), "k": ()}, outputs=["state", "y", "Y"])
    source = np.random.default_rng(0)
    arguments = [source.normal(size=2), source.normal(size=(steps, substeps, 2)), 1.3]
    function = lower(Kernel(program, "scan"), symbols, steps=steps, substeps=substeps)
    assert function.name_in() == ["state", "u", "k"]
    assert function.name_out() == ["state_", "y", "Y"]
    for ours, theirs in zip(_run(function, arguments), NumpyScan(program)(*arguments), strict=True):
        np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, rtol=1e-14)


def test_long_loops_are_not_unrolled() -> None:
    """Ten times as many steps call the same functions from one more."""
    program = trace(lambda x, u: (x + 0.1 * sin(x) + u, x[0]), {"x": (1,), "u": ()})

    def instructions(steps: int) -> int:
        loop = lower(Kernel(program, "scan"), steps=steps)
        return int(sum(f.n_instructions() for f in [loop, *loop.find_functions()]))

    assert instructions(10_000) - instructions(1000) == instructions(1000) - instructions(100) < 100


def test_the_derivative_of_a_loop_is_the_power_of_its_step() -> None:
    A = np.array([[1.0, 0.1], [-0.2, 0.97]])
    program = trace(lambda x, t: (A @ x + np.array([0.0, t]), x[0]), {"x": (2,), "t": ()})
    function = lower(Kernel(program, "scan"), steps=30)
    x, t = casadi.MX.sym("x", 2), casadi.MX.sym("t", 30)
    derivatives = casadi.Function("d", [x, t], [casadi.jacobian(function(x, t)[0], v) for v in (x, t)])
    to_state, to_input = map(np.array, derivatives(np.ones(2), np.zeros(30)))
    np.testing.assert_allclose(to_state, np.linalg.matrix_power(A, 30), rtol=1e-13)
    np.testing.assert_allclose(to_input[:, 3], np.linalg.matrix_power(A, 26)[:, 1], rtol=1e-13)


@pytest.mark.parametrize("symbols", [None, "SX"])
def test_iterations_stop_where_their_condition_holds(symbols: Any) -> None:
    def heron(x: Any, a: Any) -> Any:
        new = (x + a / x) / 2
        return new, where(absolute(new - x)[0] < 1e-9, 1.0, 0.0)

    program = trace(heron, {"x": (1,), "a": ()}, outputs=["x", "done"])
    function = lower(Kernel(program, "solve"), symbols, steps=30)
    for a in (1.0, 9.0, 1e6):
        root, iterations, done = _run(function, [1.0, a])
        expected = NumpySolve(program)([1.0], a, 30)
        assert [root, iterations, done] == [expected[0], expected[1], expected[2]]
    assert float(lower(Kernel(program, "solve"), steps=2)(1.0, 9.0)[2]) == 0.0
    x, a = (casadi.MX if symbols is None else casadi.SX).sym("x"), casadi.MX.sym("a")
    if symbols is None:
        slope = casadi.Function("slope", [a], [casadi.jacobian(function(1.0, a)[0], a)])
        assert float(slope(9.0)) == pytest.approx(1.0 / 6.0, rel=1e-12)
    assert x.is_symbolic()


def test_quaternions_and_closed_chains() -> None:
    heavy = {"links.link0.mass": 1.0, "links.link0.inertia": np.eye(3)}
    floating = ch.load("planar2r").with_values(heavy).with_free_base()
    for robot in (floating, ch.Robot(four_bar())):
        source = np.random.default_rng(2)
        q = robot.random_configuration(source)
        arguments = [q, *source.normal(size=(2, robot.n))]
        _agree(robot.forward_dynamics.program, robot.forward_dynamics.to_casadi(), arguments, 1e-11)
        _agree(robot.integrate.program, robot.integrate.to_casadi(), arguments[:2], 1e-13)


def test_motions_and_laws() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    evaluated = Function(motion.program).to_casadi().call([0.3, *motion.parameters.values()])
    for ours, theirs in zip(evaluated, motion(0.3), strict=False):  # and jerk
        np.testing.assert_allclose(np.array(ours).ravel(), theirs, rtol=1e-14)
    law = ch.control.law_program(ch.ComputedTorque(arm, kp=100.0, kd=20.0), motion, period=1e-3)
    q, qd = np.array([0.1, 0.2]), np.array([0.3, -0.1])
    reference = np.concatenate(motion(0.3))
    tau = np.array(Function(law).to_casadi()(0.3, q, qd, reference, [], [])[0]).ravel()
    wanted, wanted_rate, wanted_acceleration = motion(0.3)
    qdd = wanted_acceleration + 100.0 * (wanted - q) + 20.0 * (wanted_rate - qd)
    np.testing.assert_allclose(tau, arm.inverse_dynamics(q, qd, qdd), rtol=1e-12)


def test_shapes_and_empty_arguments() -> None:
    def function(T: Any, x: Any, none: Any, tensor: Any) -> Any:
        return T @ T.T, T @ x, x[0], 2.0 * tensor, none

    program = trace(function, {"T": (2, 3), "x": (3,), "none": (0,), "tensor": (2, 1, 3)})
    source = np.random.default_rng(0)
    for symbols in ("SX", "MX"):
        lowered = lower(Kernel(program), symbols)  # type: ignore[arg-type]
        assert [lowered.size_out(k) for k in range(5)] == [(2, 2), (2, 1), (1, 1), (2, 3), (0, 1)]
        arguments = [source.normal(size=a.shape) for a in program.inputs]
        _agree(program, lowered, arguments, 1e-15)


def test_hostile_names_become_distinct() -> None:
    names = ["a b", "a_b", "a_b_", "jac", "9", "", "θ", "__x", "payload.mass", "x" * 500]
    inputs: dict[str, tuple[int, ...]] = dict.fromkeys(names, ())
    program = trace(lambda *x: sum((k + 1) * xk for k, xk in enumerate(x)), inputs, name="null", outputs=["a_b"])
    function = lower(Kernel(program))
    assert len({*function.name_in(), *function.name_out()}) == len(names) + 1
    assert "payload_mass" in function.name_in()
    assert float(function(*np.arange(10.0))) == np.arange(1.0, 11.0) @ np.arange(10.0)


def test_a_solver_finds_what_inverse_kinematics_finds() -> None:
    arm = ch.load("panda")
    target = arm.forward_kinematics(arm.home + 0.1)
    forward = arm.forward_kinematics.to_casadi()
    q = casadi.SX.sym("q", arm.n)
    problem = {"x": q, "f": casadi.sumsqr(forward(q) - target)}
    solver = casadi.nlpsol("solver", "ipopt", problem, {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"})
    found = np.array(solver(x0=arm.home)["x"]).ravel()
    np.testing.assert_allclose(arm.forward_kinematics(found), target, atol=1e-6)


def test_casadi_simplifies_as_before_an_export() -> None:
    x = casadi.SX.sym("x")
    lower(Kernel(trace(lambda x: x / x, {"x": ()})))
    assert (x / x).is_one()


def test_what_cannot_be_exported_says_why() -> None:
    program = trace(lambda x, t: (x + t, x[0]), {"x": (1,), "t": ()}, name="drift")
    with pytest.raises(
        ArgumentError, match="drift is a scan: give steps, the number of its steps, at least 1; not None"
    ):
        lower(Kernel(program, "scan"))
    with pytest.raises(ArgumentError, match="not 0"):
        lower(Kernel(program, "scan"), steps=0)
    with pytest.raises(ArgumentError, match="drift computes each sample by itself; it takes no steps"):
        lower(Kernel(program), steps=3)
    with pytest.raises(ArgumentError, match="symbols must be 'SX' or 'MX', not 'DM'"):
        Function(program).to_casadi("DM")  # type: ignore[arg-type]
    again = Program(
        "controlled",
        (Argument("x", (1,)), Argument("t", ())),
        (Argument("x", (1,)), Argument("again", ())),
        (("input", 0), ("constant", 0.0)),
        (0, 1),
    )
    with pytest.raises(ArgumentError, match="controlled repeats steps until an error estimate accepts them"):
        lower(Kernel(again, "scan"), steps=3)


def test_without_casadi_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[casadi\]"'):
        Function(trace(lambda x: x, {"x": ()})).to_casadi()
