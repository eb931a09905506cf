"""Natural adaptation: estimates of inertias that are at every instant those of possible bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.control.adaptive.adaptation import ContinuousLaw
from chasles.control.adaptive.tuning import DUALS, natural_gains
from chasles.control.adaptive.unknowns import Unknowns
from chasles.control.floating_base import NONLINEAR_IN_PARAMETERS
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import gains
from chasles.control.sliding_variable import friction_moved
from chasles.engine import sqrt, where
from chasles.engine.program.scalar import Array
from chasles.engine.validators import POSITIVE, Bound, Relation, reals
from chasles.geometry import inertial_parameters_from_pseudo_inertia, pseudo_inertia_from_inertial_parameters
from chasles.model import build_tree
from chasles.model.inertial_parameters import OF_BODY
from chasles.robot.robot import Robot

#: Largest step of an estimate in a period. Up to it the sampled step (1 - x / 2)² of an eigenvalue is within 1 % of the
#: exact solution 1 / (1 + x) for a constant L.
_LARGEST_STEP = 0.1


class NaturalAdaptive(ContinuousLaw):
    """tau = Y theta - Kd s, J' = -adaptation J L J for the pseudo-inertia J of every unknown body.

    Y, s and theta are those of `SlotineLi`; L is the symmetric matrix for which tr(L J) = sᵀ Y theta. J stays positive
    definite, so that the estimated masses and moments of inertia are always physical. In continuous time V = sᵀ M s / 2
    + the sum of D / adaptation never grows, with Bregman's divergence D = log(det J / det true) + tr(J⁻¹ true) - 4
    between each body and the true one. The tracking error therefore goes to zero as with `SlotineLi`. A single gain
    serves parameters of all magnitudes and units, whatever the frames.

    Gains that are too high for the sample period do not let the estimates grow without bound:

    - Estimates stay within a largest mass m and a largest radius r: J₄₄ <= m and J_ii <= m r². An estimate beyond a
      bound e_iᵀ J e_i <= b is replaced by the nearest one in D, J - (J_ii - b) / J_ii² J e_i e_iᵀ J. If the true body
      keeps the bound, D does not grow, by the Pythagorean inequality of Bregman projections on convex sets, and V
      neither.
    - In a period J moves, before the projection, by at most 0.103 in the affine-invariant metric of positive definite
      matrices, the norm of log(J⁻¹ J_next). The theorem holds for as long as this limit does not act.

    Source: Lee, Kwon and Park, "A natural adaptive control law for robot manipulators", IEEE/RSJ Int. Conf. Intelligent
    Robots and Systems, 2018; for the projection Bregman, "The relaxation method of finding the common point of convex
    sets" (1967). It requires the same knowledge as `SlotineLi`, and friction.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    rate
        1/s, a scalar or one value per joint.
    damping
        Kd, N·m·s/rad (N·s/m), a scalar or one value per joint.
    adaptation
        1/J, a scalar or one value per unknown body.
    bodies
        ``"payload"``, or names of the links that joints move.
    initial
        Initial estimates, ten inertial parameters per body, shape (10 bodies,); default the model's.
    largest_mass
        Largest mass of each unknown body, kg, a scalar or one value per body; default the initial estimate and the mass
        that the model moves together: hardly an arm carries more than its own weight.
    largest_radius
        Largest distance of a body's mass from its frame's origin, m, a scalar or one value per body; default the
        largest distance of two frames of the model, or twice the initial radius of gyration.

    Raises
    ------
    ArgumentError
        The first estimate is not that of a body with mass in all directions, or beyond the largest mass or radius.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda").with_payload(0.5, inertia=0.001 * np.eye(3))
    >>> controller = ch.control.NaturalAdaptive(arm, rate=20.0, damping=10.0, adaptation=0.1, bodies="payload")
    """

    name = "natural adaptive"
    kind = "natural-adaptive"
    knows = Knowledge("geometry, gravity", learns="inertias of one link", first_values="the model's")
    is_linear = False
    design_damping = 0.65
    rate: Array
    damping: Array
    adaptation: Array
    largest_mass: Array
    largest_radius: Array
    bounds: Mapping[str, Bound] = {**ContinuousLaw.bounds, "largest_mass": POSITIVE, "largest_radius": POSITIVE}
    refuses_free_joints = NONLINEAR_IN_PARAMETERS

    def __init__(
        self,
        robot: Robot,
        *,
        rate: ArrayLike,
        damping: ArrayLike,
        adaptation: ArrayLike,
        bodies: str | Sequence[str],
        initial: ArrayLike | None = None,
        largest_mass: ArrayLike | None = None,
        largest_radius: ArrayLike | None = None,
    ) -> None:
        named = [bodies] if isinstance(bodies, str) else list(bodies)
        which = "payload" if bodies == "payload" else [f"{body}.{name}" for body in named for name in OF_BODY]
        self.unknown = which
        self.unknowns = Unknowns.of(robot, which)
        start = reals(self.unknowns.values if initial is None else initial, "initial", (len(self.unknowns),))
        first = pseudo_inertia_from_inertial_parameters(start.reshape(-1, 10))
        for body, J in zip(named, first, strict=True):
            if not np.linalg.eigvalsh(J)[0] > 1e-12 * np.trace(J):
                raise ArgumentError(
                    f"the first estimate of '{body}' is not that of a body with mass in all three directions; give "
                    "initial=, or a model with such a body (see Robot.inertial.nearest_consistent)"
                )
        own = gains(robot.n, rate=rate, damping=damping) | gains(len(named), adaptation=adaptation)
        mass, radius = _default_bounds(robot, first)
        given = {"largest_mass": (largest_mass, mass), "largest_radius": (largest_radius, radius)}
        for name, (value, default) in given.items():
            own[name] = reals(default if value is None else value, name, (len(named),), broadcast=True, above=0.0)
        self._first_sizes = first.diagonal(axis1=1, axis2=2).T
        super().__init__(robot, own, {"estimate": start})

    def relations(self, parameters: Mapping[str, Array]) -> list[Relation]:
        """Return that the first estimates are within the bounds."""
        most = _largest_diagonals(*np.broadcast_arrays(parameters["largest_mass"], parameters["largest_radius"]))
        first = self._first_sizes.reshape(4, *(1,) * (most.ndim - 2), -1)
        fits = (first <= most).all(axis=(0, -1))
        return [Relation(fits, "the first estimates must be within largest_mass and largest_radius (or give initial=)")]

    @classmethod
    def gains(
        cls,
        design: PoleDesign,
        *,
        learning: float = 1.0,
        bodies: str | Sequence[str] | None = None,
        payload: float | None = None,
    ) -> dict[str, Any]:
        """Return gains and initial estimates by `natural_gains` for unknown bodies and a payload, kg."""
        return natural_gains(design, learning, bodies, payload)

    def matching_memory(self, robot: Robot) -> Mapping[str, Any]:
        """Return a robot's values of the unknown parameters."""
        return {"estimate": Unknowns.of(robot, self.unknown).values}

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements: the unknown parameters."""
        return self.unknowns.names

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the unknown parameters."""
        return self.unknowns.names

    def flow(self, now: Now) -> tuple[Any, dict[str, Any]]:
        """Return torques, and rates of change of the estimates."""
        tau, forces = self.unknowns.tracking(now, now.memory.estimate, self.rate, self.damping)
        rates = [-gain * (J @ L @ J) for J, L, gain in self._bodies(now.memory.estimate, forces)]
        return tau, {"estimate": _parameters(rates)}

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory holds the estimates.

        The step E J Eᵀ with E = 1 - X / 2 and X = period adaptation J L, shortened to the largest step, agrees with
        Euler's rule to first order and keeps J positive definite; what passes a bound is projected.
        """
        tau, forces = self.unknowns.tracking(now, now.memory.estimate, self.rate, self.damping)
        tau = tau + friction_moved(self.robot, now.q, now.qd, now.reference, self.rate, tau, self.damping)
        following = []
        bounds = _largest_diagonals(self.largest_mass, self.largest_radius)
        for k, (J, L, gain) in enumerate(self._bodies(now.memory.estimate, forces)):
            X = (now.period * gain) * (J @ L)
            square = (X * X.T).sum()  # of the size of J^½ L J^½, which has the eigenvalues of J L
            share = _LARGEST_STEP / sqrt(where(square > _LARGEST_STEP**2, square, _LARGEST_STEP**2))
            E = np.eye(4) - (0.5 * share) * X
            following.append(projected(E @ J @ E.T, bounds[:, k]))
        now.memory.estimate = _parameters(following)
        return tau

    def _bodies(self, estimate: Array, forces: Array) -> list[tuple[Any, Any, Any]]:
        """Pseudo-inertia J, the matrix L of what drives it, and the gain, of every body."""
        return [
            (
                pseudo_inertia_from_inertial_parameters.formula(estimate[10 * k : 10 * k + 10]),
                (forces[10 * k : 10 * k + 10] @ DUALS).reshape(4, 4),
                gain,
            )
            for k, gain in enumerate(self.adaptation)
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot!r}, {len(self.unknowns) // 10} unknown bodies)"


def projected(J: Array, bounds: Array) -> Any:
    """Return J with diagonal elements within bounds (4,), projected on one after the other in Bregman's divergence.

    Each projection subtracts a positive semidefinite matrix, so that later ones keep the bounds of earlier ones.

    Examples
    --------
    >>> projected(np.diag([0.1, 0.2, 0.3, 5.0]), np.array([1.0, 1.0, 1.0, 2.0])).diagonal()
    array([0.1, 0.2, 0.3, 2. ])
    """
    for k in range(4):
        size = J[k, k]
        excess = where(size > bounds[k], (size - bounds[k]) / (size * size), 0.0)
        J = J - excess * np.outer(J[:, k], J[:, k])
    return J


def _largest_diagonals(mass: Array, radius: Array) -> Any:
    """Bounds of the diagonal elements of the pseudo-inertias, (4, ..., bodies)."""
    second = mass * radius * radius
    return np.array([second, second, second, mass])


def _default_bounds(robot: Robot, first: Array) -> tuple[Array, Array]:
    """Return the default largest mass and radius of bodies with the first pseudo-inertias (bodies, 4, 4)."""
    moved = sum(body.mass for body in build_tree(robot.description).bodies)
    origins = np.array([robot.forward_kinematics(robot.neutral, target=name)[:3, 3] for name in robot.frame_names])
    size = np.linalg.norm(origins[:, None] - origins, axis=-1).max()
    start = first.diagonal(axis1=1, axis2=2)
    gyration = np.sqrt(start[:, :3].max(axis=1) / start[:, 3])
    return start[:, 3] + float(moved), np.maximum(size, 2.0 * gyration)


def _parameters(matrices: Sequence[Any]) -> Array:
    return np.concatenate([inertial_parameters_from_pseudo_inertia.formula(J) for J in matrices])
