"""Results of simulations: labelled arrays with units."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from chasles import verbs
from chasles.errors import MissingExtraError

try:
    import xarray
except ImportError as error:
    raise MissingExtraError("xarray", "data", "a simulation's result") from error

if TYPE_CHECKING:
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
        """Numbers that say how good each run was.

        Errors are of the reference minus the position, at the recorded samples k = 0 … N:

        ``rms_error``, ``peak_error`` (joint)
            sqrt(mean eₖ²) and max |eₖ|, rad (sliding joints: m).
        ``rms_position_error``, ``peak_position_error``, ``rms_rotation_error``, ``peak_rotation_error``
            Of the frame by the plant's forward kinematics: the distance of its origin from where the reference has it,
            m, and the angle of the rotation between the two, rad.

        Torques are those on the joints: of the controller, or of the motors of a plant that has some (``tau_applied``).
        They are taken as held from one sample to the next, for h seconds:

        ``effort``, ``mean_torque``, ``peak_torque`` (joint)
            Σ τₖ² h, (N m)² s; Σ |τₖ| h over the duration, N m; max |τₖ|, N m.
        ``work``, ``absolute_work`` (joint)
            Σ τₖ (qₖ₊₁ - qₖ), J, and the sum of the absolute values: what a drive without recuperation takes and brakes.
            Exact if every period is recorded and torques are held; see `energy_audit` for plants with motors. For
            elastic joints q is here the position of the motor.

        The goal is the last place of the reference, and the way that from the robot's first place to it:

        ``settling_time`` (joint)
            From the moment when the reference has arrived with all joints until the joint stays within the band about
            the goal, s. 0 if it is within by then. NaN if that is not seen: the reference moves until the end (give
            `chasles.simulate` a longer duration), or the joint is not within at the end, or it has no way to go and no
            band is given.
        ``overshoot`` (joint)
            How far the joint goes beyond the farthest place of its reference in the direction of its way, rad. NaN if
            it has no way to go.

        All are NaN for a run that diverged. Of a reference in space there are no errors of joints, settling times and
        overshoots; the latter two are also missing where joints have several freedoms.

        Parameters
        ----------
        frame
            Frame or link whose pose is looked at; default the tool.
        settling_band
            Half the width of the band about the goal, rad, one number or one for each joint; default 2 % of the way.

        Returns
        -------
        xarray.Dataset
            Over (run, joint) or (run), with units, and with the coordinates that vary.

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
        """The energy balance of a run that was simulated with ``audit=True``.

        Parameters
        ----------
        electrical
            Whether the balance begins at the motors' terminals instead of at their shafts.

        Raises
        ------
        ArgumentError
            The run has no audit, or an electrical balance is asked for and its plant has no motors.
        """
        from chasles.simulation.energy_audit import energy_audit

        return energy_audit(self, electrical=electrical)

    def summary(self) -> str:
        """What was simulated and how well it went, in a few sentences.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
        >>> run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
        >>> print(run.summary().split(".")[0])
        Robot 'planar2r' under computed torque for 1 s, called every 1 ms
        """
        return str(verbs.summary(self))

    def plot(self) -> Any:  # type: ignore[override]
        """Plot joint positions, tracking errors and torques over time.

        Returns
        -------
        plotly.graph_objects.Figure
            Of a batch the bands of all runs. Notebooks show it; one click on a joint's name hides that joint in all
            diagrams.

        Raises
        ------
        MissingExtraError
            Plotly is not installed.
        """
        return verbs.plot(self)

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
        return Path(verbs.report(self, path, title))

    def view(self, **options: Any) -> Any:
        """Play the motions on a page, live or in the file ``path``, where the robot can be moved; see `verbs.view`."""
        return verbs.view(self, **options)

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
