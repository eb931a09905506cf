"""Where the energy of a simulated motion came from and where it went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles import verbs
from chasles.errors import ArgumentError

if TYPE_CHECKING:
    import xarray

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
    """The energy balance of a run: what is stored = work of motors and environment - losses.

    The works and losses of an audited run are integrals that the simulation carries along with the state, so that the
    balance closes to the accuracy of the integrator: its residual is a measure of the integration's error that needs
    no second run. It falls with the step at the order of the integrator, down to rounding.

    Attributes
    ----------
    balance
        A dataset over time, and over runs if there are several, all in J since the start:

        ``stored`` (store)
            Change of kinetic and potential energy, and of the energy in the springs of ``elastic_joints``, in contacts
            and, of an electrical balance, in the windings of ``motors``.
        ``work`` (source)
            Done on the plant by ``motors``, external wrenches (``wrenches.NAME``), a moved base, and ``payloads``,
            which bring and take their energy as they are picked up and put down. Of an electrical balance what the
            drives give is in the place of the motors' mechanical work: ``electrical``.
        ``loss`` (sink)
            Taken by friction (``robot_friction`` of the robot's own description, ``friction`` of the effect), the
            dampers of ``elastic_joints`` and contacts, and, of an electrical balance, by the heat of the ``motors``.
        ``residual``
            Stored - work + loss: zero but for errors of integration.
    """

    balance: xarray.Dataset

    @property
    def residual(self) -> NDArray[np.float64]:
        """Largest absolute residual of each run over time, J; NaN of runs that diverged."""
        return np.asarray(self._sizes("residual").max(axis=-1))

    @property
    def turnover(self) -> NDArray[np.float64]:
        """Half the sum of all absolute changes, at its largest: what went from place to place, J, of each run."""
        return np.asarray(0.5 * sum(self._sizes(name) for name in _KINDS).max(axis=-1))

    @property
    def relative_residual(self) -> NDArray[np.float64]:
        """The residual as a share of the turnover; 0 where nothing moved."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share = self.residual / self.turnover
        return np.where(self.residual == 0.0, 0.0, share)

    def summary(self) -> str:
        """The balance at the end of the run in words; of a batch of the first run, with the worst residual of all."""
        runs = [dim for dim in self.balance["residual"].dims if dim != "time"]
        first = self.balance.isel(dict.fromkeys(runs, 0)).isel(time=-1)
        lines = []
        for kind, word in (("work", "work of"), ("loss", "lost in"), ("stored", "stored as")):
            part = first[kind]
            for name, value in zip(part[part.dims[0]].values, part.values, strict=True):
                lines.append(f"{word} {str(name).replace('_', ' '):<24} {value:12.4f} J")
        worst = float(np.max(self.relative_residual))
        lines.append(f"residual at most {float(np.max(self.residual)):.3g} J, {worst:.2g} of the turnover")
        return "\n".join(lines)

    def plot(self) -> Any:
        """Plot works, losses and stored energies over time.

        Returns
        -------
        plotly.graph_objects.Figure
            Of a batch the bands of all runs.

        Raises
        ------
        MissingExtraError
            Plotly is not installed.
        """
        return verbs.plot(self)

    def _sizes(self, name: str) -> Any:
        """Absolute values of a variable, summed up over what it is made of, with time last."""
        sizes = np.abs(self.balance[name].transpose(..., "time", *([_AXES[name]] if name in _AXES else [])).values)
        return sizes.sum(axis=-1) if name in _AXES else sizes

    def __repr__(self) -> str:
        return f"<EnergyAudit: {self.summary().splitlines()[-1]}>"


def energy_audit(run: xarray.Dataset, *, electrical: bool = False) -> EnergyAudit:
    """Form the energy balance of a run that was simulated with ``audit=True``.

    Parameters
    ----------
    run
        Result of `chasles.simulate`.
    electrical
        Whether the balance begins at the motors' terminals, with the heat and magnetic energy of motors, instead of at
        their shafts.

    Raises
    ------
    ArgumentError
        The run has no audit, or an electrical balance is asked for and its plant has no motors.
    """
    import xarray

    found = {
        kind: [str(name) for name in run.data_vars if str(name).startswith(prefix)] for kind, prefix in _KINDS.items()
    }
    if not all(found[kind] for kind in ("stored", "work")):
        raise ArgumentError("this run has no energy audit: simulate with audit=True")
    if electrical and "electrical.work" not in run:
        raise ArgumentError("the plant of this run has no motors, hence no electrical balance")
    chosen = {kind: {name.removeprefix(_KINDS[kind]): name for name in names} for kind, names in found.items()}
    if electrical:
        chosen["work"] = {"electrical": "electrical.work"} | chosen["work"]
        del chosen["work"]["motors"]
        chosen["loss"]["motors"] = "electrical.loss"
    else:
        chosen["stored"].pop("motors", None)
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
