"""Formulas of robots with symbols in their table: textbook results, and numbers after substitution."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import sympy

import chasles as ch
from chasles.base.errors import ModelError

l1, l2, m1, m2, I1, I2, r1, r2, g = sympy.symbols("l1 l2 m1 m2 I1 I2 r1 r2 g")


def test_the_planar_arm_has_the_textbook_mass_matrix() -> None:
    """Murray, Li & Sastry 1994, chapter 4: α + 2 β cos q1, δ + β cos q1, δ."""
    rows = [
        {"a": l1, "mass": m1, "center_of_mass": [r1 - l1, 0, 0], "inertia": [0, 0, I1]},
        {"a": l2, "mass": m2, "center_of_mass": [r2 - l2, 0, 0], "inertia": [0, 0, I2]},
    ]
    M = ch.SymbolicRobot.from_dh(rows, gravity=[0, -g, 0]).mass_matrix([0, sympy.pi / 3])
    alpha, beta, delta = I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2), m2 * l1 * r2 / 2, I2 + m2 * r2**2
    wanted = sympy.Matrix([[alpha + 2 * beta, delta + beta], [delta + beta, delta]])
    assert sympy.expand(sympy.nsimplify(sympy.Matrix(M) - wanted, rational=True)) == sympy.zeros(2)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_numbers_in_place_of_symbols_give_the_robot_of_numbers(convention: Literal["standard", "modified"]) -> None:
    numbers: dict[Any, float] = dict(zip((l1, l2, m1, m2, r1, g), (0.4, 0.3, 2.0, 1.5, 0.7, 9.0), strict=True))
    rows: list[dict[str, Any]] = [
        {"a": l1, "alpha": r1, "d": l2, "mass": m1, "center_of_mass": [0.1, 0, l2], "inertia": [0.1, 0.2, 0.2]},
        {"kind": "prismatic", "alpha": -r1, "offset": l1, "mass": m1 * m2, "viscous_friction": m1},
    ]
    symbolic = ch.SymbolicRobot.from_dh(rows, convention=convention, gravity=[0, g, 0])
    plain = [{key: value_of(value, numbers) for key, value in row.items()} for row in rows]
    robot = ch.Robot.from_dh(plain, convention=convention, gravity=[0.0, 9.0, 0.0], check=False)
    state = np.random.default_rng(0).normal(size=(3, 2))
    torque = symbolic.inverse_dynamics(*(list(part) for part in state))
    found = sympy.lambdify(list(numbers), list(torque))(*numbers.values())
    assert np.allclose(found, robot.inverse_dynamics(*state), rtol=1e-12)
    T = np.array(symbolic.forward_kinematics(list(state[0])).subs(numbers), dtype=float)
    assert np.allclose(T, robot.forward_kinematics(state[0]), atol=1e-12)


def value_of(value: Any, numbers: dict[Any, float]) -> Any:
    if isinstance(value, list):
        return [value_of(part, numbers) for part in value]
    return float(value.subs(numbers)) if isinstance(value, sympy.Basic) else value


@pytest.mark.parametrize("row", [{"a": l1}, {"mass": m1 * l1}, {"center_of_mass": [0.0, l1, 0.0]}])
def test_a_robot_of_numbers_names_the_one_that_takes_symbols(row: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=r"DH row 2: .* is .*l1.*ch\.SymbolicRobot\.from_dh"):
        ch.Robot.from_dh([{"a": sympy.pi}, row])
    with pytest.raises(ModelError, match=r"^gravity is .*ch\.SymbolicRobot\.from_dh"):
        ch.Robot.from_dh([{"a": 1.0}], gravity=[0.0, -g, 0.0])


def test_bad_input_is_answered() -> None:
    with pytest.raises(ModelError, match="DH row 2: with symbols in the modified convention"):
        ch.SymbolicRobot.from_dh([{"a": l1}, {"alpha": r1, "theta": r2}], convention="modified")
    with pytest.raises(ModelError, match="DH row 1"):
        ch.SymbolicRobot.from_dh([{"a": l1, "length": 3.0}])
    arm = ch.SymbolicRobot.from_dh([{"a": l1, "mass": m1}])
    with pytest.raises(AttributeError, match="formulas only"):
        arm.random_configuration(0)
    with pytest.raises(TypeError, match="mass_matrix takes q; 2 arguments"):
        arm.mass_matrix([0], [1])


def test_completion_offers_the_computations() -> None:
    arm = ch.SymbolicRobot.from_dh([{"a": 1.0}])
    assert {"mass_matrix", "gravity_torque", "forward_kinematics", "n"} <= set(dir(arm))
    assert "save" not in dir(arm)


def test_gravity_is_that_of_every_robot() -> None:
    rows = [{"a": 1.0, "mass": 2.0, "alpha": 1.5707963267948966}, {"a": 1.0, "mass": 1.0}]
    formula = ch.SymbolicRobot.from_dh(rows).gravity_torque()
    numbers = ch.Robot.from_dh(rows).gravity_torque([0.3, 0.4])
    values = {symbol: {"q0": 0.3, "q1": 0.4}[symbol.name] for symbol in formula.free_symbols}
    np.testing.assert_allclose([float(entry.subs(values)) for entry in formula], numbers, atol=1e-13)
