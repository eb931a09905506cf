"""One robot given by Mlist, Glist and Slist, with the book's functions compiled for it.

This is the place where the book's conventions meet those of Chasles:

- Ftip acts on the environment, a wrench of `Robot` acts on the robot.
- Screw axes may have any length. A joint variable counts in lengths of its axis, a coordinate of `Robot` in radians or
  metres.
- Each G may be that of a frame which is not at the centre of mass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, ModelError
from chasles.engine import Function, where
from chasles.engine.program.scalar import Real
from chasles.geometry import mass_properties_from_spatial_inertia, project_pose, spatial_inertia
from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.checked import book_program
from chasles.interop.modern_robotics.projections import DistanceToSE3, TestIfSE3
from chasles.model.inertia import Inertia, impossibility
from chasles.model.record import naming
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]
Shapes = dict[str, tuple[int, ...]]
#: An omega below this part of v (rad/m) is what rounding leaves of a prismatic joint's.
_SLIDES = 1e-9
#: Relative rounding errors that an inertia may have.
_ROUNDING = 1e-9


class OpenChain:
    """The robot, and the functions of chapters 8 and 11 of it.

    Parameters
    ----------
    Mlist, Glist, Slist
        Arrays of shape (n + 1, 4, 4), (n, 6, 6) and (6, n).

    Raises
    ------
    ArgumentError
        They are no robot: the message names the list, the index and the reason.

    Attributes
    ----------
    robot
        The same as a `Robot`, whose coordinates are ``scale`` times the joint variables.
    scale
        Length of the part of each screw axis that must be a unit vector, (n,).
    """

    def __init__(self, Mlist: FloatArray, Glist: FloatArray, Slist: FloatArray) -> None:
        self.n = Slist.shape[1]
        columns = [_normalized(axis, index) for index, axis in enumerate(Slist.T)]
        axes, self.scale = np.array([axis for axis, _ in columns]).T, np.array([length for _, length in columns])
        frames = np.array([_pose(M, index) for index, M in enumerate(Mlist)])
        try:
            inertias = [_inertia(G, index) for index, G in enumerate(Glist)]
            massless = Robot.from_screws(Slist=axes, Mlist=frames, check=False)
            base, *links = massless.description.links
            loaded = [link.replace(inertia=inertia) for link, inertia in zip(links, inertias, strict=True)]
            self.robot = Robot(massless.description.replace(links=(base, *loaded)))
        except ModelError as error:
            raise ArgumentError(f"Mlist, Glist and Slist are no robot: {error}") from None

    def joint_forces(
        self, theta: Array, rate: Array, acceleration: Array, g: Array, Ftip: Array | None = None
    ) -> Array:
        """Joint forces of a motion under gravity g, while the tip applies Ftip; on traced scalars."""
        k = self.scale
        wrenches = {} if Ftip is None else {"tool": -Ftip}
        compute = self.robot.inverse_dynamics.specialize(vary=["gravity"], wrenches=list(wrenches))
        tau: Array = k * compute(k * theta, k * rate, k * acceleration, g, *wrenches.values())
        return tau

    def accelerations(self, theta: Array, rate: Array, tau: Array, g: Array, Ftip: Array) -> Array:
        """Joint accelerations under joint forces and gravity, while the tip applies Ftip; on traced scalars."""
        k = self.scale
        compute = self.robot.forward_dynamics.specialize(vary=["gravity"], wrenches=["tool"])
        acceleration: Array = compute(k * theta, k * rate, tau / k, g, -Ftip) / k
        return acceleration

    @cached_property
    def inverse_dynamics(self) -> Function:
        """(thetalist, dthetalist, ddthetalist, g, Ftip) -> taulist."""
        names = ("thetalist", "dthetalist", "ddthetalist")
        return self.program("InverseDynamics", self.joint_forces, *names, g=(3,), Ftip=(6,))

    @cached_property
    def forward_dynamics(self) -> Function:
        """(thetalist, dthetalist, taulist, g, Ftip) -> ddthetalist."""
        names = ("thetalist", "dthetalist", "taulist")
        return self.program("ForwardDynamics", self.accelerations, *names, g=(3,), Ftip=(6,))

    @cached_property
    def mass_matrix(self) -> Function:
        """(thetalist) -> M."""

        def formula(theta: Array) -> Any:
            M = self.robot.mass_matrix.specialize()(self.scale * theta)
            return np.outer(self.scale, self.scale) * M

        return self.program("MassMatrix", formula, "thetalist")

    @cached_property
    def velocity_quadratic_forces(self) -> Function:
        """(thetalist, dthetalist) -> c."""

        def formula(theta: Array, rate: Array) -> Any:
            return self.scale * self.robot.coriolis_vector.specialize()(self.scale * theta, self.scale * rate)

        return self.program("VelQuadraticForces", formula, "thetalist", "dthetalist")

    @cached_property
    def gravity_forces(self) -> Function:
        """(thetalist, g) -> grav."""

        def formula(theta: Array, g: Array) -> Any:
            return self.scale * self.robot.gravity_torque.specialize(vary=["gravity"])(self.scale * theta, g)

        return self.program("GravityForces", formula, "thetalist", g=(3,))

    @cached_property
    def end_effector_forces(self) -> Function:
        """(thetalist, Ftip) -> JTFtip."""

        def formula(theta: Array, Ftip: Array) -> Any:
            Jb = self.robot.jacobian.specialize(frame="body")(self.scale * theta)
            return self.scale * (Jb.T @ Ftip)

        return self.program("EndEffectorForces", formula, "thetalist", Ftip=(6,))

    @cached_property
    def computed_torque(self) -> Function:
        """(thetalist, dthetalist, eint, g, thetalistd, dthetalistd, ddthetalistd, Kp, Ki, Kd) -> taulist."""
        vector = (self.n,)
        inputs: Shapes = {"thetalist": vector, "dthetalist": vector, "eint": vector, "g": (3,), "thetalistd": vector}
        inputs |= {"dthetalistd": vector, "ddthetalistd": vector, "Kp": vector, "Ki": vector, "Kd": vector}
        return book_program("ComputedTorque", self.control, inputs)

    def control(
        self,
        theta: Array,
        rate: Array,
        eint: Array,
        g: Array,
        theta_d: Array,
        rate_d: Array,
        ddtheta_d: Array,
        *gains: Array,
    ) -> Array:
        """Joint forces of the book's computed-torque controller; on traced scalars."""
        Kp, Ki, Kd = gains
        e = theta_d - theta
        feedback = Kp * e + Ki * (eint + e) + Kd * (rate_d - rate)
        return self.joint_forces(theta, rate, ddtheta_d + feedback, g)

    @cached_property
    def motion(self) -> Function:
        """Scan of Euler steps: (state, rows of tau and Ftip, g, step) -> (last state, states at the rows)."""
        n = self.n

        def step(state: Array, row: Array, g: Array, dt: Real) -> Any:
            return self.euler_step(state, row[:n], g, row[n:], dt), state

        inputs: Shapes = {"state": (2 * n,), "rows": (n + 6,), "g": (3,), "dt": ()}
        outputs = ["state_next", "states"]
        return book_program("ForwardDynamicsTrajectory", step, inputs, outputs, shape="scan")

    def euler_step(self, state: Array, tau: Array, g: Array, Ftip: Array, step: Real) -> Array:
        """Joint variables and rates after a step of Euler's method, as `EulerStep` makes it; on traced scalars."""
        theta, rate = state[: self.n], state[self.n :]
        acceleration = self.accelerations(theta, rate, tau, g, Ftip)
        return np.concatenate([theta + step * rate, rate + step * acceleration])

    def program(
        self, name: str, formula: Callable[..., Any], *joint_vectors: str, **others: tuple[int, ...]
    ) -> Function:
        """Compile a formula of joint vectors (n,), and of other arrays after them."""
        return book_program(name, formula, dict.fromkeys(joint_vectors, (self.n,)) | others)


def controlled_motion(plant: OpenChain, model: OpenChain) -> Function:
    """Scan of Euler steps under the computed torque of a model that may differ from the plant.

    (state, rows of the desired motion and Ftip, g, gtilde, Kp, Ki, Kd, dt, intRes) -> (last state, states and torques
    at the rows). The state holds joint variables, rates, integral of the error, the torque that is held through a row,
    and the number of steps made in the row.
    """
    n = plant.n

    def step(
        state: Array, row: Array, g: Array, gtilde: Array, Kp: Array, Ki: Array, Kd: Array, dt: Real, intRes: Real
    ) -> Any:
        theta, rate, eint, held = state[:n], state[n : 2 * n], state[2 * n : 3 * n], state[3 * n : 4 * n]
        count = state[4 * n]
        desired = row[:n], row[n : 2 * n], row[2 * n : 3 * n]
        tau = where(count <= 0.0, model.control(theta, rate, eint, gtilde, *desired, Kp, Ki, Kd), held)
        moved = plant.euler_step(state[: 2 * n], tau, g, row[3 * n :], dt / intRes)
        row_ends = count + 1.0 >= intRes
        eint = where(row_ends, eint + dt * (desired[0] - moved[:n]), eint)
        count = where(row_ends, 0.0, count + 1.0)
        return np.concatenate([moved, eint, tau, [count]]), theta, tau

    inputs: Shapes = {"state": (4 * n + 1,), "rows": (3 * n + 6,), "g": (3,), "gtilde": (3,)}
    inputs |= {"Kp": (n,), "Ki": (n,), "Kd": (n,), "dt": (), "intRes": ()}
    outputs = ["state_next", "theta", "tau"]
    return book_program("SimulateControl", step, inputs, outputs, shape="scan")


def _normalized(axis: FloatArray, index: int) -> tuple[FloatArray, float]:
    """A screw axis with a unit vector for its omega, or for its v if it slides; and the length that it had."""
    omega, v = axis[:3], axis[3:]
    turning, sliding = float(np.linalg.norm(omega)), float(np.linalg.norm(v))
    if not np.isfinite(axis).all():
        raise ArgumentError(f"Slist: column {index} is not finite: {axis.tolist()}")
    if turning == 0.0 and sliding == 0.0:
        raise ArgumentError(f"Slist: column {index} is zero, which is no screw axis")
    if turning <= _SLIDES * sliding:
        axis, length = np.concatenate([np.zeros(3), v]), sliding
    else:
        length = turning
    # An axis that is normalized to rounding stays as it is, and its scale is left out of all programs.
    return (axis, 1.0) if abs(length - 1.0) <= 1e-15 else (axis / length, length)


def _pose(M: FloatArray, index: int) -> FloatArray:
    """An M that is a rigid motion to rounding, or the nearest to one with the few digits of a printed table."""
    R = M[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() < 1e-13 and np.linalg.det(R) > 0.0 and (M[3] == (0.0, 0.0, 0.0, 1.0)).all():
        return M
    if not TestIfSE3(M):
        distance = float(DistanceToSE3(M))
        raise ArgumentError(f"Mlist[{index}] is no rigid motion: its DistanceToSE3 is {distance:.3g}, not below 0.001")
    nearest: FloatArray = project_pose(M)
    return nearest


def _inertia(G: FloatArray, index: int) -> Inertia:
    """The link's inertia, if a rigid body has this spatial inertia."""
    if not np.isfinite(G).all():
        raise ArgumentError(f"Glist[{index}] is not finite")
    body = mass_properties_from_spatial_inertia(G)
    with naming(f"Glist[{index}]"):
        inertia = Inertia(
            float(body.mass), body.center_of_mass, 0.5 * (body.rotational_inertia + body.rotational_inertia.T)
        )
    of_body = spatial_inertia(inertia.mass, inertia.center_of_mass, inertia.matrix)
    if not np.abs(of_body - G).max() <= _ROUNDING * np.abs(G).max():
        raise ArgumentError(
            f"Glist[{index}] is the spatial inertia of no rigid body: it must be diag(inertia, mass · 1), symmetric, "
            "in a frame at the centre of mass, or that seen from another frame"
        )
    reason = impossibility(inertia)
    if reason is not None:
        raise ArgumentError(f"Glist[{index}]: {reason}")
    return inertia
