"""Every quantity of a robot from Chasles and from Pinocchio, at random states.

Pinocchio's spatial vectors have the linear part first, its joints may come in another order, the position of a
continuous joint is the cosine and sine of its angle, and it takes mimic joints for independent ones: its joint
positions are ``S q + offset``. A free base has its position before its quaternion (x, y, z, w), and its linear before
its angular velocity. Its algorithms know no friction; that is added here from the numbers that it read from the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

import chasles as ch

Array = NDArray[np.float64]

REFERENCES = {"space": pin.WORLD, "body": pin.LOCAL, "world-aligned": pin.LOCAL_WORLD_ALIGNED}


NEED_INVERSE = {"inverse mass matrix", "forward dynamics with wrenches", "A", "B"}


@dataclass(frozen=True)
class Comparison:
    """One quantity at N states: arrays (N, …), ours and Pinocchio's.

    ``condition`` (N,) are condition numbers of the mass matrix if the quantity needs its inverse: nobody can know such
    a quantity to better than about ``condition`` times the rounding of a number, which `within` therefore allows.
    """

    name: str
    ours: Array
    theirs: Array
    condition: Array | None = None

    @property
    def error(self) -> float:
        """Largest of `errors`."""
        return float(np.max(self.errors, initial=0.0))

    def within(self, tolerance: float) -> bool:
        """Whether the errors at all states are in the tolerance, or as small as the mass matrix allows."""
        allowed = np.full(len(self.theirs), tolerance)
        if self.condition is not None:
            allowed = np.maximum(allowed, np.finfo(float).eps * self.condition)
        return bool(np.all(self.errors <= allowed))

    @property
    def errors(self) -> Array:
        """Distance at each state, relative to the norm at this state or, where larger, to its root mean square."""
        if self.ours.shape != self.theirs.shape:
            raise ValueError(f"{self.name}: shapes {self.ours.shape} and {self.theirs.shape} differ")
        count = len(self.theirs)
        size = np.linalg.norm(self.theirs.reshape(count, -1), axis=1)
        distance = np.linalg.norm((self.ours - self.theirs).reshape(count, -1), axis=1)
        scale = np.maximum(size, max(float(np.sqrt(np.mean(size**2))), 1e-3))
        relative: Array = np.where(np.isfinite(distance), distance / scale, np.inf)
        return relative


@dataclass
class Pair:
    """One robot for Chasles and for Pinocchio."""

    robot: ch.Robot
    model: Any
    data: Any
    free: bool
    S: Array
    offset: Array
    states: dict[str, Array] = field(repr=False)

    @classmethod
    def from_urdf(cls, path: Path, count: int, *, free: bool = False, check: bool = False, seed: int = 0) -> Pair:
        """Read a file for both, with a free base if wanted, and draw ``count`` random states."""
        robot = ch.load(path, check=check)
        if free:
            robot = robot.with_free_base(joint="root_joint", world="the world")
            model = pin.buildModelFromXML(path.read_text(), pin.JointModelFreeFlyer())
            model.armature = np.zeros(model.nv)  # a tenth for the base otherwise
        else:
            model = pin.buildModelFromXML(path.read_text())
        model.inertias[0] = pin.Inertia.Zero()  # what is welded to the base does not move
        description = robot.description
        moving = [joint for joint in description.joints if joint.moves]
        names = {joint.name for joint in moving}
        if set(model.names) - {"universe"} != names:
            raise ValueError(f"{path.name}: Pinocchio moves {set(model.names) ^ names} otherwise")
        S, offset = np.zeros((model.nv, robot.n)), np.zeros(model.nv)
        if free:
            S[:6, :6] = np.eye(6)[[3, 4, 5, 0, 1, 2]]
        for joint in moving[1:] if free else moving:
            driver, ratio, shift = description.mimics[joint.name]
            row = model.joints[model.getJointId(joint.name)].idx_v
            S[row, description.starts[driver][1]], offset[row] = ratio, shift
        rng = np.random.default_rng(seed)
        frames = _some(description.link_names[1:] if free else description.link_names, 3)
        states = {
            "q": rng.uniform(-3.0, 3.0, (count, robot.nq)),
            "q1": rng.uniform(-3.0, 3.0, (count, robot.nq)),
            "qd": rng.normal(size=(count, robot.n)),
            "qdd": rng.normal(size=(count, robot.n)) * 3.0,
            "tau": rng.normal(size=(count, robot.n)) * 10.0,
            **{f"wrench {name}": rng.normal(size=(count, 6)) * 10.0 for name in frames},
        }
        if free:
            states |= {name: robot.normalize(states[name]) for name in ("q", "q1")}
        return cls(robot, model, model.createData(), free, S, offset, states)

    @property
    def wrenches(self) -> dict[str, Array]:
        """Wrenches on a few links."""
        return {name.removeprefix("wrench "): w for name, w in self.states.items() if name.startswith("wrench ")}

    def comparisons(self, frames: Sequence[str] | None = None) -> Iterator[Comparison]:
        """Compare everything; ``frames`` are those whose Jacobians are compared, by default all."""
        yield from self.configurations()
        yield from self.kinematics(frames)
        yield from self.momenta()
        yield from self.dynamics()

    def configurations(self) -> Iterator[Comparison]:
        """Displacements of configurations; not of continuous joints, whose angles Pinocchio takes modulo a turn."""
        robot, model, q, v = self.robot, self.model, self.states["q"], self.states["qd"]
        x = self._x
        theirs = np.array([pin.integrate(model, *state) for state in zip(x, self._v, strict=True)])
        ours = self._configurations(robot.integrate(q, v))
        if self.free:  # a quaternion and its negative are one orientation
            ours[:, 3:7] *= np.sign(np.sum(ours[:, 3:7] * theirs[:, 3:7], axis=1, keepdims=True))
        yield Comparison("integrate", ours, theirs)
        plain = [j.idx_v for j in list(model.joints)[1:] if j.nq == j.nv]
        rows = [*range(6), *plain] if self.free else plain
        v1 = [pin.difference(model, *pair) for pair in zip(x, self._configurations(self.states["q1"]), strict=True)]
        ours = robot.difference(q, self.states["q1"]) @ self.S.T
        yield Comparison("difference", ours[:, rows], np.array(v1)[:, rows])

    def momenta(self) -> Iterator[Comparison]:
        """Momentum about the centre of mass."""
        if not sum(inertia.mass for inertia in list(self.model.inertias)) > 0.0:
            return
        A, h, h_rate = [], [], []
        for x, v, qdd in zip(self._x, self._v, self.states["qdd"], strict=True):
            A.append(_angular_first(pin.computeCentroidalMap(self.model, self.data, x)) @ self.S)
            pin.computeCentroidalMomentumTimeVariation(self.model, self.data, x, v, self.S @ qdd)
            h.append(_angular_first(self.data.hg.vector))
            h_rate.append(_angular_first(self.data.dhg.vector))
        q, qd, qdd = (self.states[name] for name in ("q", "qd", "qdd"))
        yield Comparison("centroidal momentum matrix", self.robot.centroidal.matrix(q), np.array(A))
        yield Comparison("centroidal momentum", self.robot.centroidal.momentum(q, qd), np.array(h))
        yield Comparison("its rate", self.robot.centroidal.rate(q, qd, qdd), np.array(h_rate))

    def kinematics(self, frames: Sequence[str] | None = None) -> Iterator[Comparison]:
        """Poses of all frames, Jacobians, centre of mass and energies."""
        robot, q, qd = self.robot, self.states["q"], self.states["qd"]
        links = robot.description.link_names[1:] if self.free else robot.description.link_names
        ids = [self.model.getFrameId(link, pin.FrameType.BODY) for link in links]
        indices = [robot.frame_names.index(link) for link in links]
        poses, J, J_rate, com, kinetic, potential = [], [], [], [], [], []
        chosen = list(links if frames is None else frames)
        chosen_ids = [self.model.getFrameId(link, pin.FrameType.BODY) for link in chosen]
        for x, v in zip(self._x, self._v, strict=True):
            pin.computeJointJacobiansTimeVariation(self.model, self.data, x, v)
            pin.updateFramePlacements(self.model, self.data)
            poses.append([self.data.oMf[i].homogeneous for i in ids])
            J.append([[self._jacobian(i, r) for i in chosen_ids] for r in REFERENCES.values()])
            J_rate.append([[self._jacobian_rate(i, r) for i in chosen_ids] for r in REFERENCES.values()])
            kinetic.append(pin.computeKineticEnergy(self.model, self.data, x, v))
            potential.append(pin.computePotentialEnergy(self.model, self.data, x))
            pin.centerOfMass(self.model, self.data, x)
            com.append(self.data.com[0] * self.data.mass[0])
        yield Comparison("poses of all frames", robot.frame_poses(q)[:, indices], np.array(poses))
        yield Comparison("pose of the tool", robot.forward_kinematics(q), robot.frame_poses(q)[:, self._tool])
        expected, expected_rate = np.array(J), np.array(J_rate)
        for k, reference in enumerate(REFERENCES):
            for name in chosen:
                of = f"{reference} of '{name}'"
                at = (slice(None), k, chosen.index(name))
                ours = robot.jacobian(q, frame=reference, target=name)
                yield Comparison(f"Jacobian, {of}", ours, expected[at])
                rate = robot.jacobian_derivative(q, qd, frame=reference, target=name)
                yield Comparison(f"Jacobian's derivative, {of}", rate, expected_rate[at])
        yield Comparison("kinetic energy", robot.kinetic_energy(q, qd), np.array(kinetic))
        yield Comparison("potential energy", robot.potential_energy(q), np.array(potential))
        mass = sum(inertia.mass for inertia in list(self.model.inertias))
        yield Comparison("centre of mass", robot.center_of_mass(q) * mass, np.array(com))

    def dynamics(self) -> Iterator[Comparison]:
        """Everything in which forces take part; without what needs the inverse of a mass matrix that has none."""
        robot, S, w = self.robot, self.S, self.wrenches
        q, qd, qdd, tau = (self.states[name] for name in ("q", "qd", "qdd", "tau"))
        friction, slope = self._friction
        rows: dict[str, list[Array]] = {}
        for k, (x, v) in enumerate(zip(self._x, self._v, strict=True)):
            f = self._forces(k)
            a = S @ qdd[k]
            M = S.T @ _full(pin.crba(self.model, self.data, x)) @ S
            C = S.T @ pin.computeCoriolisMatrix(self.model, self.data, x, v) @ S
            still = np.zeros(self.model.nv)
            h = S.T @ pin.rnea(self.model, self.data, x, v, still, f) + friction[k]
            if not self.is_invertible:
                acceleration, M_inverse = np.full(robot.n, np.nan), np.full_like(M, np.nan)
            elif self._has_mimics:
                acceleration = np.linalg.solve(M, tau[k] - h)
            else:
                torque = S @ (tau[k] - friction[k])
                acceleration = S.T @ pin.aba(self.model, self.data, x, v, torque, f)
            exact = acceleration
            if self.is_invertible:
                # Where light links end a heavy robot, computeMinverse and aba lose three or four digits more.
                M_inverse, exact = np.linalg.inv(M), np.linalg.solve(M, tau[k] - h)
            by_q, by_qd = self._derivatives(x, v, a, f)
            A_q, A_qd = self._derivatives(x, v, S @ exact, f)
            n = robot.n
            carried = np.zeros((n, n))
            if self.free:
                omega, velocity = (np.cross(part, -np.eye(3)).T for part in (qd[k, :3], qd[k, 3:6]))
                carried[:6, :6] = np.block([[omega, np.zeros((3, 3))], [velocity, omega]])
            A = np.block([[carried, np.eye(n)], [-M_inverse @ A_q, -M_inverse @ (A_qd + slope)]])
            for name, value in {
                "inverse dynamics": S.T @ pin.rnea(self.model, self.data, x, v, a) + friction[k],
                "inverse dynamics with wrenches": S.T @ pin.rnea(self.model, self.data, x, v, a, f) + friction[k],
                "bias": h,
                "gravity": S.T @ pin.computeGeneralizedGravity(self.model, self.data, x),
                "mass matrix": M,
                "inverse mass matrix": M_inverse,
                "Coriolis matrix": C,
                "Coriolis vector": C @ qd[k],
                "forward dynamics with wrenches": acceleration,
                "dtau/dq": by_q,
                "dtau/dqd": by_qd + slope,
                "A": A,
                "B": np.concatenate([np.zeros((n, n)), M_inverse]),
            }.items():
                rows.setdefault(name, []).append(np.array(value))
        theirs = {name: np.array(values) for name, values in rows.items()}
        C = robot.coriolis_matrix(q, qd)
        dtau_dq, dtau_dqd, dtau_dqdd = robot.inverse_dynamics_derivatives(q, qd, qdd, wrenches=w)
        ours = {
            "inverse dynamics": robot.inverse_dynamics(q, qd, qdd),
            "inverse dynamics with wrenches": robot.inverse_dynamics(q, qd, qdd, wrenches=w),
            "bias": robot.bias(q, qd, wrenches=w),
            "gravity": robot.gravity_torque(q),
            "mass matrix": robot.mass_matrix(q),
            "Coriolis matrix": C,
            "Coriolis vector": robot.coriolis_vector(q, qd),
            "dtau/dq": dtau_dq,
            "dtau/dqd": dtau_dqd,
        }
        if self.is_invertible:
            ours["inverse mass matrix"] = robot.inverse_mass_matrix(q)
            ours["forward dynamics with wrenches"] = robot.forward_dynamics(q, qd, tau, wrenches=w)
            ours["A"], ours["B"] = robot.linearize(q, qd, tau, wrenches=w)
        for name, value in ours.items():
            condition = self._condition if name in NEED_INVERSE else None
            yield Comparison(name, value, theirs[name], condition)
        yield Comparison("Coriolis matrix times velocity", (C @ qd[..., None])[..., 0], theirs["Coriolis vector"])
        yield Comparison("dtau/dqdd", dtau_dqdd, theirs["mass matrix"])

    @property
    def _tool(self) -> int:
        return self.robot.frame_names.index(self.robot.description.tool)

    @property
    def _has_mimics(self) -> bool:
        return self.model.nv != self.robot.n

    @cached_property
    def is_invertible(self) -> bool:
        """Whether the mass matrix has an inverse: it has none where a joint moves nothing that has mass."""
        return bool(self._condition.max() < 1e15)

    @cached_property
    def _condition(self) -> Array:
        matrices = [self.S.T @ _full(pin.crba(self.model, self.data, x)) @ self.S for x in self._x]
        return np.linalg.cond(np.array(matrices))

    @cached_property
    def _x(self) -> Array:
        return self._configurations(self.states["q"])

    def _configurations(self, q: Array) -> Array:
        """Pinocchio's configurations for ours."""
        rows = np.tile(pin.neutral(self.model), (len(q), 1))
        base = 7 if self.free else 0
        if self.free:
            rows[:, :7] = q[:, [4, 5, 6, 1, 2, 3, 0]]
        freedoms = slice(6 if self.free else 0, None)
        positions = q[:, base:] @ self.S[freedoms, freedoms].T + self.offset[freedoms]
        for joint in list(self.model.joints)[2 if self.free else 1 :]:
            angle = positions[:, joint.idx_v - freedoms.start]
            if joint.nq == 1:
                rows[:, joint.idx_q] = angle
            else:
                rows[:, joint.idx_q], rows[:, joint.idx_q + 1] = np.cos(angle), np.sin(angle)
        return rows

    @cached_property
    def _v(self) -> Array:
        return self.states["qd"] @ self.S.T

    @cached_property
    def _friction(self) -> tuple[Array, Array]:
        """Torques (N, n) of the joints' friction and their derivative (n, n) by qd."""
        viscous, dry = np.asarray(self.model.damping), np.asarray(self.model.friction)
        return (viscous * self._v + dry * np.sign(self._v)) @ self.S, self.S.T @ np.diag(viscous) @ self.S

    def _forces(self, k: int) -> list[Any]:
        """The wrenches of one state as forces on joints, in the joints' frames."""
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for name, wrenches in self.wrenches.items():
            frame = self.model.frames[self.model.getFrameId(name, pin.FrameType.BODY)]
            m, f = wrenches[k, :3], wrenches[k, 3:]
            forces[frame.parentJoint] += frame.placement.act(pin.Force(f, m))
        return forces

    def _derivatives(self, x: Array, v: Array, a: Array, f: list[Any]) -> tuple[Array, Array]:
        by_q, by_qd, _ = pin.computeRNEADerivatives(self.model, self.data, x, v, a, f)
        return self.S.T @ by_q @ self.S, self.S.T @ by_qd @ self.S

    def _jacobian(self, frame: int, reference: Any) -> Array:
        return _angular_first(pin.getFrameJacobian(self.model, self.data, frame, reference)) @ self.S

    def _jacobian_rate(self, frame: int, reference: Any) -> Array:
        return _angular_first(pin.getFrameJacobianTimeVariation(self.model, self.data, frame, reference)) @ self.S


def _some(names: Sequence[str], count: int) -> list[str]:
    """That many names, evenly spread and with the last."""
    return [names[i] for i in sorted(set(np.linspace(0, len(names) - 1, count).astype(int).tolist()))]


def _angular_first(J: Array) -> Array:
    return np.concatenate([J[3:], J[:3]])


def _full(upper: Array) -> Array:
    """The symmetric matrix with this upper triangle, all that Pinocchio fills."""
    return np.triu(upper) + np.triu(upper, 1).T
