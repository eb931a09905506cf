"""Trajectories as labelled tables: `xarray.Dataset` with names and units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.base.errors import import_extra
from chasles.geometry import quaternion_from_rotation
from chasles.mechanics.plain_coordinates import common_unit, position_units
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.joint.closed import on_manifold
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.trajectory import batch_dims

if TYPE_CHECKING:
    import xarray

    from chasles.robot.robot import Robot

_JOINT_VARIABLES = {
    "q": ("joint position", ""),
    "qd": ("joint velocity", "/s"),
    "qdd": ("joint acceleration", "/s²"),
    "jerk": ("joint jerk", "/s³"),
}


@verbs.to_dataset.register(JointTrajectory)
def joint_dataset(trajectory: JointTrajectory, dt: float, *, robot: Robot | None = None) -> xarray.Dataset:
    """Samples of a joint trajectory over (trajectory, time, joint).

    Parameters
    ----------
    trajectory
        One trajectory or a batch; its axes become the dimensions ``trajectory``, or ``trajectory_0``, ….
    dt
        Step, s; the end is always among the samples.
    robot
        The robot that is to move, whose joints' names and units the table bears; without it joints are numbered and
        turning.

    Raises
    ------
    ArgumentError
        If the robot has another number of joints, or dt is not a positive number.
    MissingExtraError
        If xarray is not installed.

    Examples
    --------
    >>> import chasles as ch
    >>> table = ch.PointToPoint([0.0, 0.0], [1.0, -2.0], duration=1.0).to_dataset(0.5, robot=ch.load("planar2r"))
    >>> table.qd.sel(joint="joint2").values + 0.0, table.qd.units
    (array([ 0.  , -3.75,  0.  ]), 'rad/s')
    """
    motion = trajectory if robot is None else on_manifold(robot, trajectory)
    units, times = position_units(robot, motion.n), motion.sample_times(dt)
    rate_units = units if robot is None else tuple(unit.removesuffix("/s") for unit in robot.description.velocity_units)
    axis = "joint" if motion.n == motion.nv else "coordinate"
    data = {}
    for (name, (long_name, suffix)), values in zip(_JOINT_VARIABLES.items(), along(motion, times), strict=True):
        unit = common_unit([unit + suffix for unit in (rate_units if suffix else units)])
        dims = [*batch_dims(motion.batch), "time", "joint" if suffix else axis]
        data[name] = (dims, values, {"units": unit, "long_name": long_name})
    names = list(robot.velocity_names) if robot is not None else np.arange(motion.nv)
    coordinates = {"time": _time(times), "joint": ("joint", names), "unit": ("joint", list(rate_units))}
    if robot is not None and axis == "coordinate":
        coordinates["coordinate"] = ("coordinate", list(robot.coordinate_names))
    attributes = {"trajectory": repr(trajectory), **({"robot": robot.name} if robot is not None else {})}
    return _dataset(data, coordinates, attributes)


@verbs.to_dataset.register(CartesianTrajectory)
def pose_dataset(trajectory: CartesianTrajectory, dt: float) -> xarray.Dataset:
    """Samples of a motion in space over (trajectory, time).

    Parameters
    ----------
    trajectory
        One trajectory or a batch; its axes become the dimensions ``trajectory``, or ``trajectory_0``, ….
    dt
        Step, s; the end is always among the samples.

    Returns
    -------
    xarray.Dataset
        ``position``, ``velocity``, ``acceleration`` of the frame's origin, ``angular_velocity`` and
        ``angular_acceleration`` over the world's axes x, y, z; the unit ``quaternion`` of the orientation over w, x, y,
        z, with the sign that makes it continuous in time.

    Raises
    ------
    ArgumentError
        If dt is not a positive number.
    MissingExtraError
        If xarray is not installed.
    """
    times = trajectory.sample_times(dt)
    motion = trajectory.sample(dt).motion
    dims = [*batch_dims(trajectory.batch), "time"]
    quaternion = continuous(quaternion_from_rotation(motion.pose[..., :3, :3]))
    vectors = {
        "position": (motion.pose[..., :3, 3], "m"),
        "velocity": (motion.twist[..., 3:], "m/s"),
        "acceleration": (motion.acceleration[..., 3:], "m/s²"),
        "angular_velocity": (motion.twist[..., :3], "rad/s"),
        "angular_acceleration": (motion.acceleration[..., :3], "rad/s²"),
    }
    data: dict[str, Any] = {
        name: ([*dims, "axis"], values, {"units": unit, "long_name": name.replace("_", " ")})
        for name, (values, unit) in vectors.items()
    }
    data["quaternion"] = ([*dims, "component"], quaternion, {"units": "1", "long_name": "orientation"})
    coordinates = {"time": _time(times), "axis": ["x", "y", "z"], "component": ["w", "x", "y", "z"]}
    attributes = {"trajectory": repr(trajectory)}
    return _dataset(data, coordinates, attributes)


def _dataset(data: dict[str, Any], coordinates: dict[str, Any], attributes: dict[str, str]) -> xarray.Dataset:
    library = import_extra("xarray", "data", "a table of a trajectory")
    table: xarray.Dataset = library.Dataset(data, coords=coordinates, attrs=attributes)
    return table


def continuous(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quaternions (..., k, 4) with the signs that make neighbours along the axis before the last agree.

    >>> continuous(np.array([[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])) + 0.0
    array([[1., 0., 0., 0.],
           [1., 0., 0., 0.]])
    """
    products = np.sum(quaternions[..., 1:, :] * quaternions[..., :-1, :], axis=-1)
    signs = np.cumprod(np.where(products < 0.0, -1.0, 1.0), axis=-1)
    first = np.ones((*signs.shape[:-1], 1))
    return np.asarray(quaternions * np.concatenate([first, signs], axis=-1)[..., None])


def along(trajectory: JointTrajectory, times: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Positions, velocities, accelerations and jerks of each trajectory at each of the times (k,), (*batch, k, …)."""
    axes = len(trajectory.batch)
    parts = trajectory.derivatives(times.reshape(-1, *(1,) * axes))
    shape = (len(times), *trajectory.batch)
    return [np.moveaxis(np.broadcast_to(part, (*shape, part.shape[-1])), 0, axes) for part in parts]


def _time(times: NDArray[np.float64]) -> tuple[str, NDArray[np.float64], dict[str, str]]:
    return "time", times, {"units": "s", "long_name": "time"}
