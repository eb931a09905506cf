"""ROBOOP's `Robot_basic` (robot.h): all that its three kinds of robots have in common.

A robot keeps its joint positions, velocities and accelerations, as ROBOOP's does; `set_q` and its like change them, and
so do the calls that take them. Every computation is a call of `chasles.Robot`, which `model` gives. Numbers of joints,
frames and links begin with 1, frame 0 is the base; the list `links` begins with 0, as lists do.

Where ROBOOP fills arguments with results, they are returned. ``gravity`` is minus the acceleration of gravity.

Mended defects of ROBOOP: `kine` with a fixed last link and the Jacobian are of one point; `jacobian` of a link in the
chain is of that link's frame; `jacobian_dot` and `kine_pd` know prismatic joints and depend on the velocities that are
set; `G` and `C` do not depend on calls before; the motor belongs to `dtau_dq` and its like; Coulomb friction opposes
motion whatever the sign of the gear ratio; `jacobian_DLS_inv` takes any number of joints.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from chasles import model
from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.interop.roboop import codes
from chasles.interop.roboop.codes import one_based
from chasles.interop.roboop.families import family_of
from chasles.interop.roboop.kept_state import KeptState, Vector
from chasles.interop.roboop.link import table_of
from chasles.inverse_kinematics import selectively_damped_inverse
from chasles.model.formats.roboop import COLUMNS, RoboopTable, roboop_description
from chasles.robot.robot import Robot as Model

#: Robots that are kept compiled.
_MOST_ROBOTS = 64
_TWO_PI = 2.0 * np.pi


class Robot_basic(KeptState):
    """Base of the three kinds of robots: all that does not depend on the kind of their parameters.

    Constructors: ``Robot(ndof)``, ``Robot(matrix)`` of an initialisation matrix (n, 23), ``Robot(matrix, motor)`` of
    (n, 19) and (n, 4), ``Robot("file.conf", "name")`` of a configuration file, and ``Robot(robot)``, a copy.

    Attributes
    ----------
    links
        The links, a fixed last one included.
    gravity
        Minus the acceleration of gravity in base axes, (3,), m/s²; default (0, 0, 9.81).
    robotType
        Family of formulas that `inv_kin` uses: DEFAULT (none), RHINO, PUMA or SCHILLING; `robotType_inv_kin` finds it.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._modelled: tuple[Any, ...] = ()
        self._model: Model
        self.robotType = codes.DEFAULT
        self.robotType_inv_kin()

    @property
    def model(self) -> Model:
        """The same robot as a `chasles.Robot`, all joints movable, with the frame "tool" at its end."""
        gravity = reals(self.gravity, "gravity", (3,))
        state = (gravity.tobytes(), *((id(link), link.changes) for link in self.links))
        if state != self._modelled:
            free = table_of(self.links, self._standard, self._minimal).matrix.copy()
            free[:, [COLUMNS.index(name) for name in ("theta_min", "theta_max", "immobile")]] = 0.0
            key = (free.tobytes(), len(free), self._standard, self._minimal)
            self._model, self._modelled = _model(*key, tuple(gravity.tolist())), state
        return self._model

    @property
    def _massless(self) -> dict[str, Any]:
        """Arguments with which a robot without masses has torques, as in ROBOOP: zero, but for friction."""
        return {} if model.has_masses(self.model.description) else {"vary": {"payload.mass": 0.0}}

    def _frame(self, j: int | None) -> str:
        if j is None or j == len(self.links):
            return "tool"
        return f"link{one_based(j, len(self.links), 'frame') if j else 0}"

    def kine(self, j: int | None = None) -> Vector:
        """Return the pose (4, 4) of the end, or of frame `j`, in the base."""
        return np.asarray(self.model.forward_kinematics(self.get_q(), target=self._frame(j)))

    def kine_pd(self, ref: int | None = None) -> Vector:
        """Return ``[R p ṗ]``, (3, 5): pose of frame `ref`, default the end, and velocity at the rates that are set."""
        T, J = self.model.pose_and_jacobian(self.get_q(), frame="world-aligned", target=self._frame(ref))
        return np.column_stack([T[:3, :3], T[:3, 3], (J @ self.get_qp())[3:]])

    def jacobian(self, *indices: int) -> Vector:
        """Return the Jacobian (6, m): ``jacobian(ref)`` of the end or ``jacobian(endlink, ref)`` of a link's frame.

        Rows 1 to 3 are the velocity of the frame's origin, rows 4 to 6 the angular velocity, in the axes of frame
        `ref`, default the base. Immobile joints have no column; nor have joints after `endlink`.
        """
        endlink, axes = self._places(indices)
        J = np.asarray(self.model.jacobian(self.get_q(), frame="world-aligned", target=self._frame(endlink)))
        return self._linear_first(J, axes)[:, self._available(endlink)]

    def jacobian_dot(self, *indices: int) -> Vector:
        """Return the derivative of `jacobian` by time, (6, m), at the velocities that are set; the same places."""
        endlink, axes = self._places(indices)
        target = self._frame(endlink)
        Jdot = self.model.jacobian_derivative(self.get_q(), self.get_qp(), frame="world-aligned", target=target)
        return self._linear_first(np.asarray(Jdot), axes)[:, self._available(endlink)]

    def jacobian_DLS_inv(self, eps: float, lambda_max: float, ref: int = 0) -> Vector:
        """Return the inverse of the Jacobian, (m, 6), damped where its smallest singular value is below `eps`."""
        return selectively_damped_inverse(self.jacobian(ref), eps, lambda_max)

    def _places(self, indices: tuple[int, ...]) -> tuple[int | None, int]:
        if len(indices) > 2:
            raise ArgumentError(f"jacobian takes (ref) or (endlink, ref), not {len(indices)} numbers")
        endlink = one_based(indices[0], len(self.links), "endlink") if len(indices) == 2 else None
        ref = indices[-1] if indices else 0
        return endlink, one_based(ref, len(self.links), "ref") if ref else 0

    def _linear_first(self, J: Vector, ref: int) -> Vector:
        R = self.kine(ref)[:3, :3] if ref else np.eye(3)
        return np.vstack([R.T @ J[3:], R.T @ J[:3]])

    def dTdqi(self, i: int) -> Vector:
        """Return the derivative of the end's pose by the position of joint `i`, (4, 4); 0 for an immobile joint."""
        joint = one_based(i, self.dof, "joint") - 1
        change = np.zeros((4, 4))
        if joint in self._mobile:
            T, J = self.model.pose_and_jacobian(self.get_q(), frame="world-aligned", target="tool")
            turning, moving = J[:3, joint], J[3:, joint]
            change[:3, :3] = np.cross(turning, T[:3, :3], axisb=0, axisc=0)
            change[:3, 3] = moving
        return change

    def torque(
        self, q: ArrayLike, qp: ArrayLike, qpp: ArrayLike, Fext: ArrayLike | None = None, Next: ArrayLike | None = None
    ) -> Vector:
        """Return joint torques (n,) of a motion; `q` and `qp` are set.

        `Fext` and `Next`, (3,), are the force and moment that the last frame exerts on the environment, in its axes.
        """
        self.set_q(q)
        self.set_qp(qp)
        acceleration = self._filled(qpp, self.get_qpp(), "qpp")
        tau = self.model.inverse_dynamics(self.get_q(), self.get_qp(), acceleration, **self._massless)
        return np.asarray(tau) + self._load(Fext, Next)

    def acceleration(
        self,
        q: ArrayLike,
        qp: ArrayLike,
        tau_cmd: ArrayLike,
        Fext: ArrayLike | None = None,
        Next: ArrayLike | None = None,
    ) -> Vector:
        """Return joint accelerations (n,) of torques; `q` and `qp` are set."""
        self.set_q(q)
        self.set_qp(qp)
        tau = reals(tau_cmd, "tau_cmd", (self.dof,)) - self._load(Fext, Next)
        return np.asarray(self.model.forward_dynamics(self.get_q(), self.get_qp(), tau))

    def _load(self, force: ArrayLike | None, moment: ArrayLike | None) -> Vector:
        if force is None and moment is None:
            return np.zeros(self.dof)
        arguments = {"Next": moment, "Fext": force}
        vectors = [np.zeros(3) if value is None else reals(value, name, (3,)) for name, value in arguments.items()]
        J = self.model.jacobian(self.get_q(), frame="body", target="tool")
        return np.asarray(J).T @ np.concatenate(vectors)

    def inertia(self, q: ArrayLike) -> Vector:
        """Return the inertia matrix (n, n), with the motors' inertia; `q` is set."""
        self.set_q(q)
        return np.asarray(self.model.mass_matrix(self.get_q(), **self._massless))

    def torque_novelocity(self, qpp: ArrayLike) -> Vector:
        """Return the torques (n,) of accelerations at the positions that are set, without gravity and velocity."""
        return self.inertia(self.get_q()) @ reals(qpp, "qpp", (self.dof,))

    def G(self) -> Vector:
        """Return the torques of gravity (n,) at the positions that are set."""
        return np.asarray(self.model.gravity_torque(self.get_q(), **self._massless))

    def C(self, qp: ArrayLike) -> Vector:
        """Return centrifugal, Coriolis and friction torques (n,) at the positions that are set."""
        rates = reals(qp, "qp", (self.dof,))
        coriolis = self.model.coriolis_vector(self.get_q(), rates, **self._massless)
        return np.asarray(coriolis + self.model.friction_torque(self.get_q(), rates))

    def delta_torque(
        self, q: ArrayLike, qp: ArrayLike, qpp: ArrayLike, dq: ArrayLike, dqp: ArrayLike, dqpp: ArrayLike
    ) -> tuple[Vector, Vector]:
        """Return torques (n,), and their first-order change ``M δq̈ + S1 δq̇ + S2 δq``; `q` and `qp` are set."""
        tau = self.torque(q, qp, qpp)
        changes = [reals(change, name, (self.dof,)) for change, name in ((dq, "dq"), (dqp, "dqp"), (dqpp, "dqpp"))]
        S2, S1 = self.dtau_dq(q, qp, qpp), self.dtau_dqp(q, qp)
        return tau, S2 @ changes[0] + S1 @ changes[1] + self.inertia(q) @ changes[2]

    def dq_torque(self, q: ArrayLike, qp: ArrayLike, qpp: ArrayLike, dq: ArrayLike) -> tuple[Vector, Vector]:
        """Return torques (n,), and their first-order change ``S2 δq``."""
        return self.torque(q, qp, qpp), self.dtau_dq(q, qp, qpp) @ reals(dq, "dq", (self.dof,))

    def dqp_torque(self, q: ArrayLike, qp: ArrayLike, dqp: ArrayLike) -> tuple[Vector, Vector]:
        """Return `C` at these positions and velocities, (n,), and its first-order change ``S1 δq̇``."""
        self.set_q(q)
        return self.C(qp), self.dtau_dqp(q, qp) @ reals(dqp, "dqp", (self.dof,))

    def dtau_dq(self, q: ArrayLike, qp: ArrayLike, qpp: ArrayLike) -> Vector:
        """Return the derivative of the torques by the positions, S2, (n, n)."""
        return self._derivatives(q, qp, qpp)[0]

    def dtau_dqp(self, q: ArrayLike, qp: ArrayLike) -> Vector:
        """Return the derivative of the torques by the velocities, S1, (n, n)."""
        return self._derivatives(q, qp, np.zeros(self.dof))[1]

    def _derivatives(self, q: ArrayLike, qp: ArrayLike, qpp: ArrayLike) -> tuple[Vector, Vector]:
        self.set_q(q)
        self.set_qp(qp)
        state = (self.get_q(), self.get_qp(), reals(qpp, "qpp"))
        by_q, by_qd, *_ = self.model.inverse_dynamics_derivatives(*state, **self._massless)
        return np.asarray(by_q), np.asarray(by_qd)

    def robotType_inv_kin(self) -> None:
        """Find the family whose formulas `inv_kin` uses, by the zeros of the Denavit-Hartenberg table."""
        self.robotType = family_of(self.links, self._standard)

    def inv_kin(
        self, Tobj: ArrayLike, mj: int = 0, endlink: int | None = None, *, converge: bool = False
    ) -> Vector | tuple[Vector, bool]:
        """Return joint positions that bring the end, or frame `endlink`, to a pose (4, 4).

        By formulas for robots of a family (`robotType`), else by a search from the positions that are set; either way
        the branch is the nearest one. Both of ROBOOP's schemes, `mj` 0 and 1, lead to the same search.

        Parameters
        ----------
        Tobj
            The pose.
        mj
            0 or 1.
        endlink
            Frame that is to reach the pose; default the end.
        converge
            Whether to return the pair (positions, whether they reach the pose).

        Returns
        -------
        ndarray
            Positions (m,) of the joints that are not immobile; those that are set if the pose is not reached. The
            positions that are set do not change.
        """
        if mj not in (0, 1):
            raise ArgumentError(f"mj must be 0 or 1, not {mj}")
        moves_all_joints = endlink in (None, self.dof, len(self.links)) and len(self._mobile) == self.dof
        if self.robotType != codes.DEFAULT and moves_all_joints:
            q, reached = self._analytic(Tobj)
        else:
            q, reached = self._searched(reals(Tobj, "Tobj", (4, 4)), endlink)
        return (q, reached) if converge else q

    def inv_kin_rhino(self, Tobj: ArrayLike) -> tuple[Vector, bool]:
        """Return joint positions by the formulas of a Rhino, and whether they reach the pose."""
        return self._analytic(Tobj)

    def inv_kin_puma(self, Tobj: ArrayLike) -> tuple[Vector, bool]:
        """Return joint positions by the formulas of a PUMA, and whether they reach the pose."""
        return self._analytic(Tobj)

    def inv_kin_schilling(self, Tobj: ArrayLike) -> tuple[Vector, bool]:
        """Return joint positions by the formulas of a Schilling arm, and whether they reach the pose."""
        return self._analytic(Tobj)

    def _analytic(self, Tobj: ArrayLike) -> tuple[Vector, bool]:
        solution = self.model.inverse_kinematics(
            reals(Tobj, "Tobj", (4, 4)), self.get_q(), limits=False, method="closed form"
        )
        reached = bool(solution.success)
        return (np.asarray(solution.q) if reached else self.get_q()), reached

    def _searched(self, T: Vector, endlink: int | None) -> tuple[Vector, bool]:
        robot, available = self.model, self._available(endlink)
        held = [index for index in range(self.dof) if index not in available]
        if held:
            positions = {f"joint{index + 1}": self.get_q(index + 1) for index in held}
            robot = Model(model.lock_joints(robot.description, positions))
        if not available:
            raise ArgumentError("all joints up to this frame are immobile")
        start = self.get_q()[available]
        solution = robot.inverse_kinematics(
            T, start, target=self._frame(endlink), limits=False, method="numeric", tolerance=1e-9
        )
        if not solution.success:
            return start, False
        turns = np.array([self.links[index].get_joint_type() == 0 for index in available])
        return np.where(turns, np.fmod(solution.q, _TWO_PI), solution.q), True

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.dof} joints{' and a fixed link' * self.fix}>"

    def __copy__(self) -> Self:
        return type(self)(self)


@lru_cache(maxsize=_MOST_ROBOTS)
def _model(rows: bytes, count: int, standard: bool, minimal: bool, gravity: tuple[float, ...]) -> Model:
    """A robot found again by its numbers, so that it is compiled once."""
    table = RoboopTable(np.frombuffer(rows).reshape(count, -1), standard, minimal)
    return Model(roboop_description(table).with_gravity(-np.array(gravity)))


class Robot(Robot_basic):
    """A serial robot with standard Denavit-Hartenberg parameters.

    Examples
    --------
    The RR robot of ROBOOP's demo, two links of 1 m (section 5.13.2.4 of the manual):

    >>> rods = np.zeros((2, 23))
    >>> rods[:, 3], rods[:, 8], rods[:, 9] = 1.0, [2.0, 1.0], -0.5
    >>> rods[:, 15] = rods[:, 17] = [0.1666666, 0.0833333]
    >>> rr = Robot(rods)
    >>> rr.set_q([np.pi / 4, np.pi / 4])
    >>> rr.kine()[:3, 3].round(4)
    array([0.7071, 1.7071, 0.    ])
    >>> rr.inertia([0.0, 0.0]).round(4)
    array([[3.    , 0.8333],
           [0.8333, 0.3333]])
    """


class mRobot(Robot_basic):
    """A serial robot with modified Denavit-Hartenberg parameters (Craig's); see `Robot_basic`."""

    _standard = False


class mRobot_min_para(Robot_basic):
    """A serial robot with modified Denavit-Hartenberg parameters and minimal inertial parameters; see `Robot_basic`."""

    _standard = False
    _minimal = True


def perturb_robot(robot: Robot_basic, f: float = 0.1, *, seed: int | None = None) -> None:
    """Multiply Im, B, Cf, mass and inertia of every link by factors ``1 + f u``, u drawn from -1 to 1.

    The robot is changed. ROBOOP draws by the clock; `seed` makes the factors repeatable.

    Examples
    --------
    >>> robot = Robot(2)
    >>> perturb_robot(robot, 0.1, seed=0)
    >>> bool(0.9 < robot.links[0].get_m() < 1.1)
    True
    """
    largest = real(f, "f", at_least=0.0, at_most=1.0)
    rng = np.random.default_rng(seed)
    for link in robot.links:
        Im, B, Cf, mass, inertia = 1.0 + largest * rng.uniform(-1.0, 1.0, 5)
        link.set_Im(link.get_Im() * Im)
        link.set_B(link.get_B() * B)
        link.set_Cf(link.get_Cf() * Cf)
        link.set_m(link.get_m() * mass)
        link.set_I(link.get_I() * inertia)
