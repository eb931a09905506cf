"""Our robots as models of Pinocchio, and the derivatives of its forward dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import chasles as ch
from chasles.model import Description, build_tree


def model_of(robot: ch.Robot) -> Any:
    """A robot of revolute joints as a Pinocchio model, built body by body."""
    tree, model = build_tree(robot.description), pin.Model()
    ids: list[int] = []
    for body in tree.bodies:
        if body.angular != 1.0:
            raise ValueError(f"joint '{body.joint}' does not turn")
        parent = 0 if body.parent < 0 else ids[body.parent]
        place = pin.SE3(np.array(body.R_parent_body, dtype=float), np.array(body.p_parent_body, dtype=float))
        ids.append(model.addJoint(parent, pin.JointModelRZ(), place, body.joint))
        mass, moment = float(body.mass), np.array(body.first_moment, dtype=float)
        center = moment / mass if mass else np.zeros(3)
        about = np.array(body.inertia, dtype=float) - mass * (center @ center * np.eye(3) - np.outer(center, center))
        model.appendBodyToJoint(ids[-1], pin.Inertia(mass, center, about), pin.SE3.Identity())
    model.armature = np.array([float(body.armature) for body in tree.bodies])
    model.gravity.linear = np.array(tree.gravity, dtype=float)
    return model


def acceleration_derivatives(model: Any, robot: ch.Robot, q: Any, qd: Any, tau: Any) -> tuple[Any, ...]:
    """∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ by Pinocchio, to which joint friction, which it does not know, is a torque."""
    slope = np.zeros(robot.n)
    for body in build_tree(robot.description).bodies:
        slope[body.coordinate] = body.viscous_friction
        if body.coulomb_velocity:
            share = 1.0 - np.tanh(qd[body.coordinate] / body.coulomb_velocity) ** 2
            slope[body.coordinate] += body.coulomb_friction * share / body.coulomb_velocity
    data = model.createData()
    pin.computeABADerivatives(model, data, q, qd, tau - robot.friction_torque(q, qd))
    M_inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    return np.array(data.ddq_dq), data.ddq_dv - M_inverse * slope, M_inverse


class ClosedModel:
    """A robot with loops as a Pinocchio model with point or frame constraints, and states from ours.

    Loops of pins in planar machines are point constraints, which are the same there: Pinocchio has those of 3 and 6
    rows only.
    """

    def __init__(self, description: Description) -> None:
        self.tree = build_tree(description)
        self.model = pin.Model()
        places: dict[int, tuple[int, Any]] = {}
        for index in _depth_first(self.tree):
            body = self.tree.bodies[index]
            place = pin.SE3(np.array(body.R_parent_body), np.array(body.p_parent_body))
            parent, before = (0, pin.SE3.Identity()) if body.parent < 0 else places[body.parent]
            if body.placed == "nothing":  # moves with the whole joint
                places[index] = parent, before * place
            else:
                joint = self.model.addJoint(parent, _joint(body), before * place, body.joint)
                places[index] = joint, pin.SE3.Identity()
            if body.mass:
                moment = np.array(body.first_moment)
                center = moment / body.mass
                about = np.array(body.inertia) - body.mass * (center @ center * np.eye(3) - np.outer(center, center))
                inertia = pin.Inertia(float(body.mass), center, about)
                self.model.appendBodyToJoint(places[index][0], inertia, places[index][1])
        self.places = [places[index] for index in range(len(self.tree.bodies))]
        self.model.armature = self.velocity(np.array([float(body.armature) for body in self.tree.bodies]))
        self.model.gravity.linear = np.array(self.tree.gravity)
        self.constraints = pin.StdVec_RigidConstraintModel()
        for loop, closed in zip(description.loops, self.tree.loops, strict=True):
            kind = pin.ContactType.CONTACT_6D if loop.kind == "fixed" else pin.ContactType.CONTACT_3D
            ends = (self._frame(closed.first), self._frame(closed.second))
            self.constraints.append(pin.RigidConstraintModel(kind, self.model, *ends[0], *ends[1], pin.LOCAL))
        self.data, self.rows = self.model.createData(), pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            self.rows.append(constraint.createData())
        pin.initConstraintDynamics(self.model, self.data, self.constraints, self.rows)
        self.settings = pin.ProximalSettings(1e-14, 1e-8, 100)

    def accelerations(self, q: Any, velocities: Any, torques: Any) -> Any:
        """Accelerations of all joints, in our order, from positions, velocities and torques of all joints."""
        return self._places() @ self.call(self.state(q, velocities, torques))

    def fast(self) -> None:
        """Take one proximal step, which leaves about 1e-12 of the accelerations."""
        self.settings = pin.ProximalSettings(1e-12, 1e-12, 1)

    def state(self, q: Any, velocities: Any, torques: Any) -> tuple[Any, Any, Any]:
        """Pinocchio's configuration, velocities and torques."""
        return self.configuration(q), self.velocity(velocities), self.velocity(torques)

    def call(self, state: tuple[Any, Any, Any]) -> Any:
        """Pinocchio's accelerations in its own order."""
        return pin.constraintDynamics(self.model, self.data, *state, self.constraints, self.rows, self.settings)

    def configuration(self, q: Any) -> Any:
        """Pinocchio's configuration."""
        theirs = pin.neutral(self.model)
        for body, (joint, _) in zip(self.tree.bodies, self.places, strict=True):
            start, k = self.model.joints[joint].idx_q, body.position
            if body.placed == "coordinate":
                theirs[start] = q[k]
            elif body.placed == "quaternion":
                theirs[start : start + 4] = q[[k + 1, k + 2, k + 3, k]]
            elif body.placed == "quaternion and position":
                theirs[start : start + 7] = q[[k + 4, k + 5, k + 6, k + 1, k + 2, k + 3, k]]
        return theirs

    def velocity(self, v: Any) -> Any:
        """Pinocchio's velocities, accelerations or torques."""
        return self._places().T @ v

    def _places(self) -> Any:
        """Permutation from Pinocchio's velocities to ours."""
        P = np.zeros((self.tree.n, self.model.nv))
        for body, (joint, _) in zip(self.tree.bodies, self.places, strict=True):
            start = self.model.joints[joint].idx_v
            if body.placed == "coordinate":
                P[body.coordinate, start] = 1.0
            elif body.placed != "nothing":
                first = body.coordinate - 2  # the first body of such a joint turns about z
                linear = 3 if body.placed == "quaternion and position" else 0
                P[first : first + 3, start + linear : start + linear + 3] = np.eye(3)
                P[first + 3 : first + 3 + linear, start : start + linear] = np.eye(linear)
        return P

    def _frame(self, place: Any) -> tuple[int, Any]:
        joint, on_joint = (0, pin.SE3.Identity()) if place.body < 0 else self.places[place.body]
        return joint, on_joint * pin.SE3(place.R_body_frame, place.p_body_frame)


def _depth_first(tree: Any) -> list[int]:
    """Indices of the bodies in the only order that Pinocchio takes."""
    order: list[int] = []
    waiting = [index for index, body in enumerate(tree.bodies) if body.parent < 0][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += [index for index, body in enumerate(tree.bodies) if body.parent == order[-1]][::-1]
    return order


def _joint(body: Any) -> Any:
    if body.placed == "quaternion and position":
        return pin.JointModelFreeFlyer()
    if body.placed == "quaternion":
        return pin.JointModelSpherical()
    return pin.JointModelRZ() if body.angular else pin.JointModelPZ()
