"""The iterations for one target as programs: the search for a solution, and the descent where there is none.

The search takes damped steps within limits, and starts afresh where they get stuck. Damping in proportion to the error
does not settle where an error remains; so the descent from the closest configuration raises the damping when a step did
not help and lowers it when it did (Marquardt, An algorithm for least-squares estimation of nonlinear parameters, 1963).
Both run as *solve* kernels: lanes work on different targets, and a lane that is done takes the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function, Layout, floor, trace, where
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.damped_step import DAMPING, clamped, damped_step, limited_step
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.inverse_kinematics.task import Kinematics, PoseWeights
from chasles.mechanics import Mechanics

#: Least damping of the search; see `damped_step.DAMPING`.
LEAST_DAMPING = 1e-9
#: A start is given up after this many steps, or when after `PATIENCE` of them one does not reduce the squared error by
#: the factor `PROGRESS`.
LONGEST_START = 25
PATIENCE = 5
PROGRESS = 0.9
#: A secondary objective is followed until its steps are shorter than `SETTLED`, or for `LONGEST_START` steps; then come
#: up to `LAST_STEPS` for the target alone. It begins to count where the squared error falls below `NEAR`.
SETTLED = 1e-4
LAST_STEPS = 15
NEAR = 1e-2
_FAR = 1e9
#: Most steps of the descent, its first damping, and the factors by which the damping changes.
DESCENT_STEPS = 100
_FIRST_DAMPING, _GROWTH, _SHRINKAGE = 1e-2, 4.0, 0.3
#: A minimum is reached when steps become shorter than this, rad.
_SHORT = 1e-8
#: Length of the last step of Newton's iteration, rad: the derivative of its solution is as exact.
_ISOLATED = 1e-10


@dataclass(frozen=True, eq=False)
class ConfigurationSteps:
    """Configurations (nq,) and the steps (n,) between them.

    Attributes
    ----------
    n, nq
        Lengths of a step and of a configuration.
    places
        Place in a configuration of what each element of a step is added to, (n,), -1 for those that move quaternions;
        None where configurations are vectors.
    integrate
        Configuration after a step from another one; None where it is their sum.
    closes
        Whether it closes loops, or gives NaN where they cannot be closed.
    """

    n: int
    nq: int
    places: NDArray[np.intp] | None = None
    integrate: Callable[[Array, Array], Array] | None = None
    closes: bool = False

    @classmethod
    def of(cls, robot: Mechanics) -> ConfigurationSteps:
        """Steps of a robot."""
        if robot.nq == robot.n:
            return cls(robot.n, robot.n)
        return cls(
            robot.n, robot.nq, joint_limits(robot).places, robot.integrate.specialize(), bool(robot.description.loops)
        )

    def within(self, q: Array, step: Array, lower: Array, upper: Array) -> Array:
        """Configuration after a step, with coordinates that would pass their limits at them."""
        if not self.closes or self.places is None or self.integrate is None:
            return clamped(q + step if self.integrate is None else np.asarray(self.integrate(q, step)), lower, upper)
        has_coordinate, at = (
            self.places >= 0,
            self.places[self.places >= 0],
        )  # the others follow, and may not be moved alone
        step = np.array(step, dtype=object)
        step[has_coordinate] = clamped(q[at] + step[has_coordinate], lower[at], upper[at]) - q[at]
        return np.asarray(self.integrate(q, step))


Objective = Callable[[Array, dict[str, Array]], Array]
"""Direction (n,) in which a secondary objective would move the joints at q, given the arguments of the call."""


class SearchState(NamedTuple):
    """State of the search between two steps.

    Attributes
    ----------
    q
        Configuration to look at, (n,).
    closest
        Configuration with the smallest error so far, (n,).
    smallest
        Squared error of that configuration.
    before
        Squared error of the step before.
    steps
        Number of steps since the last start.
    restarts
        Number of starts after the first.
    """

    q: Any
    closest: Any
    smallest: Any
    before: Any
    steps: Any
    restarts: Any

    @classmethod
    def layout(cls, n: int) -> Layout:
        """Layout of the state of n joints in a vector."""
        return Layout(cls((n,), (n,), (), (), (), ()))

    @classmethod
    def at(cls, q: Array) -> Array:
        """Vector of the state before the first step, from configurations (..., n)."""
        return cls.layout(q.shape[-1]).join(cls(q, q, _FAR, _FAR, 0.0, 0.0))


class DescentState(NamedTuple):
    """State of the descent between two steps: configuration (n,) and damping."""

    q: Any
    damping: Any

    @classmethod
    def layout(cls, n: int) -> Layout:
        """Layout of the state of n joints in a vector."""
        return Layout(cls((n,), ()))

    @classmethod
    def at(cls, q: Array) -> Array:
        """Vector of the state before the first step, from configurations (..., n)."""
        return cls.layout(q.shape[-1]).join(cls(q, _FIRST_DAMPING))


def restart_direction(n: int) -> Array:
    """Fractions of the joints' ranges by which each start differs from the one before.

    Starts k · direction modulo 1 fill the unit cube evenly, at every number of starts (Roberts, The unreasonable
    effectiveness of quasirandom sequences, 2018: powers of the root of x^(n+1) = x + 1).
    """
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (n + 1))
    return root ** -np.arange(1.0, n + 1.0)


def search(
    kinematics: Kinematics,
    task: PoseWeights,
    steps: ConfigurationSteps,
    length: float,
    objective: Objective | None = None,
    parameters: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
) -> Function:
    """Return the solve kernel that searches for one target after another.

    Parameters
    ----------
    kinematics
        Pose and world-aligned Jacobian of the frame at q (n,) and the parameters.
    task
        Components of the error that count.
    steps
        Configurations and steps.
    length
        Size of the robot, m: displacements are compared with angles in this unit.
    objective
        Secondary direction, or None.
    parameters
        Names and shapes of further arguments of the kinematics, so that one program serves a family of robots.

    Returns
    -------
    Function
        (state, T_world_goal, tolerance (angle, distance), lower, upper, first, span, shift, posture, *parameters)
        -> (state, done).
    """
    direction, layout = restart_direction(steps.nq), SearchState.layout(steps.nq)

    def step(
        packed: Array, goal: Array, tolerance: Array, lower: Array, upper: Array, first: Array, span: Real, shift: Real,
        posture: Array, *values: Array,
    ) -> tuple[Any, Any]:  # fmt: skip
        state = layout.split(packed)
        q = state.q
        error = task.error(goal, kinematics(q, *values), length)
        cost = error.twist @ error.twist
        closer = cost < state.smallest
        damping = DAMPING * cost + LEAST_DAMPING
        within = (error.angle <= tolerance[0]) & (error.distance <= tolerance[1])
        if steps.closes:  # a start at random leaves the loops open: the first step, of no length, closes them
            opened = (state.steps < 0.5) & (state.restarts > 0.5)
            closer, within = closer & ~opened, within & ~opened
        worn_out = state.steps >= LONGEST_START
        idle = (state.steps >= PATIENCE) & (cost > PROGRESS * state.before)
        if objective is None:
            dq = limited_step(q, error.jacobian, error.twist, damping, lower, upper, None, steps.places)
            done, stuck = within, worn_out | idle
        else:
            share = where(worn_out, 0.0, NEAR / (NEAR + cost))
            secondary = share * objective(q, {"posture": posture})
            dq = limited_step(q, error.jacobian, error.twist, damping, lower, upper, secondary, steps.places)
            done = within & (worn_out | (dq @ dq <= SETTLED**2))
            stuck = (state.steps >= LONGEST_START + LAST_STEPS) | (idle & (cost > NEAR))
        if steps.closes:
            dq = np.array([where(opened, 0.0, part) for part in dq])
            stuck = stuck | ~(cost < _FAR)  # the loops could not be closed
        give_up = stuck & ~within
        start = (state.restarts + 1.0) * direction + shift
        fresh = first + span * (start - floor(start))
        q_next = where(give_up, fresh, steps.within(q, dq, lower, upper))
        following = SearchState(
            where(done, q, q_next),
            where(closer, q, state.closest),
            where(closer, cost, state.smallest),
            where(give_up, _FAR, cost),
            where(give_up, 0.0, state.steps + 1.0),
            where(give_up, state.restarts + 1.0, state.restarts),
        )
        return layout.join(following), where(done, 1.0, 0.0)

    vector = (steps.nq,)
    inputs = {
        "state": (layout.size,),
        "T_world_goal": (4, 4),
        "tolerance": (2,),
        "lower": vector,
        "upper": vector,
        "first": vector,
        "span": vector,
        "shift": vector,
        "posture": vector,
        **parameters,
    }
    program = trace(step, inputs, name="inverse_kinematics", outputs=["state_next", "done"])
    return Function(program, shape="solve")


def newton(
    robot: Mechanics, kinematics: Kinematics, task: PoseWeights, steps: ConfigurationSteps, length: float
) -> Function:
    """Return the solve kernel (q, T_world_goal[, posture]) -> (q_next, done) of Newton's iteration, without limits.

    Where there are more joints than components that count, the free motion goes to the posture, so that the solution is
    an isolated one: dq = J⁺ (e - J z) + z with z = posture ⊟ q.
    """
    redundant = steps.n > sum(weight > 0.0 for weight in task.weights)

    def step(q: Array, goal: Array, *posture: Array) -> tuple[Array, Any]:
        error = task.error(goal, kinematics(q), length)
        secondary = np.asarray(robot.difference(q, posture[0])) if redundant else None
        dq = damped_step(error.jacobian, error.twist, DAMPING * (error.twist @ error.twist), secondary)
        following = q + dq if steps.integrate is None else np.asarray(steps.integrate(q, dq))
        return following, where(dq @ dq <= _ISOLATED**2, 1.0, 0.0)

    inputs = {"q": (steps.nq,), "T_world_goal": (4, 4), **({"posture": (steps.nq,)} if redundant else {})}
    return Function(trace(step, inputs, name="newton_kinematics", outputs=["q_next", "done"]), shape="solve")


def descent(kinematics: Kinematics, task: PoseWeights, steps: ConfigurationSteps, length: float) -> Function:
    """Return the solve kernel of the descent: (state, T_world_goal, lower, upper) -> (state, done)."""
    layout, vector = DescentState.layout(steps.nq), (steps.nq,)

    def step(packed: Array, goal: Array, lower: Array, upper: Array) -> tuple[Array, Any]:
        q, damping = layout.split(packed)
        error = task.error(goal, kinematics(q), length)
        dq = limited_step(q, error.jacobian, error.twist, damping, lower, upper, None, steps.places)
        trial = steps.within(q, dq, lower, upper)
        new_error = task.error(goal, kinematics(trial), length)
        better = new_error.twist @ new_error.twist < error.twist @ error.twist
        moved = trial - q
        following = DescentState(where(better, trial, q), damping * where(better, _SHRINKAGE, _GROWTH))
        return layout.join(following), where(moved @ moved < _SHORT**2, 1.0, 0.0)

    inputs = {"state": (layout.size,), "T_world_goal": (4, 4), "lower": vector, "upper": vector}
    return Function(trace(step, inputs, name="closest_configuration", outputs=["state_next", "done"]), shape="solve")


def closest_configurations(kernel: Function, q: Array, goals: Array, lower: Array, upper: Array) -> NDArray[np.float64]:
    """Configurations (..., n) downhill from q where the error for targets (..., 4, 4) has a minimum."""
    n = q.shape[-1]
    ended, _, _ = kernel(DescentState.at(q), goals, lower, upper, DESCENT_STEPS)
    closest: NDArray[np.float64] = DescentState.layout(n).split(ended).q
    return closest
