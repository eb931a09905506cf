"""Energy balance of a simulated motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.base.errors import ArgumentError

if TYPE_CHECKING:
    import xarray
    from plotly.graph_objects import Figure

#: Variables of an audited run, by what they are: energies that are stored, works that enter, losses.
_KINDS = {"stored": "energy.", "work": "work.", "loss": "loss."}
_AXES = {"stored": "store", "work": "source", "loss": "sink"}
_LONG_NAMES = {
    "stored": "stored energy since the start",
    "work": "work done on the plant",
    "loss": "energy lost",
    "residual": "stored minus work plus loss",
}


@dataclass(frozen=True, eq=False)
class EnergyAudit:
    """Energy balance of a run: stored energy = work of motors and environment - losses.

    The simulation integrates work and losses together with the state, so the balance closes to the accuracy of the
    integrator. Its residual measures the integration error without a second run, and falls with the step size at the
    order of the integrator, down to rounding.

    Attributes
    ----------
    balance
        Dataset over time, and over runs of a batch; energies in J since the start:

        ``stored`` (store)
            Change of kinetic and potential energy, of the energy in the springs of ``elastic_joints`` and in contacts;
            in an electrical balance also in the windings of ``motors``.
        ``work`` (source)
            Work on the plant by ``motors``, external wrenches (``wrenches.NAME``), a moving base, and ``payloads``,
            which add and remove their energy when they are picked up and put down. In an electrical balance, the
            ``electrical`` work of the drives replaces the mechanical work of the motors.
        ``loss`` (sink)
            Losses to friction (``robot_friction`` of the robot's description, ``friction`` of the effect), to the
            dampers of ``elastic_joints`` and contacts; in an electrical balance also to the heat of the ``motors``.
        ``residual``
            Stored - work + loss: zero except for integration errors.
    """

    balance: xarray.Dataset

    @property
    def residual(self) -> NDArray[np.float64]:
        """Largest absolute residual over time, J, per run; NaN for runs that diverged."""
        return np.asarray(self._sizes("residual").max(axis=-1))

    @property
    def turnover(self) -> NDArray[np.float64]:
        """Energy exchanged between stores, sources and sinks, J, per run: largest half sum of absolute changes."""
        return np.asarray(0.5 * sum(self._sizes(name) for name in _KINDS).max(axis=-1))

    @property
    def relative_residual(self) -> NDArray[np.float64]:
        """Residual relative to the turnover; 0 for a robot at rest."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = self.residual / self.turnover
        return np.where(self.residual == 0.0, 0.0, share)

    def summary(self) -> str:
        """Return the final balance as text; for a batch that of the first run, with the largest residual of all."""
        runs = [dim for dim in self.balance["residual"].dims if dim != "time"]
        first = self.balance.isel(dict.fromkeys(runs, 0)).isel(time=-1)
        lines = []
        for kind, word in (("work", "work of"), ("loss", "lost in"), ("stored", "stored as")):
            part = first[kind]
            for name, value in zip(part[part.dims[0]].values, part.values, strict=True):
                lines.append(f"{word} {str(name).replace('_', ' '):<24} {value:12.4f} J")
        worst = float(np.max(self.relative_residual))
        lines.append(f"largest residual {float(np.max(self.residual)):.3g} J, {worst:.2g} of the turnover")
        return "\n".join(lines)

    def plot(self) -> Figure:
        """Plot works, losses and stored energies over time.

        Returns
        -------
        plotly.graph_objects.Figure
            A batch is drawn as bands.

        Raises
        ------
        MissingExtraError
            Plotly is not installed.
        """
        return verbs.plot(self)

    def _sizes(self, name: str) -> Any:
        """Return absolute values of a variable, summed over its parts, with time last."""
        sizes = np.abs(self.balance[name].transpose(..., "time", *([_AXES[name]] if name in _AXES else [])).values)
        return sizes.sum(axis=-1) if name in _AXES else sizes

    def __repr__(self) -> str:
        return f"<EnergyAudit: {self.summary().splitlines()[-1]}>"


def energy_audit(run: xarray.Dataset, *, electrical: bool = False) -> EnergyAudit:
    """Return the energy balance of a run that was simulated with ``Recording(energies=True)``.

    Parameters
    ----------
    run
        Result of `chasles.simulate`.
    electrical
        Whether the balance starts at the motor terminals, including heat and magnetic energy, instead of the motor
        shafts.

    Raises
    ------
    ArgumentError
        The run has no audit, or an electrical balance is requested of a plant without motors.
    """
    import xarray

    chosen = _chosen_variables(run, electrical=electrical)
    axes = run[chosen["stored"]["kinetic"]].dims
    time = axes.index("time")
    parts: dict[str, NDArray[np.float64]] = {}
    data: dict[str, Any] = {}
    coordinates = {name: value for name, value in run.coords.items() if "joint" not in value.dims}
    for kind, dim in _AXES.items():
        names = chosen[kind] or {"none": ""}
        still = np.zeros([run.sizes[axis] for axis in axes])
        arrays = [run[name].transpose(*axes).values if name else still for name in names.values()]
        parts[kind] = np.stack(arrays, axis=-1)
        parts[kind] = parts[kind] - np.take(parts[kind], [0], axis=time)
        data[kind] = ([*axes, dim], parts[kind])
        coordinates[dim] = list(names)
    data["residual"] = (axes, parts["stored"].sum(axis=-1) - parts["work"].sum(axis=-1) + parts["loss"].sum(axis=-1))
    attributes = {name: run.attrs[name] for name in ("robot", "controller") if name in run.attrs}
    balance = xarray.Dataset(data, coords=coordinates, attrs=attributes)
    for name, long_name in _LONG_NAMES.items():
        balance[name].attrs.update({"units": "J", "long_name": long_name})
    return EnergyAudit(balance)


def _chosen_variables(run: xarray.Dataset, *, electrical: bool) -> dict[str, dict[str, str]]:
    """Return the run's variables that a balance sums, by kind and by the name of store, source or sink."""
    variables = [str(name) for name in run.data_vars]
    chosen = {
        kind: {name.removeprefix(prefix): name for name in variables if name.startswith(prefix)}
        for kind, prefix in _KINDS.items()
    }
    if not chosen["stored"] or not chosen["work"]:
        raise ArgumentError("the run has no energy audit; simulate with record=Recording(energies=True)")
    if electrical and "electrical.work" not in run:
        raise ArgumentError("the plant of the run has no motors; leave electrical=True out")
    if electrical:
        chosen["work"] = {"electrical": "electrical.work"} | chosen["work"]
        del chosen["work"]["motors"]
        chosen["loss"]["motors"] = "electrical.loss"
    else:
        chosen["stored"].pop("motors", None)
    return chosen
