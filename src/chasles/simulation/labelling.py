"""Labels of recorded variables: names, units, and where runs diverged."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles._version import __version__
from chasles.mechanics.plain_coordinates import common_unit
from chasles.model import to_toml
from chasles.robot.robot import Robot
from chasles.simulation.limits import limit_excesses, torques_within
from chasles.simulation.recording import Variable, joint_variable
from chasles.simulation.results import Run

Floats = NDArray[np.float64]


def make_run(
    robot: Robot,
    times: Floats,
    recorded: Sequence[Floats],
    variables: Sequence[Variable],
    varied: Mapping[str, Floats],
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, Any],
    memory_names: Sequence[str] | None = None,
) -> Run:
    """Label recorded arrays of shape (*batch, time, *variable.shape).

    Parameters
    ----------
    robot
        Robot that moved.
    times
        Times of the samples, shape (time,), s.
    recorded, variables
        Recorded arrays, and their variables.
    varied, shapes
        Values of varied parameters, (*batch, *shape), and the shape of each parameter.
    attributes
        Further attributes of the result.
    memory_names
        Names of the elements of the controller's memory, if any.
    """
    labels = _labels(robot)
    arrays = dict(zip((variable.name for variable in variables), recorded, strict=True))
    batch = arrays["q"].shape[:-2]
    runs = _run_dimensions(len(batch))
    effort, velocity = bool(attributes.get("effort_limits", 0)), bool(attributes.get("velocity_limits", 0))
    beyond = limit_excesses(robot, times, arrays["tau"], arrays["qd"], limited=effort)
    described = list(variables)
    if velocity or beyond["saturation_excess"][0].any():
        described += _limit_torques(arrays, robot, effort=effort, velocity=velocity)
    if "q_reference" in arrays:
        place = 1 + next(k for k, variable in enumerate(variables) if variable.name == "qd_reference")
        described.insert(place, _track(arrays, robot))
    data = {
        variable.name: ([*runs, "time", *variable.dims], arrays[variable.name], labels.of(variable))
        for variable in described
    }
    for name, (values, units, long_name) in beyond.items():
        data[name] = ([*runs, "joint"], values, labels.of(joint_variable(name, robot.n, units, long_name)))
    time, joint = _divergence(robot, times, arrays["q"], arrays["qd"])
    data["diverged_at"] = (runs, time, {"units": "s", "long_name": "time of the first value that is not finite"})
    data["diverged_joint"] = (runs, joint, {"units": "", "long_name": "joint that diverged first"})
    about = {"robot": robot.name, "robot_toml": labels.toml, "created_by": f"chasles {__version__}"} | dict(attributes)
    kind = tuple(described), tuple(beyond), batch, tuple(memory_names or ())
    like = None if varied else labels.earlier(kind, times)
    if like is not None:
        run = like.copy(data={name: values for name, (_, values, _) in data.items()})
        run.attrs = about
        return run
    coordinates = labels.coordinates(times, variables, memory_names if "memory" in arrays else None)
    for name, value in varied.items():
        coordinates[name] = _coordinate(name, value, shapes[name], runs)
    run = Run(data, coords=coordinates, attrs=about)
    if not varied:
        labels.keep(kind, times, run)
    return run


def _run_dimensions(axes: int) -> list[str]:
    """Return the names of the dimensions of a batch by their number."""
    return ["run"] if axes == 1 else [f"run_{k}" for k in range(axes)]


def _limit_torques(arrays: dict[str, Floats], robot: Robot, *, effort: bool, velocity: bool) -> list[Variable]:
    """Replace demanded torques by those that acted; return the variable of the demanded ones, if they differ."""
    demanded = arrays["tau"]
    arrays["tau"] = torques_within(robot, demanded, arrays["qd"], effort=effort, velocity=velocity)
    if np.array_equal(arrays["tau"], demanded, equal_nan=True):
        return []
    arrays["tau_demanded"] = demanded
    return [joint_variable("tau_demanded", robot.n, "effort", "torque before the limits")]


def _track(arrays: dict[str, Floats], robot: Robot) -> Variable:
    """Add the tracking error; return its variable."""
    q, reference = arrays["q"], arrays["q_reference"]
    arrays["error"] = np.asarray(reference - q if robot.nq == robot.n else robot.difference(q, reference))
    return joint_variable("error", robot.n, "displacement", "tracking error, reference minus position")


def _coordinate(name: str, value: Floats, shape: tuple[int, ...], runs: Sequence[str]) -> tuple[list[str], Floats]:
    """Return axes and values of a varied parameter, without the axes of runs along which it is one value."""
    batch = value.shape[: value.ndim - len(shape)]
    kept = [k for k, size in enumerate(batch) if size > 1]
    dims = runs[len(runs) - len(batch) :]
    inner = [f"{name}.{k}" for k in range(len(shape))]
    return [*(dims[k] for k in kept), *inner], value.reshape((*(batch[k] for k in kept), *shape))


_COMPONENTS = ("x angular", "y angular", "z angular", "x linear", "y linear", "z linear")


class _Labels:
    """Names and units of a robot's joints, and its description as text."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.joints = list(robot.velocity_names)
        displacements = [unit.removesuffix("/s") for unit in robot.description.velocity_units]
        efforts = ["N" if unit == "m" else "N m" for unit in displacements]
        self.displacements, self.efforts = _read_only(displacements), _read_only(efforts)
        self.units: dict[str, str] = {
            "position": common_unit(list(robot.description.coordinate_units)),
            "displacement": common_unit(displacements),
            "velocity": common_unit([f"{unit}/s" for unit in displacements]),
            "effort": common_unit(efforts),
        }
        self.toml = to_toml(robot.description, mesh_folders=True)
        self._last: tuple[Hashable, Floats, Run] | None = None

    def of(self, variable: Variable) -> dict[str, str]:
        """Return the attributes of a variable."""
        return {"units": self.units.get(variable.units, variable.units), "long_name": variable.long_name}

    def coordinates(
        self, times: Floats, variables: Sequence[Variable], memory_names: Sequence[str] | None
    ) -> dict[str, Any]:
        """Return the axes of variables, with what is known of their places."""
        coordinates: dict[str, Any] = {
            "time": ("time", times, {"units": "s", "long_name": "time"}),
            "joint": ("joint", self.joints),
            "unit": ("joint", self.displacements),
            "effort_unit": ("joint", self.efforts),
        }
        if self.robot.nq != self.robot.n:
            coordinates["coordinate"] = ("coordinate", list(self.robot.coordinate_names))
        if any("component" in variable.dims for variable in variables):
            coordinates["component"] = ("component", list(_COMPONENTS))
        if memory_names is not None:
            coordinates["element"] = ("element", list(memory_names))
        return coordinates

    def earlier(self, kind: Hashable, times: Floats) -> Run | None:
        """Return the last run if it has the same variables, batch and times: copying its labels is far cheaper."""
        if self._last is None:
            return None
        last, last_times, run = self._last
        return run if last == kind and np.array_equal(last_times, times) else None

    def keep(self, kind: Hashable, times: Floats, run: Run) -> None:
        """Keep the labels of a run, without its values."""
        nothing = {name: np.broadcast_to(np.zeros((), array.dtype), array.shape) for name, array in run.items()}
        self._last = kind, times.copy(), run.copy(data=nothing)


def _read_only(names: list[str]) -> NDArray[np.str_]:
    """Return names as an array that several runs may share."""
    array = np.array(names, dtype=np.str_)
    array.flags.writeable = False
    return array


#: Labels by the robots' places in memory, which the labels keep alive; comparing robots would take longer.
_known: OrderedDict[int, _Labels] = OrderedDict()
_KEPT = 32


def _labels(robot: Robot) -> _Labels:
    """Return the labels of a robot, computed once."""
    labels = _known.get(id(robot))
    if labels is None:
        labels = _known[id(robot)] = _Labels(robot)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    return labels


def _divergence(robot: Robot, times: Floats, q: Floats, qd: Floats) -> tuple[Any, Any]:
    """Return the time of each run's first sample that is not finite, and the joint that diverged first.

    If several joints diverge in one sample, it is the fastest of them in the sample before.
    """
    batch = q.shape[:-2]
    if np.isfinite(q[..., -1, :]).all() and np.isfinite(qd[..., -1, :]).all():  # values that diverge stay so
        return np.full(batch, np.nan), np.full(batch, "", dtype="U1")
    lost = ~np.isfinite(qd)
    finite = np.isfinite(q).all(axis=-1) & ~lost.any(axis=-1)
    first = np.argmin(finite, axis=-1)
    time = np.where(finite.all(axis=-1), np.nan, times[first])
    names = np.full(batch, "", dtype=f"U{max(map(len, robot.velocity_names))}")
    for run in np.ndindex(*batch):
        if not np.isnan(time[run]):
            sample = first[run]
            gone = lost[run][sample] if robot.nq != robot.n else lost[run][sample] | ~np.isfinite(q[run][sample])
            speed = np.abs(qd[run][max(sample - 1, 0)])
            candidates = np.where(gone if gone.any() else True, np.nan_to_num(speed, nan=0.0), -1.0)
            names[run] = robot.velocity_names[int(np.argmax(candidates))]
    return time, names
