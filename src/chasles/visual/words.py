"""Text summaries of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.simulation.metrics import run_metrics
from chasles.visual.encoding import shown_unit
from chasles.visual.summary import joint_units, position_name, require_run, run_dims, run_labels

#: Units that read better a thousandth at a time.
_SMALL = {"rad": "mrad", "m": "mm"}


@verbs.summary.register(xarray.Dataset)
def run_summary(run: xarray.Dataset, metrics: xarray.Dataset | None = None) -> str:
    """Return a short text about setting and results of a run; see `Run.summary`.

    Parameters
    ----------
    run
        Result of `chasles.simulate`.
    metrics
        Metrics of the run, if already computed.

    Raises
    ------
    ArgumentError
        The dataset is not the result of a simulation.
    """
    require_run(run)
    numbers = run_metrics(run) if metrics is None else metrics
    labels = run_labels(run)
    finite = np.isfinite(numbers["peak_torque"].values.reshape(len(labels), -1)).all(axis=-1)
    sentences = [_what(run), *_divergence(run, finite)]
    if not run.attrs.get("follows_reference", 1):
        sentences.append("The law pursues tasks of its own, not the reference that errors are measured from.")
    elif finite.any():
        several = len(labels) > 1
        sentences += _batch(run, numbers, labels) if several else _single(run, numbers)
    return " ".join(sentences)


def quantity_text(value: float, unit: str) -> str:
    """Return a quantity with three digits; small angles and lengths in mrad and mm.

    >>> quantity_text(0.00123, "rad"), quantity_text(1.5, "rad"), quantity_text(12.3456, "N m")
    ('1.23 mrad', '1.5 rad', '12.3 N·m')
    """
    if unit in _SMALL and abs(value) < 0.1:
        return f"{1e3 * value:.3g} {_SMALL[unit]}"
    return f"{value:.3g} {shown_unit(unit)}"


def with_degrees(value: float, unit: str) -> str:
    """Return a quantity, an angle in degrees as well.

    >>> with_degrees(0.0123, "rad"), with_degrees(0.0123, "m")
    ('12.3 mrad (0.705°)', '12.3 mm')
    """
    return quantity_text(value, unit) + (f" ({np.degrees(value):.3g}°)" if unit == "rad" else "")


def _what(run: xarray.Dataset) -> str:
    time = run["time"].values
    text = f"Robot '{run.attrs.get('robot', 'unknown')}' under {run.attrs.get('controller', 'an unknown controller')}"
    text += f" for {float(time[-1] - time[0]):.4g} s"
    if "period" in run.attrs:
        text += f", called every {1e3 * float(run.attrs['period']):.4g} ms"
    return text + "."


def _divergence(run: xarray.Dataset, finite: NDArray[np.bool_]) -> list[str]:
    if finite.all():
        return []
    count, total = int((~finite).sum()), len(finite)
    who = "It" if total == 1 else f"{count} of {total} runs"
    when = run["diverged_at"].values if "diverged_at" in run else np.array(np.nan)
    first = f", {'' if total == 1 else 'the first '}at t = {np.nanmin(when):.4g} s" if np.isfinite(when).any() else ""
    return [f"{who} diverged{first}."]


def _single(run: xarray.Dataset, numbers: xarray.Dataset) -> list[str]:
    sentences = []
    for unit, joints in (_by_unit(run) if "peak_error" in numbers else {}).items():
        peak, joint = _worst(numbers["peak_error"].values[joints], run["joint"].values[joints])
        rms = float(numbers["rms_error"].values[joints].max())
        sentences.append(
            f"The {_kind(run, unit)}joints stayed within {with_degrees(peak, unit)} of their reference "
            f"({position_name(joint)} at worst), "
            f"{quantity_text(rms, unit)} RMS."
        )
    if "peak_position_error" in numbers:
        sentences.append(
            f"The tool stayed within {quantity_text(float(numbers['peak_position_error']), 'm')} and "
            f"{with_degrees(float(numbers['peak_rotation_error']), 'rad')}, "
            f"{quantity_text(float(numbers['rms_position_error']), 'm')} RMS."
        )
    settling = numbers["settling_time"].values if "settling_time" in numbers else np.array(np.nan)
    if np.isfinite(settling).all():
        slowest, joint = _worst(settling, run["joint"].values)
        if slowest > 0.0:
            sentences.append(f"The joints settled {slowest:.3g} s after the reference ended ({joint} last).")
        else:
            sentences.append("The joints had settled when the reference ended.")
    return sentences


def _batch(run: xarray.Dataset, numbers: xarray.Dataset, labels: list[str]) -> list[str]:
    sentences = [f"{len(labels)} runs{_over(run)}."]
    scored: list[tuple[str, str, NDArray[np.float64]]] = []
    if "rms_position_error" in numbers:
        scored.append(("RMS tool position error", "m", numbers["rms_position_error"].values.ravel()))
    for unit, joints in (_by_unit(run) if "rms_error" in numbers else {}).items():
        errors = numbers["rms_error"].values.reshape(len(labels), -1)[:, joints].max(axis=-1)
        scored.append((f"RMS tracking error of the worst {_kind(run, unit)}joint", unit, errors))
    for title, unit, values in scored:
        best, worst = int(np.nanargmin(values)), int(np.nanargmax(values))
        sentences.append(
            f"{title}: median {quantity_text(float(np.nanmedian(values)), unit)}, "
            f"from {quantity_text(float(values[best]), unit)} ({labels[best]}) "
            f"to {quantity_text(float(values[worst]), unit)} ({labels[worst]})."
        )
    return sentences


def _over(run: xarray.Dataset) -> str:
    """Return the names of the varied parameters as text."""
    dims = set(run_dims(run))
    names = [str(name) for name, value in run.coords.items() if value.dims and dims & set(value.dims)]
    return " over " + ", ".join(names) if names else ""


def _by_unit(run: xarray.Dataset) -> dict[str, NDArray[np.intp]]:
    """Return the indices of the joints by the unit of their positions."""
    units = joint_units(run)
    return {unit: np.flatnonzero([unit_of_joint == unit for unit_of_joint in units]) for unit in dict.fromkeys(units)}


def _kind(run: xarray.Dataset, unit: str) -> str:
    """Return the kind of joints with a unit, if there are several kinds."""
    return "" if len(_by_unit(run)) == 1 else "revolute " if unit == "rad" else "prismatic "


def _worst(values: Any, names: Any) -> tuple[float, str]:
    k = int(np.argmax(values))
    return float(values[k]), str(names[k])
