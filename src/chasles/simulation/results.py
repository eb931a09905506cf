"""Results of simulations: labelled arrays with units."""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from chasles.base import verbs
from chasles.base.errors import ArgumentError, MissingExtraError
from chasles.base.findings import Finding
from chasles.base.writing import TABLE, path_to_write, replacing
from chasles.model.formats.mesh_files import with_meshes
from chasles.model.formats.to_toml import to_toml
from chasles.model.formats.toml import parse_toml

try:
    import xarray
except ImportError as error:
    raise MissingExtraError("xarray", "data", "a simulation's result") from error

if TYPE_CHECKING:
    import pandas
    from plotly.graph_objects import Figure

    from chasles.base.verbs import MovieOptions, Shown, ViewOptions
    from chasles.simulation.energy_audit import EnergyAudit


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

    def metrics(self, *, frame: str | None = None, settling_band: ArrayLike | None = None) -> xarray.Dataset:
        """Return measures of control performance for each run.

        Errors are reference minus position, at the recorded samples k = 0 … N:

        ``rms_error``, ``peak_error`` (joint)
            √(mean eₖ²) and max |eₖ|, rad (prismatic joints m).
        ``rms_position_error``, ``peak_position_error``, ``rms_rotation_error``, ``peak_rotation_error``
            Errors of a frame by forward kinematics: distance of its origin from the reference, m, and angle of the
            rotation between frame and reference, rad.

        Torques act on the joints: those of the controller or, in a plant with motors, of the motors (``tau_applied``).
        They count as constant between two samples, for h seconds:

        ``effort``, ``mean_torque``, ``peak_torque`` (joint)
            Σ τₖ² h, (N·m)²·s; Σ |τₖ| h over the duration, N·m; max |τₖ|, N·m.
        ``work``, ``absolute_work`` (joint)
            Σ τₖ (qₖ₊₁ - qₖ), J, and the sum of the absolute values, the work of a drive without recuperation. Exact if
            every period is recorded and torques are held; see `energy_audit` for plants with motors. For elastic
            joints, q is the position of the motor.

        The goal is the last position of the reference, and the travel is the distance to it from the first position:

        ``settling_time`` (joint)
            Time from the reference's arrival, with all joints, until the joint stays within a band about the goal, s; 0
            if it is within the band already. NaN if the reference moves until the end (simulate with a longer
            ``duration``), if the joint is outside the band at the end, or if it has no travel and no band is given.
        ``overshoot`` (joint)
            Distance by which the joint exceeds the farthest position of its reference in the direction of travel, rad.
            NaN without travel.

        All measures are NaN for a run that diverged. References in Cartesian space have no joint errors, settling times
        and overshoots; the latter two are also missing for joints with several degrees of freedom.

        Parameters
        ----------
        frame
            Frame or link whose pose errors are computed; default the tool.
        settling_band
            Half the width of the band about the goal, rad, a scalar or one value per joint; default 2 % of the travel.

        Returns
        -------
        xarray.Dataset
            Measures over (run, joint) or (run), with units and varied parameters.

        Raises
        ------
        ArgumentError
            The run has fewer than two samples, or the band is not above zero.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
        >>> controller = ch.PDGravity(arm, kp=400.0, kd=40.0)
        >>> run = ch.simulate(arm, controller, motion, duration=2.0, vary={"payload.mass": [0.0, 2.0]})
        >>> numbers = run.metrics()
        >>> numbers.rms_error.dims, bool((numbers.rms_error[1] > numbers.rms_error[0]).all())
        (('run', 'joint'), True)
        """
        from chasles.simulation.metrics import run_metrics

        return run_metrics(self, frame=frame, settling_band=settling_band)

    def energy_audit(self, *, electrical: bool = False) -> EnergyAudit:
        """Return the energy balance of a run that was simulated with ``Recording(energies=True)``.

        Parameters
        ----------
        electrical
            Whether the balance starts at the motor terminals instead of the motor shafts.

        Raises
        ------
        ArgumentError
            The run has no audit, or an electrical balance is requested of a plant without motors.
        """
        from chasles.simulation.energy_audit import energy_audit

        return energy_audit(self, electrical=electrical)

    def to_table(self) -> pandas.DataFrame:
        """Return one row for each time, and run, with a column for each recorded number, such as ``"q.joint1"``.

        Quantities of a whole run, as `saturation_time`, are not in it; ``to_dataframe`` of xarray gives one row for
        each number.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.1)
        >>> table = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion).to_table()
        >>> table.shape, list(table.columns[:4])
        ((101, 12), ['q.joint1', 'q.joint2', 'qd.joint1', 'qd.joint2'])
        """
        import pandas

        runs = [str(dim) for dim in self["q"].dims if str(dim).startswith("run")]
        columns = {}
        for name, values in self.data_vars.items():
            if "time" not in values.dims:
                continue
            first = values.transpose(*runs, "time", ...)
            inner = [str(dim) for dim in first.dims if dim not in (*runs, "time")]
            flat = first.values.reshape(*first.shape[: len(runs) + 1], math.prod(first.shape[len(runs) + 1 :]))
            labels = [self[dim].values if dim in self.coords else np.arange(self.sizes[dim]) for dim in inner]
            for column, label in enumerate(product(*labels)):
                columns[".".join(map(str, (name, *label)))] = flat[..., column].ravel()
        axes = [*(np.arange(self.sizes[run]) for run in runs), self["time"].values]
        index = (
            pandas.MultiIndex.from_product(axes, names=[*runs, "time"]) if runs else pandas.Index(axes[0], name="time")
        )
        return pandas.DataFrame(columns, index=index)

    def to_netcdf(self, path: Any = None, *args: Any, **keywords: Any) -> Any:
        """Write the run as a netCDF file, whole or not at all; parameters as for `xarray.Dataset.to_netcdf`.

        The file does not name the folders of this machine: where the robot's meshes are is said from the place of the
        file, if both are below one folder.

        Raises
        ------
        ArgumentError
            The file cannot be written.
        """
        mode = args[0] if args else keywords.get("mode", "w")
        if not isinstance(path, str | PathLike) or mode != "w" or not keywords.get("compute", True):
            return super().to_netcdf(path, *args, **keywords)
        place = Path(path).absolute().parent
        portable = self._with_mesh_folders(lambda folder: _seen_from(place, folder))
        with replacing(path) as temporary:
            try:
                return xarray.Dataset.to_netcdf(portable, temporary, *args, **keywords)
            except RuntimeError as error:  # as netCDF4 says that a disk is full
                raise OSError(f"{error}; is the disk full?") from None

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write `to_table` as comma-separated values, with all digits.

        Parameters
        ----------
        path
            Path of the file.

        Returns
        -------
        Path
            Path of the file.

        Raises
        ------
        ArgumentError
            The file cannot be written.
        """
        target = path_to_write(path, TABLE)
        table = self.to_table()
        with replacing(target) as temporary:
            table.to_csv(temporary)
        return target

    def summary(self) -> str:
        """Return a short text about setting and results of the run.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
        >>> run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
        >>> print(run.summary().split(".")[0])
        Robot 'planar2r' under computed torque for 1 s, called every 1 ms
        """
        return verbs.summary(self)

    def plot(self, kind: str = "tracking") -> Figure:  # type: ignore[override]
        """Plot joint positions, tracking errors and torques over time.

        Returns
        -------
        plotly.graph_objects.Figure
            Figure for notebooks; a batch is drawn as bands. A click on a joint's name hides that joint in all diagrams.

        Raises
        ------
        MissingExtraError
            Plotly is not installed.
        """
        return verbs.plot(self, kind)

    def report(
        self,
        path: str | PathLike[str],
        title: str | None = None,
        *,
        packages: Mapping[str, str | PathLike[str]] | None = None,
    ) -> Path:
        """Write a self-contained HTML report with plots and the motion in 3D.

        Parameters
        ----------
        path
            File to write.
        title
            Title of the report; default the robot's name.
        packages
            Folders of packages of meshes, by name; see `chasles.model.mesh_path`.

        Returns
        -------
        Path
            Absolute path of the report.

        Raises
        ------
        MissingExtraError
            If Plotly is not installed.
        """
        return verbs.report(self, path, title, packages=packages)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the run calls for saying: divergence, saturation, sticking joints, and their causes.

        The files of ``to_netcdf`` keep them. Programs read their codes, ``finding.rule.code``.
        """
        return tuple(Finding.of_record(record) for record in json.loads(self.attrs.get("findings", "[]")))

    def with_findings(self, findings: Sequence[Finding]) -> Self:
        """Return the run with findings; itself if there are none."""
        return self.assign_attrs(findings=json.dumps([finding.record for finding in findings])) if findings else self

    def require_limits(self) -> Self:
        """Return the run, if no joint exceeded a limit of its position, velocity or effort.

        Limits are those of the robot that moved. Of efforts the demanded ones count (``tau_demanded``, where limits
        acted): a torque that the drive cut off is one that the motion needed.

        Raises
        ------
        LimitError
            A joint did; the message names the first one, its time, value and limit.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
        >>> run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion).require_limits()
        """
        from chasles.simulation.limits import require_limits
        from chasles.simulation.metrics import run_robot

        efforts = self["tau_demanded" if "tau_demanded" in self else "tau"]
        require_limits(run_robot(self), *(array.values for array in (self["time"], self["q"], self["qd"], efforts)))
        return self

    def _repr_html_(self) -> str:
        try:
            words = f"<p>{html.escape(self.summary())}</p>"
        except ArgumentError:  # a part of a run
            words = ""
        return words + str(super()._repr_html_())

    @overload
    def view(
        self, *, path: str | PathLike[str], companions: Sequence[xarray.Dataset] = (), **options: Unpack[ViewOptions]
    ) -> Path: ...
    @overload
    def view(
        self, *, path: None = None, companions: Sequence[xarray.Dataset] = (), **options: Unpack[ViewOptions]
    ) -> Shown: ...
    def view(
        self,
        *,
        path: str | PathLike[str] | None = None,
        companions: Sequence[xarray.Dataset] = (),
        **options: Unpack[ViewOptions],
    ) -> Path | Shown:
        """Play the run on an interactive page, live or in the file ``path``; see `chasles.view`."""
        return verbs.view(self, path=path, companions=companions, **options)

    def movie(self, path: str | PathLike[str], *, run: int = 0, **options: Unpack[MovieOptions]) -> Path:
        """Write the first run as a GIF, WebP or MP4 file, or the one numbered ``run``; see `chasles.movie`."""
        return verbs.movie(self, path, run=run, **options)

    @classmethod
    def open(cls, path: str | PathLike[str]) -> Self:
        """Read a run that was written by ``to_netcdf``.

        Parameters
        ----------
        path
            Path of the netCDF file.
        """
        with xarray.open_dataset(path) as data:
            loaded = data.load()
        place = Path(path).absolute().parent
        run = cls(loaded.data_vars, loaded.coords, loaded.attrs)
        return run._with_mesh_folders(lambda folder: os.path.normpath(place / folder))

    def _with_mesh_folders(self, change: Callable[[str], str]) -> Self:
        """Return the run with other folders of the robot's meshes; itself if there are none."""
        text = str(self.attrs.get("robot_toml", ""))
        if "folder = " not in text:
            return self
        robot = parse_toml(text, check=False)
        moved = with_meshes(robot, lambda mesh: mesh.replace(folder=change(mesh.folder)) if mesh.folder else mesh)
        return self.assign_attrs(robot_toml=to_toml(moved, mesh_folders=True))


def _seen_from(place: Path, folder: str) -> str:
    """Return the path of a folder from another; empty if only the root of the file system has both below it."""
    try:
        common = os.path.commonpath([place, folder])
    except ValueError:  # on different drives
        return ""
    return "" if common == os.path.dirname(common) else os.path.relpath(folder, place)
