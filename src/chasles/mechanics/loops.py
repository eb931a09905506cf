"""`Loops`: mobility, assembly, how the joints move together, motor forces, loop forces and singularities."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import algorithms, model
from chasles.algorithms import ClosedState, LoopConstraints, Singularities, closed_chain
from chasles.algorithms.actuators import bounded_forces
from chasles.algorithms.kinematics import body_poses, frame_pose
from chasles.algorithms.singularities import ROWS, MotionPart
from chasles.engine.validators import choice, real, reals, whole_number
from chasles.mechanics.closing import Closings, closing_search
from chasles.mechanics.computation import Array, Out, Vary, Wrenches, computes
from chasles.mechanics.described import Described
from chasles.mechanics.part import Part
from chasles.model import Mobility, Tree


@dataclass(frozen=True, eq=False)
class ClosedConfiguration:
    """Result of a search for configurations with closed loops; its fields have the batch's leading axes.

    Attributes
    ----------
    q
        Configurations, shape (..., nq), rad and m: closed where `success`, else as near as the search came.
    success
        Whether all loops are closed, with the axes of joints in the right sense.
    gap
        Largest residual of the loops, m and rad.
    iterations
        Number of iterations.
    message
        Sentence about the first search that failed, or about all.
    """

    q: Array
    success: NDArray[np.bool_]
    gap: Array
    iterations: NDArray[np.intp]
    message: str

    def __repr__(self) -> str:
        return f"<ClosedConfiguration: {self.message}>"


class Loops(Part[Described]):
    """What belongs to a robot's loops: ``arm.loops``. A robot without loops has it too, and it is empty.

    Examples
    --------
    >>> import chasles as ch
    >>> len(ch.load("planar2r").loops)
    0
    """

    place = "loops"

    def __len__(self) -> int:
        """Return the number of loops; ``if arm.loops`` asks whether there are any."""
        return len(self.description.loops)

    @property
    def mobility(self) -> Mobility:
        """Degrees of freedom that the loops leave, in words and indices; see `chasles.model.Mobility`.

        Raises
        ------
        ModelError
            The robot has no loops.

        Examples
        --------
        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
        >>> print(arm.loops.mobility)
        1 degree of freedom; 1 of 1 constraints independent
        """
        return self.description.mobility

    @computes(algorithms.loop_constraints, closed=algorithms.loop_constraints, outputs=LoopConstraints)
    def constraints(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> LoopConstraints: ...

    @computes(algorithms.velocity_map, closed=algorithms.velocity_map, outputs=["G"])
    def velocity_map(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.constraint_wrenches, closed=algorithms.constraint_wrenches, outputs=["wrenches"])
    def constraint_wrenches(self, q: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.joint_accelerations, closed=algorithms.joint_accelerations, outputs=["accelerations"])
    def joint_accelerations(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> Array: ...

    @computes(
        algorithms.constrained_accelerations,
        closed=algorithms.constrained_accelerations,
        outputs=["accelerations"],
        needs_masses=True,
    )
    def constrained_accelerations(
        self,
        q: ArrayLike,
        joint_velocities: ArrayLike,
        joint_forces: ArrayLike,
        *,
        step: float = 0.0,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(algorithms.closed_state, closed=algorithms.closed_state, outputs=ClosedState, needs_masses=True)
    def closed_state(
        self, q: ArrayLike, joint_velocities: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> ClosedState: ...

    @computes(algorithms.joint_torques, closed=closed_chain.joint_torques, outputs=["torques"])
    def joint_torques(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrenches: Wrenches = None,
        vary: Vary = None,
        out: Out = None,
    ) -> Array: ...

    @computes(algorithms.actuator_forces, closed=algorithms.actuator_forces, outputs=["forces"])
    def actuator_forces(self, q: ArrayLike, tau: ArrayLike, *, vary: Vary = None, out: Out = None) -> Array: ...

    @computes(algorithms.generalized_forces, closed=algorithms.generalized_forces, outputs=["tau"])
    def generalized_forces(
        self, q: ArrayLike, actuator_forces: ArrayLike, *, vary: Vary = None, out: Out = None
    ) -> Array: ...

    def bounded_actuator_forces(self, q: ArrayLike, tau: ArrayLike, limits: ArrayLike | None = None) -> Array:
        """Return the smallest forces of the motors, within their limits, that act like given generalised forces.

        Parameters
        ----------
        q
            Configurations, shape (..., nq), with closed loops.
        tau
            Generalised forces, shape (..., n), as from `inverse_dynamics`.
        limits
            Largest magnitudes, N·m and N, one number or shape (motors,); default the motors' effort limits.

        Returns
        -------
        ndarray
            Shape (..., motors), in the order of `Description.actuated_indices`: those of `actuator_forces` where these
            keep the limits, NaN where no forces within the limits act like tau.

        Raises
        ------
        ArgumentError
            Shapes do not fit, or a limit is negative.

        Examples
        --------
        Both joints of an arm whose tip hangs on a rod have motors; the second is weak, so that the first does more:

        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint1", "joint2"]}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", independent=["joint1"], **rod)
        >>> arm.loops.actuator_forces([0.0, 0.0], [10.0])
        array([ 1., -3.])
        >>> arm.loops.bounded_actuator_forces([0.0, 0.0], [10.0], [100.0, 2.0])
        array([ 4., -2.])
        """
        motors = list(self.description.actuated_indices)
        known_limits = self.description.replace(loops=(), independent=()).effort_limits[motors]
        bounds = (
            known_limits
            if limits is None
            else reals(limits, "limits", known_limits.shape, broadcast=True, at_least=0, infinite=True)
        )
        G = np.asarray(self.velocity_map(reals(q, "q", (..., self.description.nq))))
        return bounded_forces(G[..., motors, :], reals(tau, "tau", (..., self.robot.n)), bounds)

    def forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        actuator_forces: ArrayLike | None = None,
        wrenches: Wrenches = None,
        vary: Vary = None,
    ) -> Array:
        """Return the wrenches with which the loops act in a motion.

        Parameters
        ----------
        q, qd, qdd
            Configurations, shape (..., nq), with closed loops; independent velocities and accelerations, (..., n).
        actuator_forces
            Forces of the motors, shape (..., motors); default those of `actuator_forces` for the motion.
        wrenches, vary
            See `inverse_dynamics`.

        Returns
        -------
        ndarray
            Shape (..., loops, 6): moment and force of each loop on the link of its frame 2, about the origin of frame 2
            in world axes, N·m and N. Where the loops are statically indeterminate, multipliers of the smallest norm.

        Examples
        --------
        A rod of 0.3 m holds the tip of an arm that weighs 55.16 N·m about its base, 0.75 m away; without motors:

        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint2"]}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
        >>> arm.loops.forces([0.0, 0.0], [0.0], [0.0])[0, 4].round(3)
        np.float64(73.547)
        """
        loads = np.array(self.joint_torques(q, qd, qdd, wrenches=wrenches, vary=vary))
        if actuator_forces is None:
            tau = np.einsum("...ji,...j->...i", self.velocity_map(q), loads)
            actuator_forces = self.actuator_forces(q, tau)
        loads[..., list(self.description.actuated_indices)] -= actuator_forces
        J = np.asarray(self.constraints(q).J)
        part = np.isin(np.arange(J.shape[-2]), self.description.mobility.constraints)[:, None]
        inverse = np.linalg.pinv(np.swapaxes(np.where(part, J, 0.0), -1, -2), rcond=1e-9)
        multipliers = np.einsum("...ij,...j->...i", inverse, loads)
        parts = multipliers[..., None] * self.constraint_wrenches(q)
        counts = np.cumsum([0, *(loop.constraint_count for loop in self.description.loops)])
        return np.stack([parts[..., a:b, :].sum(axis=-2) for a, b in itertools.pairwise(counts)], axis=-2)

    def singularities(
        self, q: ArrayLike, *, target: str | None = None, part: MotionPart = "twist", tolerance: float = 1e-6
    ) -> Singularities:
        """Tell which freedoms a closed configuration loses and which motors do not control; see `Singularities`.

        Parameters
        ----------
        q
            Configuration, shape (nq,), with closed loops.
        target
            Frame whose motion counts; default the tool.
        part
            Part of its motion: "twist", "position" or "orientation".
        tolerance
            Share of the largest singular value at regular configurations below which a motion counts as lost.

        Examples
        --------
        An arm whose tip hangs on a rod straight above it: the tip stands still while the arm folds.

        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint2"]}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
        >>> found = arm.loops.singularities([0.0, 0.0], part="position")
        >>> len(found.lost), len(found.uncontrolled)
        (1, 0)
        """
        position, share = reals(q, "q", (self.description.nq,)), real(tolerance, "tolerance", above=0.0, at_most=1.0)
        description = self.description
        frame = description.frame("tool" if target is None else target).name
        tree = model.build_tree(description)
        return algorithms.singularities(tree, position, frame, _part(part), share, self.robot.home)

    def close(self, q_guess: ArrayLike, *, hold: Iterable[str] = (), most_iterations: int = 100) -> ClosedConfiguration:
        """Search for closed configurations near guesses.

        Parameters
        ----------
        q_guess
            Guesses, shape (..., nq), rad and m.
        hold
            Names of joints, or of single velocities, whose coordinates stay what they are.
        most_iterations
            Number of iterations after which a search gives up.

        Returns
        -------
        ClosedConfiguration
            With ``q``, ``success`` and the reason of a failure.

        Raises
        ------
        ModelError
            There is no joint of that name to hold.
        ArgumentError
            The guess has a wrong shape or is not finite.

        Examples
        --------
        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
        >>> arm.loops.close([0.1, -0.5], hold=["joint1"])
        <ClosedConfiguration: all loops are closed>
        >>> arm.loops.close([-2.0, -0.5], hold=["joint1"]).success
        np.False_
        """
        guesses = reals(q_guess, "q_guess", (..., self.description.nq))
        held = self.description.velocity_indices(tuple(hold), "hold")
        most = whole_number(most_iterations, "most_iterations", 1, 1_000_000)
        closings = closing_search(self.description).close(
            guesses.reshape(-1, self.description.nq), held, most, self.constraints if self.description.loops else None
        )
        batch = guesses.shape[:-1]
        return ClosedConfiguration(
            q=closings.q.reshape(guesses.shape),
            success=closings.closed.reshape(batch)[()],
            gap=closings.gap.reshape(batch)[()],
            iterations=closings.iterations.reshape(batch)[()],
            message=_message(closings),
        )

    def assembly_modes(
        self, q_guess: ArrayLike, *, hold: Iterable[str] | None = None, tries: int = 100, seed: int = 0
    ) -> Array:
        """Find different closed configurations in which some joints have the same positions.

        Parameters
        ----------
        q_guess
            Positions of the joints that are held, within a configuration of shape (nq,).
        hold
            Names of joints, or of single velocities; default the independent ones.
        tries
            Number of searches from random guesses for the other joints, after one from `q_guess`.
        seed
            Seed of the random guesses.

        Returns
        -------
        ndarray
            Configurations, shape (modes, nq), the one that is found from `q_guess` first; angles within π of it. Frames
            and ends of loops are in other places in each: a rod turned by 180° about its own line, the second reading
            of a universal joint, is no other mode. More tries may find more of them.

        Examples
        --------
        >>> import chasles as ch
        >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
        >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
        >>> arm.loops.assembly_modes([0.3, -0.5], hold=["joint1"]).round(3) + 0.0
        array([[ 0.3  , -0.897],
               [ 0.3  ,  1.316]])
        """
        guess = reals(q_guess, "q_guess", (self.description.nq,))
        names = tuple(self.description.velocity_names if hold is None else hold)
        search = closing_search(self.description)
        tree = search.tree
        free = np.setdiff1d(np.arange(tree.n), self.description.velocity_indices(names, "hold"))
        generator = np.random.default_rng(seed)
        displacements = np.zeros((1 + whole_number(tries, "tries", 0, 1_000_000), tree.n))
        reach = np.pi * algorithms.column_scales(tree, algorithms.tree_size(tree) / np.pi)
        displacements[1:, free] = generator.uniform(-1.0, 1.0, (len(displacements) - 1, len(free))) * reach[free]
        closed = self.close(search.displaced(guess, displacements), hold=names)
        modes: list[Array] = []
        seen: list[Array] = []
        for q in closed.q[closed.success]:
            points = _points(tree, q)
            if any(np.abs(points - other).max() <= 1e-6 for other in seen):
                continue
            seen.append(points)
            away = algorithms.difference(tree, guess, q)
            for body in tree.bodies:
                if body.angular == 1.0 and body.placed == "coordinate":
                    away[body.coordinate] = (away[body.coordinate] + np.pi) % (2.0 * np.pi) - np.pi
            modes.append(algorithms.integrate(tree, guess, away))
        return np.array(modes).reshape(-1, self.description.nq)


def _points(tree: Tree, q: Array) -> Array:
    """Origins of all frames and ends of loops, shape (points, 3), m."""
    poses = body_poses(tree, q)
    attachments = [*tree.frames.values(), *(place for loop in tree.loops for place in (loop.first, loop.second))]
    return np.array([frame_pose(place, poses)[1] for place in attachments])


def _part(name: str) -> MotionPart:
    """The part of a frame's motion of this name."""
    choice(name, "part", ROWS)
    return next(part for part in ROWS if part == name)


def _message(closings: Closings) -> str:
    if closings.closed.all():
        return "all loops are closed"
    first = int(np.argmin(closings.closed))
    loop, gap = closings.loops[first], closings.gap[first]
    if closings.flipped[first] and gap <= 1e-6:
        return f"loop '{loop}' closes only with its axis turned round; start from another guess"
    return (
        f"loop '{loop}' stays open by {gap:.3g} (m, rad) after {closings.iterations[first]} iterations: out of reach "
        "with what is held, or too far from the guess"
    )
