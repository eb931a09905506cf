"""Results of simulations: labelled arrays with units."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chasles._version import __version__
from chasles.errors import MissingExtraError
from chasles.robot import Robot
from chasles.trajectories.tables import common_unit, joint_units

try:
    import xarray
except ImportError as error:
    raise MissingExtraError("xarray", "data", "a simulation's result") from error

_LONG_NAMES = {
    "q": ("joint position", ""),
    "qd": ("joint velocity", "/s"),
    "tau": ("joint torque", None),
    "q_reference": ("reference joint position", ""),
    "qd_reference": ("reference joint velocity", "/s"),
    "error": ("tracking error, reference minus position", ""),
}


class Run(xarray.Dataset):  # type: ignore[no-untyped-call]
    """Result of `chasles.simulate`: an `xarray.Dataset` with the dimensions (run, time, joint).

    A single run has no dimension ``run``; a batch with several axes has ``run_0``, ``run_1``, …

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.1)
    >>> run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
    >>> run["q"].dims, run["q"].attrs["units"]
    (('time', 'joint'), 'rad')
    """

    __slots__ = ()

    def report(self, path: str | PathLike[str], title: str | None = None) -> Path:
        """Write one self-contained HTML page with plots and the motion in 3D.

        Parameters
        ----------
        path
            Of the page.
        title
            Its heading; default the robot's name.

        Returns
        -------
        Path
            Where the page is.

        Raises
        ------
        MissingExtraError
            If Plotly is not installed.
        """
        from chasles.visual.report import write_report

        return write_report({title or str(self.attrs["robot"]): self}, path)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Read a run that ``to_netcdf`` has written.

        Parameters
        ----------
        path
            Of the netCDF file.
        """
        with xarray.open_dataset(path) as data:
            loaded = data.load()
        return cls(loaded.data_vars, loaded.coords, loaded.attrs)


def make_run(
    robot: Robot,
    times: NDArray[np.float64],
    recorded: Mapping[str, NDArray[np.float64]],
    varied: Mapping[str, NDArray[np.float64]],
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, Any],
) -> Run:
    """Label recorded arrays of shape (*batch, time, n)."""
    batch = recorded["q"].shape[:-2]
    runs = [] if not batch else ["run"] if len(batch) == 1 else [f"run_{k}" for k in range(len(batch))]
    units = joint_units(robot, robot.n)
    efforts = ["N" if unit == "m" else "N m" for unit in units]
    arrays = {**recorded, "error": recorded["q_reference"] - recorded["q"]}
    data = {}
    for name, array in arrays.items():
        long_name, suffix = _LONG_NAMES[name]
        each = efforts if suffix is None else [unit + suffix for unit in units]
        data[name] = ([*runs, "time", "joint"], array, {"units": common_unit(each), "long_name": long_name})
    finite = np.isfinite(recorded["q"]).all(axis=-1)
    diverged = np.where(finite.all(axis=-1), np.nan, times[np.argmin(finite, axis=-1)])
    data["diverged_at"] = (runs, diverged, {"units": "s", "long_name": "time of the first value that is not finite"})
    coordinates: dict[str, Any] = {
        "time": ("time", times, {"units": "s", "long_name": "time"}),
        "joint": ("joint", list(robot.joint_names)),
        "unit": ("joint", list(units)),
        "effort_unit": ("joint", efforts),
    }
    for name, value in varied.items():
        own = value.shape[: value.ndim - len(shapes[name])]
        dims = runs[len(runs) - len(own) :]
        kept = [k for k, size in enumerate(own) if size > 1]
        inner = [f"{name}.{k}" for k in range(len(shapes[name]))]
        squeezed = value.reshape((*(own[k] for k in kept), *shapes[name]))
        coordinates[name] = ([*(dims[k] for k in kept), *inner], squeezed)
    return Run(
        data,
        coords=coordinates,
        attrs={
            "robot": robot.name,
            "robot_toml": robot.to_toml(),
            "created_by": f"chasles {__version__}",
            **attributes,
        },
    )
