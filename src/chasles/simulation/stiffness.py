"""How fast what acts in a plant acts, which limits the steps of an explicit integrator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import warn
from chasles.base.findings import Finding, Rule
from chasles.control.friction_rate import fastest_friction_rate
from chasles.model import Joint
from chasles.simulation.closed_loop import ClosedLoop

#: Classical Runge-Kutta is stable on x' = -a x for a h < 2.785, Euler's methods for a h < 2 (Hairer and Wanner, Solving
#: Ordinary Differential Equations II, section IV.2); the rest is kept for the inertias of other configurations.
_LONGEST = {"rk4": 2.0, "euler": 1.5, "semi-implicit-euler": 1.5}
#: The method for which the joints' friction never acts too fast.
_IMPLICIT_FRICTION = "implicit-friction-euler"
#: Up to this rate times the period the classical method is accurate as well, to a percent of what dies out.
_ACCURATE = 1.0

ACTS_TOO_FAST = Rule(
    "stiff-plant", 1.0, "the method's interval of stability over the rate, with a margin for other configurations",
    "the {acting} at {rate:.3g} 1/s, too fast for steps of {step:g} s: use "
    "integrator=chasles.integrators.Steps('{method}', {enough}) or a stiff one ('rodas5p')", "caution",
)  # fmt: skip
DRY_FRICTION = Rule(
    "dry-friction-jumps", np.nan, "a step across a jump overshoots rest by what the friction does in it",
    "the dry friction of robot '{robot}' jumps at rest, where no step is short enough for '{method}': leave the "
    "integrator out, or choose 'rodas5p'", "caution",
)  # fmt: skip


class StiffnessWarning(UserWarning):
    """Motion, friction, motors or springs are too fast for the integrator's step: results may be wrong or diverge."""


class SamplingWarning(UserWarning):
    """A control law feeds back more than its sample period allows."""


def fastest_rate(loop: ClosedLoop, q: NDArray[np.float64], values: Mapping[str, Any]) -> float:
    """Largest rate, 1/s, of friction, motors, springs and contacts (as if they touched) at a configuration.

    The largest of values that vary counts. Dry friction that jumps at rest has no rate: it does not grow.
    """
    plant, robot = loop.plant, loop.equations.robot
    numbers = {
        name: {
            key: np.max(np.reshape(value, (-1, *effect.parameters[key].shape)), axis=0)
            for key, value in loop.equations.numbers.of(name, values).items()
        }
        for name, effect in plant.effects.items()
    }
    damping = np.zeros(robot.n)
    if plant.friction is not None:
        of = numbers["friction"]
        smooth = of["smoothing_velocity"]
        damping = of["viscous"] + np.where(smooth > 0.0, of["breakaway"] / np.where(smooth > 0.0, smooth, 1.0), 0.0)
    elastic = plant.elastic_joints is not None
    varied = {name: values[name] for name in loop.varied}
    rates = [fastest_friction_rate(robot, q, varied, 0.0 if elastic else damping)]
    if plant.motors is not None and plant.motors.state_size:
        rates.append(plant.motors.fastest_rate(numbers["motors"]))
    if elastic:
        of = numbers["elastic_joints"]
        mobility = robot.inverse_mass_matrix(q) + np.diag(1.0 / of["rotor_inertia"])
        rates.append(math.sqrt(np.linalg.eigvals(mobility @ np.diag(of["stiffness"])).real.max()))
        rates.append(float(np.linalg.eigvals(mobility @ np.diag(of["damping"])).real.max()))
        rates.append(float(np.max(damping / of["rotor_inertia"])))
    for name, contact in plant.contacts.items():
        of = numbers[name]
        along = (of["normal"] / np.linalg.norm(of["normal"])) @ plant.robot.jacobian(
            q, frame="world-aligned", target=contact.frame
        )[3:]
        mobility_along = float(along @ robot.inverse_mass_matrix(q) @ along)
        if contact.exponent == 1.0:  # others begin softly
            rates += [math.sqrt(mobility_along * of["stiffness"]), mobility_along * float(of["damping"])]
    return max(rates)


def fastest_of(loop: ClosedLoop, q: NDArray[np.float64], values: Mapping[str, Any]) -> tuple[float, str]:
    """Largest rate of what acts in the plant, 1/s, and what it is."""
    if loop.plant.is_robot:
        varied = {name: values[name] for name in loop.varied}
        return fastest_friction_rate(loop.plant.robot, q, varied), "friction"
    return fastest_rate(loop, q, values), "friction, motors, springs or contacts"


def _friction_jumps(loop: ClosedLoop, values: Mapping[str, Any]) -> bool:
    """Whether some dry friction has a direction that jumps at rest."""
    description = loop.plant.robot.description
    for name in description.mimics:
        joint = description.joint(name)

        def given(parameter: str, joint: Joint = joint) -> Any:
            return np.asarray(values.get(f"joints.{joint.name}.{parameter}", getattr(joint, parameter)))

        for kind in ("coulomb", "load"):
            if given(f"{kind}_friction").any() and given(f"{kind}_velocity").min() == 0.0:
                return True
    if loop.plant.friction is None:
        return False
    numbers = loop.equations.numbers.of("friction", values)
    dry = np.asarray(numbers["breakaway"]).reshape(-1, loop.plant.n).max(axis=0) > 0.0
    sharp = np.asarray(numbers["smoothing_velocity"]).reshape(-1, loop.plant.n).min(axis=0) == 0.0
    return bool((dry & sharp).any())


def is_stiff(loop: ClosedLoop, q: NDArray[np.float64], values: Mapping[str, Any]) -> bool:
    """Whether something acts too fast for one step of the classical Runge-Kutta method in a period, or may do so.

    Dry friction that jumps at rest does: a step overshoots the rest by what the friction does to the velocity in it.
    Contacts begin and end, and their friction acts the faster the harder they press.
    """
    if loop.plant.contacts or _friction_jumps(loop, values):
        return True
    rate, _ = fastest_of(loop, q, values)
    return rate * loop.period > _ACCURATE


def stiffness_findings(loop: ClosedLoop, q: NDArray[np.float64], values: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Find, and warn of, an explicit method that is none for what acts in the plant at the start."""
    if isinstance(loop.integrator, str) or loop.integrator.implicit:
        return ()
    robot, method = loop.plant.name, loop.integrator.name
    if loop.substeps is None:
        findings = DRY_FRICTION.told(np.nan, robot=robot, method=method) if _friction_jumps(loop, values) else ()
    elif method == _IMPLICIT_FRICTION and loop.plant.is_robot:
        return ()
    else:
        rate, what = fastest_of(loop, q, values)
        step, longest = loop.period / loop.substeps, _LONGEST.get(method, 1.5)
        findings = ACTS_TOO_FAST.above(
            rate * step / longest,
            acting=f"{what} of robot '{robot}' {'acts' if what == 'friction' else 'act'}",
            rate=rate,
            step=step,
            method=method,
            enough=math.ceil(rate * loop.period / longest),
        )
    if findings:
        warn(str(findings[0]), StiffnessWarning)
    return findings
