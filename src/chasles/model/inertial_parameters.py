"""Vector of the parameters that the equation of motion is linear in: order, names and values.

A *moving body* is a link that a joint moves, with all links that fixed joints hold to it and the payload if it is
there: no motion tells them apart. First come ten numbers for each moving body, in the order of the tree,

    m   mx my mz   Ixx Ixy Ixz Iyy Iyz Izz

(mass, kg; mass times centre of mass, kg·m; inertia about the origin, kg·m², elements of the matrix), about the origin
and in the axes of the frame of the link that the joint moves. Then come three numbers for each moving joint,

    viscous_friction   coulomb_friction   armature

(three for each degree of freedom of a joint with several), where the armature is gear_ratio² motor_inertia. Links of
the fixed base do not appear: they have no effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError
from chasles.engine.arguments import as_array
from chasles.geometry.pseudo_inertias import (
    inertial_parameters_from_pseudo_inertia,
    moments_of_inertia,
    pseudo_inertia_from_inertial_parameters,
    pseudo_inertia_of_moments,
    second_moments,
)
from chasles.model.inertia import Inertia, impossibility
from chasles.model.record import naming
from chasles.model.tree import MovingBody, Tree, build_tree

if TYPE_CHECKING:
    from chasles.model.description import Description
    from chasles.model.joint import Joint

OF_BODY = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
OF_JOINT = ("viscous_friction", "coulomb_friction", "armature")

Vector = NDArray[np.float64]


def inertial_parameter_names(tree: Tree) -> tuple[str, ...]:
    """Names of the parameters, in order: link or joint, a dot, and the quantity.

    Examples
    --------
    >>> from chasles.model import load
    >>> names = inertial_parameter_names(build_tree(load("planar2r")))
    >>> names[:3], names[-1]
    (('link1.m', 'link1.mx', 'link1.my'), 'joint2.armature')
    """
    of_bodies = [f"{body.name}.{name}" for body in _carriers(tree) for name in OF_BODY]
    return tuple(of_bodies + [f"{body.joint}.{name}" for body in tree.bodies for name in OF_JOINT])


def inertial_parameters(tree: Tree) -> Vector:
    """Values of the parameters, shape (parameters,).

    Examples
    --------
    The upper rod: 5 kg, its centre half of 0.25 m before the origin at its end, 5 · 0.25² / 3 kg·m² about that end.

    >>> from chasles.model import load
    >>> inertial_parameters(build_tree(load("planar2r")))[10:20].round(4)
    array([ 5.    , -0.625 ,  0.    ,  0.    ,  0.    ,  0.    ,  0.    , 0.1042,  0.    ,  0.1042])
    """
    of_bodies = [number for body in _carriers(tree) for number in _parameters_of_body(tree, body)]
    return np.array(of_bodies + [getattr(body, name) for body in tree.bodies for name in OF_JOINT])


def with_inertial_parameters(description: Description, values: ArrayLike, *, check: bool = True) -> Description:
    """Make a copy of a robot with other inertial parameters.

    The link that a joint moves takes the inertia of the whole moving body; the links fixed to it, and the payload,
    become massless. An armature sets the motor inertia; the gear ratio is unchanged.

    Parameters
    ----------
    description
        The robot.
    values
        Parameter values in the order of `inertial_parameter_names`, shape (parameters,).
    check
        Whether to check that the inertias can be calculated with.

    Raises
    ------
    ModelError
        The vector has a wrong length or is not finite; friction or armature is negative, or differs between the degrees
        of freedom of one joint; or, with `check`, a mass or moment of inertia is negative, or a body has a first moment
        but no mass, as minimal parameters may. The message names the link or joint.

    Examples
    --------
    >>> from chasles.model import load
    >>> arm = load("planar2r")
    >>> values = inertial_parameters(build_tree(arm))
    >>> values[:3] = 12.0, -2.0, 0.0
    >>> with_inertial_parameters(arm, values).link("link1").inertia.mass
    12.0
    """
    tree = build_tree(description)
    vector = _checked_vector(tree, values)
    carriers = _carriers(tree)
    inertial = 10 * len(carriers)
    of_bodies, of_joints = vector[:inertial].reshape(-1, 10), vector[inertial:].reshape(-1, 3)
    inertias = {
        body.name: _inertia(numbers, body.name, check) for body, numbers in zip(carriers, of_bodies, strict=True)
    }
    moving = {name for name, place in tree.frames.items() if place.body >= 0}
    motors = {body.joint: numbers for body, numbers in zip(tree.bodies, of_joints, strict=True)}
    links = [
        link.replace(inertia=inertias.get(link.name, Inertia())) if link.name in moving else link
        for link in description.links
    ]
    return description.replace(
        links=tuple(links),
        joints=tuple(
            _with_losses(joint, [motors[name] for name in joint.velocity_names]) for joint in description.joints
        ),
        payload=Inertia() if description.tool in moving else description.payload,
    )


def _parameters_of_body(tree: Tree, body: MovingBody) -> Vector:
    place = tree.frames[body.name]
    R, p = place.R_body_frame, place.p_body_frame
    first = body.first_moment - body.mass * p
    second = second_moments(body.inertia) - np.outer(p, body.first_moment) - np.outer(first, p)
    J = pseudo_inertia_of_moments(body.mass, R.T @ first, R.T @ second @ R)
    parameters: Vector = inertial_parameters_from_pseudo_inertia.formula(J) + 0.0
    return parameters


def _carriers(tree: Tree) -> list[MovingBody]:
    return [tree.bodies[index] for index in tree.carriers]


def _checked_vector(tree: Tree, values: ArrayLike) -> Vector:
    bodies, freedoms = len(tree.carriers), len(tree.bodies)
    vector = np.asarray(as_array(values, "", "inertial parameters"), dtype=np.float64)
    if vector.shape != (10 * bodies + 3 * freedoms,):
        raise ModelError(
            f"inertial parameters must be {10 * bodies + 3 * freedoms} numbers, ten for each of {bodies} moving bodies "
            f"and three for each of the {freedoms} degrees of freedom, not shape {vector.shape}"
        )
    for name, value in zip(inertial_parameter_names(tree), vector, strict=True):
        if not np.isfinite(value):
            raise ModelError(f"the inertial parameter {name} must be finite, not {value}")
    return vector


def _inertia(parameters: Vector, link: str, check: bool) -> Inertia:
    J = pseudo_inertia_from_inertial_parameters.formula(parameters)
    mass, first = J[3, 3], J[:3, 3]
    center = first / mass if mass else np.zeros(3)
    with naming(f"link '{link}'"):
        matrix = moments_of_inertia(J[:3, :3] - np.outer(first, center))
        inertia = Inertia(mass, center, matrix, np.zeros(3) if mass else first)
    reason = impossibility(inertia) if check else None
    if reason is not None:
        raise ModelError(f"link '{link}': {reason} (check=False skips this check)")
    return inertia


def _with_losses(joint: Joint, losses: list[Vector]) -> Joint:
    if not losses:
        return joint
    if any((loss != losses[0]).any() for loss in losses):
        raise ModelError(f"joint '{joint.name}': friction and armature must be equal in all its degrees of freedom")
    viscous, coulomb, armature = losses[0].tolist()
    if armature == joint.gear_ratio**2 * joint.motor_inertia:
        return joint.replace(viscous_friction=viscous, coulomb_friction=coulomb)
    gear_ratio = joint.gear_ratio if joint.gear_ratio**2 > 0.0 else 1.0
    return joint.replace(
        viscous_friction=viscous,
        coulomb_friction=coulomb,
        motor_inertia=armature / gear_ratio**2,
        gear_ratio=gear_ratio,
    )
