"""Our robots as models of Pinocchio, and the derivatives of its forward dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import chasles as ch
from chasles.model import build_tree


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
    pin.computeABADerivatives(model, data, q, qd, tau - robot.friction_torque(qd))
    M_inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    return np.array(data.ddq_dq), data.ddq_dv - M_inverse * slope, M_inverse
