"""Parameters of a description by name: their shapes, and copies with other values, payload or friction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.engine.arguments import as_array
from chasles.engine.validators import FINITE, Bound, require
from chasles.geometry.euler_angles import euler_angles_from_rotation
from chasles.model.description import Link
from chasles.model.inertia import MASS, Inertia, impossibility, possible_matrix
from chasles.model.joint import JOINT_PARAMETERS, Joint
from chasles.model.numbers import BOUNDED
from chasles.model.placement import replaced_placement
from chasles.model.record import naming

if TYPE_CHECKING:
    from chasles.model.description import Description

_INERTIAL_SHAPES: dict[str, tuple[int, ...]] = {"mass": (), "center_of_mass": (3,), "inertia": (3, 3)}
_PLACEMENT_SHAPES: dict[str, tuple[int, ...]] = {"position": (3,), "roll_pitch_yaw": (3,)}


def parameter_shapes(description: Description) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the parameters that `build_tree` can replace.

    They are the inertial parameters of each link and of the payload; friction and motor of each moving joint, with the
    shares of a coupled drive in the order of `Joint.drive_coupling`; gravity; and placements: `position` (m) and
    `roll_pitch_yaw` (rad, about the fixed axes x, y, z) of each joint's frame in its parent link, of its child link in
    the joint's frame (`child_position`, `child_roll_pitch_yaw`), of each named frame in its link and of the base in the
    world. In a standard DH table, d and theta are the third elements of the first two, and a and alpha the first
    elements of the next two.

    Examples
    --------
    >>> from chasles.model.description import Description, Link
    >>> list(parameter_shapes(Description("stone", links=(Link("rock"),))))[:4]
    ['links.rock.mass', 'links.rock.center_of_mass', 'links.rock.inertia', 'gravity']
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for link in description.links:
        shapes |= {f"links.{link.name}.{name}": shape for name, shape in _INERTIAL_SHAPES.items()}
    for joint in description.joints:
        if joint.moves:
            names = [name for name in joint.parameters if not (description.loops and name.startswith("load_"))]
            shapes |= {f"joints.{joint.name}.{name}": np.shape(getattr(joint, name)) for name in names}
            if joint.drive_coupling:
                shapes[f"joints.{joint.name}.drive_coupling"] = (len(joint.drive_coupling),)
    shapes["gravity"] = (3,)
    shapes |= {f"payload.{name}": shape for name, shape in _INERTIAL_SHAPES.items()}
    for prefix in _placements(description):
        shapes |= {f"{prefix}{name}": shape for name, shape in _PLACEMENT_SHAPES.items()}
    return shapes


class VariedParameter(NamedTuple):
    """What values in place of one of a robot's parameters must be.

    Attributes
    ----------
    name
        Name that messages have: ``vary['payload.mass']``.
    bound
        Bound of every element.
    ndim
        Number of axes of one value.
    is_inertia
        Whether a value is an inertia matrix.
    """

    name: str
    bound: Bound
    ndim: int
    is_inertia: bool

    def check(self, values: NDArray[np.float64]) -> None:
        """Refuse values (*batch, *shape) that `with_values` would refuse.

        Raises
        ------
        ArgumentError
            The message names the parameter and the run.

        Examples
        --------
        >>> from chasles.model import load
        >>> varied_parameters(load("planar2r"), ["payload.mass"])[0].check(np.array([1.0, -3.0]))
        Traceback (most recent call last):
        ...
        chasles.base.errors.ArgumentError: vary['payload.mass'] is -3.0 in run 1; it must be at least 0
        """
        self.bound.check(values, self.name, self.ndim)
        if self.is_inertia:
            require(possible_matrix(values, self.name))


def varied_parameters(description: Description, names: Iterable[str]) -> list[VariedParameter]:
    """Return the bounds of named parameters.

    Raises
    ------
    UnknownNameError
        There is no such parameter.
    """
    shapes = parameter_shapes(description)
    varied = []
    for name in names:
        if name not in shapes:
            raise UnknownNameError("parameter", name, shapes)
        owner, _, quantity = name.rpartition(".")
        bound = MASS if quantity == "mass" else FINITE if quantity.endswith("roll_pitch_yaw") else BOUNDED
        if owner.startswith("joints."):
            bound = JOINT_PARAMETERS.get(quantity, bound)
        varied.append(VariedParameter(f"vary['{name}']", bound, len(shapes[name]), quantity == "inertia"))
    return varied


def parameter_value(description: Description, name: str) -> NDArray[np.float64]:
    """Return the value of a parameter, a number or an array, by its name in `parameter_shapes`.

    Raises
    ------
    UnknownNameError
        There is no such parameter.

    Examples
    --------
    >>> from chasles.model import load
    >>> parameter_value(load("planar2r"), "links.link2.mass"), parameter_value(load("planar2r"), "frames.tool.position")
    (array(5.), array([0., 0., 0.]))
    """
    if name not in parameter_shapes(description):
        raise UnknownNameError("parameter", name, parameter_shapes(description))
    if name == "gravity":
        return np.array(description.gravity)
    owner, quantity = name.rsplit(".", 1)
    kind, _, own_name = owner.partition(".")
    if quantity.endswith(tuple(_PLACEMENT_SHAPES)):
        if kind == "joints":
            T = _side(description.joint(own_name), quantity)
        else:
            T = description.T_world_base if kind == "base" else description.frame(own_name).T_link_frame
        if quantity.endswith("position"):
            return np.array(T[:3, 3])
        return np.array(euler_angles_from_rotation(T[:3, :3], "xyz"))
    if quantity == "drive_coupling":
        return np.array([share for _, share in description.joint(own_name).drive_coupling])
    if kind == "joints":
        return np.array(getattr(description.joint(own_name), quantity))
    inertia = description.payload if kind == "payload" else description.link(own_name).inertia
    return np.array(getattr(inertia, _INERTIAL[quantity]))


def _side(joint: Joint, quantity: str) -> NDArray[np.float64]:
    return joint.T_joint_child if quantity.startswith("child_") else joint.T_parent_joint


def _placements(description: Description) -> list[str]:
    """Beginnings of the names of all placements."""
    joints = [f"joints.{joint.name}.{side}" for joint in description.joints for side in ("", "child_")]
    return [*joints, *(f"frames.{frame.name}." for frame in description.frames), "base."]


_INERTIAL = {"mass": "mass", "center_of_mass": "center_of_mass", "inertia": "matrix"}


def with_payload(
    description: Description,
    mass: float,
    center_of_mass: ArrayLike = (0, 0, 0),
    inertia: ArrayLike | None = None,
    *,
    frame: str | None = None,
) -> Description:
    """Make a copy that carries a body at a frame, in place of any earlier payload there.

    Parameters
    ----------
    description
        The robot.
    mass
        kg.
    center_of_mass
        Position in the axes of the frame, shape (3,), m.
    inertia
        Inertia about the payload's centre of mass, in the axes of the frame, shape (3, 3), kg·m²; default zero (a point
        mass).
    frame
        Name of the frame or link; default the tool. A body at another frame becomes a link fixed there, named after the
        frame with "_payload" added. A robot can have many of these, each with its own parameters.

    Raises
    ------
    ModelError
        The body is physically impossible.
    UnknownNameError
        There is no such frame.

    Examples
    --------
    >>> from chasles.model import load
    >>> with_payload(load("planar2r"), 2.0, [0.1, 0.0, 0.0]).payload.mass
    2.0
    >>> with_payload(load("planar2r"), 2.0, frame="link1").link_names
    ('link0', 'link1', 'link2', 'link1_payload')
    """
    matrix = np.zeros((3, 3)) if inertia is None else inertia
    where = description.frame(description.tool if frame is None else frame).name
    owner = "payload" if where == description.tool else f"payload at frame '{where}'"
    with naming(owner):
        body = _possible(Inertia(mass, center_of_mass, matrix))
    if where == description.tool:
        return description.replace(payload=body)
    return carrying(description, where, body, f"{where}_payload")


def carrying(description: Description, frame: str, body: Inertia, name: str) -> Description:
    """Make a copy with a body as a link of this name, fixed to a frame by a joint of this name, in place of such."""
    place = description.frame(frame)
    holder = Joint(name, "fixed", place.link, name, T_parent_joint=place.T_link_frame)
    return description.replace(
        links=(*(link for link in description.links if link.name != name), Link(name, body)),
        joints=(*(joint for joint in description.joints if joint.name != name), holder),
    )


def with_friction(
    description: Description,
    *,
    viscous: Mapping[str, float] | ArrayLike | None = None,
    coulomb: Mapping[str, float] | ArrayLike | None = None,
    coulomb_velocity: Mapping[str, ArrayLike] | ArrayLike | None = None,
    coulomb_shares: Mapping[str, ArrayLike] | ArrayLike | None = None,
    load: Mapping[str, float] | ArrayLike | None = None,
    load_velocity: Mapping[str, float] | ArrayLike | None = None,
    torque_offset: Mapping[str, float] | ArrayLike | None = None,
    torque_sine: Mapping[str, float] | ArrayLike | None = None,
    torque_cosine: Mapping[str, float] | ArrayLike | None = None,
) -> Description:
    """Make a copy with other joint friction, or other torques that depend on the joint position; see `Joint`.

    Parameters
    ----------
    description
        The robot.
    viscous, coulomb, load, load_velocity, torque_offset, torque_sine, torque_cosine
        A mapping from joint names to values (the others keep theirs), one number for all independent joints, or one for
        each. Units: N·m·s/rad, N·m, 1, rad/s, N·m (prismatic: N·s/m, N, 1, m/s, N).
    coulomb_velocity
        Velocity scale of Coulomb friction in the same ways, rad/s (m/s); one number for a joint resets its shares. With
        `coulomb_shares` also several for each joint: a mapping from joint names to k numbers, or shape (1 or n, k).
    coulomb_shares
        Shares of the velocities: a mapping from joint names to k numbers, or shape (k,) or (n, k).

    Raises
    ------
    ArgumentError, UnknownNameError, ModelError
        A wrong number of values, an unknown joint, or an invalid friction value.

    Examples
    --------
    >>> from chasles.model import load
    >>> with_friction(load("planar2r"), viscous={"joint2": 0.5}).joint("joint2").viscous_friction
    0.5
    """
    names = description.joint_names
    numbers = {
        "viscous_friction": viscous,
        "coulomb_friction": coulomb,
        "load_friction": load,
        "load_velocity": load_velocity,
        "torque_offset": torque_offset,
        "torque_sine": torque_sine,
        "torque_cosine": torque_cosine,
    }
    changes = {name: _of_joints(value, f"with_friction: {name}", names) for name, value in numbers.items()}
    velocities = _of_joints(coulomb_velocity, "with_friction: coulomb_velocity", names, several=True)
    one = {joint: (1.0,) for joint, velocity in velocities.items() if np.ndim(velocity) == 0}
    if coulomb_shares is not None and not isinstance(coulomb_shares, Mapping):
        shares = as_array(coulomb_shares, "with_friction", "coulomb_shares")
        coulomb_shares = np.atleast_2d(np.asarray(shares, dtype=np.float64))
    changes["coulomb_velocity"] = velocities
    changes["coulomb_shares"] = one | dict(_of_joints(coulomb_shares, "coulomb_shares", names, several=True))
    return _with_joint_parameters(description, changes)


def with_motor_inertia(
    description: Description,
    motor_inertia: Mapping[str, float] | ArrayLike,
    *,
    gear_ratio: Mapping[str, float] | ArrayLike = 1.0,
) -> Description:
    """Make a copy with rotor inertias, which files rarely give although they often dominate behind a gear.

    Parameters
    ----------
    description
        The robot.
    motor_inertia
        Rotor inertia, kg·m² (prismatic joints: kg): a mapping from joint names to values (the others keep theirs), one
        number for all joints but spherical and free ones, or one for each.
    gear_ratio
        Motor revolutions per joint revolution, as numbers or a mapping in the same way: the armature is ``gear_ratio² *
        motor_inertia``. Default 1: the inertia is that seen at the joint.

    Raises
    ------
    ArgumentError, UnknownNameError, ModelError
        A wrong number of values, an unknown joint, or a negative inertia.

    Examples
    --------
    >>> from chasles.model import load
    >>> with_motor_inertia(load("planar2r"), [2e-5, 1e-5], gear_ratio=100.0).joint("joint2").motor_inertia
    1e-05
    """
    names = [joint.name for joint in description.coordinates if not joint.has_quaternion]
    if isinstance(motor_inertia, Mapping) and not isinstance(gear_ratio, Mapping) and np.ndim(gear_ratio) == 0:
        gear_ratio = dict.fromkeys(motor_inertia, float(np.asarray(gear_ratio)))
    given = {"motor_inertia": motor_inertia, "gear_ratio": gear_ratio}
    changes = {
        parameter: _of_joints(values, f"with_motor_inertia: {parameter}", names) for parameter, values in given.items()
    }
    return _with_joint_parameters(description, changes)


def _of_joints(
    values: Mapping[str, Any] | ArrayLike | None, what: str, names: Sequence[str], *, several: bool = False
) -> Mapping[str, Any]:
    """Return values by joint name, given so, as one for all of those named, or as one for each; `several` in rows."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return values
    array = np.asarray(as_array(values, "", what), dtype=np.float64)
    count = len(names)
    try:
        rows = np.broadcast_to(array, (count, *array.shape[1:]) if several and array.ndim == 2 else (count,))
    except ValueError:
        raise ArgumentError(
            f"{what} must be one number or {count} numbers{', or as many rows' if several else ''}, "
            f"not shape {array.shape}"
        ) from None
    return dict(zip(names, rows.tolist(), strict=True))


def _with_joint_parameters(description: Description, changes: Mapping[str, Mapping[str, Any]]) -> Description:
    """Make a copy with other values of joints, for each parameter by joint name."""
    of_joint: dict[str, dict[str, Any]] = {}
    for parameter, values in changes.items():
        for name, value in values.items():
            of_joint.setdefault(description.joint(name).name, {})[parameter] = value
    return description.replace(
        joints=tuple(joint.replace(**of_joint.get(joint.name, {})) for joint in description.joints)
    )


def with_values(description: Description, values: Mapping[str, Any]) -> Description:
    """Make a copy with other values of named parameters; `parameter_shapes` lists the names.

    Raises
    ------
    UnknownNameError, ModelError
        An unknown parameter, or values that are invalid for a robot.

    Examples
    --------
    >>> from chasles.model import load
    >>> with_values(load("planar2r"), {"links.link2.mass": 3.0}).link("link2").inertia.mass
    3.0
    """
    known = parameter_shapes(description)
    for name in values:
        if name not in known:
            raise UnknownNameError("parameter", name, known)

    def changed(record: Any, prefix: str, renamed: Mapping[str, str]) -> Any:
        changes = {
            attribute: values[f"{prefix}.{parameter}"]
            for parameter, attribute in renamed.items()
            if f"{prefix}.{parameter}" in values
        }
        return record.replace(**changes) if changes else record

    def inertia(record: Inertia, prefix: str, owner: str) -> Inertia:
        with naming(owner):
            new: Inertia = changed(record, prefix, _INERTIAL)
            return record if new is record else _possible(new)

    def placed(prefix: str, T: NDArray[np.float64]) -> NDArray[np.float64]:
        position, angles = (values.get(f"{prefix}{name}") for name in _PLACEMENT_SHAPES)
        return replaced_placement(T, position, angles)

    def joint(record: Joint) -> Joint:
        new: Joint = changed(record, f"joints.{record.name}", {name: name for name in JOINT_PARAMETERS})
        shares = values.get(f"joints.{record.name}.drive_coupling")
        if shares is not None:
            pairs = zip(record.drive_coupling, np.asarray(shares).tolist(), strict=True)
            new = new.replace(drive_coupling=[(name, share) for (name, _), share in pairs])
        parent, child = (
            placed(f"joints.{record.name}.{side}", T)
            for side, T in (("", new.T_parent_joint), ("child_", new.T_joint_child))
        )
        moved = parent is not new.T_parent_joint or child is not new.T_joint_child
        return new.replace(T_parent_joint=parent, T_joint_child=child) if moved else new

    return description.replace(
        links=tuple(
            link.replace(inertia=inertia(link.inertia, f"links.{link.name}", f"link '{link.name}'"))
            for link in description.links
        ),
        joints=tuple(map(joint, description.joints)),
        frames=tuple(
            frame.replace(T_link_frame=placed(f"frames.{frame.name}.", frame.T_link_frame))
            for frame in description.frames
        ),
        T_world_base=placed("base.", description.T_world_base),
        payload=inertia(description.payload, "payload", "payload"),
        gravity=values.get("gravity", description.gravity),
    )


def _possible(inertia: Inertia) -> Inertia:
    """Return an inertia that can be calculated with; refuse others."""
    reason = impossibility(inertia)
    if reason is not None:
        raise ModelError(reason)
    return inertia
