"""The runs of a study: values of the factors for each, drawn once and the same for all controllers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.model import perturbed_values
from chasles.robot.robot import Robot
from chasles.studies.definition import Definition
from chasles.studies.settings import Range

Floats = NDArray[np.float64]

#: Parameters of the model that may be in error.
UNCERTAIN = ("mass", "center_of_mass", "inertia", "motor_inertia")


@dataclass(frozen=True)
class Runs:
    """Values of the factors, one for each run.

    Attributes
    ----------
    unknowns
        Values of each unknown that acts, by name, shape (runs,).
    rate
        Sample rates, Hz.
    delay
        Delays, in sample periods.
    point
        Number of the combination of unknowns. Runs with equal numbers have equal unknowns, which only a grid has.
    """

    unknowns: Mapping[str, Floats]
    rate: Floats
    delay: Floats
    point: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.rate)

    def __getitem__(self, factor: str) -> Floats:
        """Return the values of a factor: an unknown, ``"rate"`` or ``"delay"``."""
        if factor in ("rate", "delay"):
            return self.rate if factor == "rate" else self.delay
        return self.unknowns[factor]

    @property
    def distinct(self) -> int:
        """Number of runs whose unknowns differ: the effective sample size."""
        return len(np.unique(self.point))

    def part(self, chosen: NDArray[np.bool_]) -> Runs:
        """Return the chosen runs."""
        unknowns = {name: values[chosen] for name, values in self.unknowns.items()}
        return Runs(unknowns, self.rate[chosen], self.delay[chosen], self.point[chosen])

    def at(self, rate: float, delay: float) -> NDArray[np.intp]:
        """Indices of the runs with a sample rate and a delay."""
        return np.flatnonzero((self.rate == rate) & (self.delay == delay))


def draw(study: Definition) -> Runs:
    """Draw a study's runs.

    Examples
    --------
    >>> from chasles import studies
    >>> runs = draw(studies.load("mazure").replace(runs=60, rates=[100.0, 1000.0], delays=[0.0]))
    >>> len(runs), runs.distinct, len(runs.at(1000.0, 0.0)), bool((runs["payload"] <= 5.0).all())
    (60, 60, 30, True)
    """
    ranges, cells = study.factors.ranges, study.factors.cells
    points, counts = _points(study, ranges, len(cells))
    grid = study.design.method == "grid"
    point = np.concatenate([np.arange(count) for count in counts]) if grid else np.arange(sum(counts))
    unknowns = {
        name: low + u * (high - low) for (name, (low, high)), u in zip(ranges.items(), points[point].T, strict=True)
    }
    rates, delays = np.array(cells).T
    return Runs(unknowns, np.repeat(rates, counts), np.repeat(delays, counts), point)


def wrong_parameters(robot: Robot, error: Floats, largest: float, seed: int) -> Mapping[str, Floats]:
    """Parameters of robots for which a description is in error, one set for each combination of unknowns.

    Parameters
    ----------
    robot
        The robot as its description says.
    error
        Largest relative error in each combination, shape (points,).
    largest
        The largest of all.
    seed
        Seed of the directions of the errors, which do not depend on their sizes.

    Returns
    -------
    dict
        For ``vary=``; only what differs from the description.
    """
    if largest == 0.0:
        return {}
    most = perturbed_values(robot.description, dict.fromkeys(UNCERTAIN, largest), seed, error.shape)
    half = perturbed_values(robot.description, dict.fromkeys(UNCERTAIN, 0.5 * largest), seed, error.shape)
    values = {}
    for name, value in most.items():  # linear in the size of the error, so two sizes tell all
        part = (2.0 * error / largest - 1.0).reshape(-1, *[1] * (value.ndim - 1))
        values[name] = half[name] + part * (value - half[name])
    return values


def _points(study: Definition, ranges: Mapping[str, Range], cells: int) -> tuple[Floats, list[int]]:
    """Points of the unit cube, one column for each unknown, and the number of runs in each pair of rate and delay."""
    design, dimensions = study.design, len(ranges)
    if design.method == "grid":
        levels = [np.linspace(0.0, 1.0, design.levels if low < high else 1) for low, high in ranges.values()]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*levels, indexing="ij")], axis=-1)
        return points, [len(points)] * cells
    counts = [len(part) for part in np.array_split(np.arange(design.runs), cells)]
    generator = np.random.default_rng(design.seed)
    if design.method == "sobol":  # each power of two of consecutive points fills the cube
        from scipy.stats import qmc  # takes as long to load as all of Chasles

        return qmc.Sobol(dimensions, seed=generator).random(design.runs), counts
    if design.method == "random":
        return generator.random((design.runs, dimensions)), counts
    slices = sliced_latin_hypercube(generator, cells, counts[0], dimensions)
    return np.concatenate([part[:count] for part, count in zip(slices, counts, strict=True)]), counts


def sliced_latin_hypercube(generator: np.random.Generator, slices: int, count: int, dimensions: int) -> Floats:
    """Draw a Latin hypercube of which each of several slices is a Latin hypercube too.

    Source: Qian, "Sliced Latin hypercube designs", Journal of the American Statistical Association 107 (2012).

    Parameters
    ----------
    generator
        Source of randomness.
    slices, count, dimensions
        Number of slices, of points in each, and of coordinates.

    Returns
    -------
    ndarray
        Points of the unit cube, shape (slices, count, dimensions).

    Examples
    --------
    >>> points = sliced_latin_hypercube(np.random.default_rng(0), 2, 3, 1)[..., 0]
    >>> np.sort(np.floor(3 * points), axis=1).tolist(), sorted(np.floor(6 * points).ravel().tolist())
    ([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    """
    strata = np.arange(slices * count).reshape(1, count, slices).repeat(dimensions, axis=0)
    strata = generator.permuted(generator.permuted(strata, axis=2), axis=1)
    points: Floats = (strata + generator.random(strata.shape)) / (slices * count)
    return points.transpose(2, 1, 0)
