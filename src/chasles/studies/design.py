"""The runs of a study: values of the factors for each, drawn once and the same for all controllers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.model import perturbed_values
from chasles.robot import Robot
from chasles.studies.definition import Definition
from chasles.studies.settings import Design, Factors

Floats = NDArray[np.float64]

#: Parameters of the model that may be in error.
UNCERTAIN = ("mass", "center_of_mass", "inertia", "motor_inertia")


@dataclass(frozen=True)
class Runs:
    """Values of the factors, one for each run.

    Attributes
    ----------
    payload
        kg.
    friction
        Share of the peak torque.
    model_error
        Largest relative error.
    rate
        Hz.
    point
        Number of the combination of unknowns. All rates meet the same ones.
    """

    payload: Floats
    friction: Floats
    model_error: Floats
    rate: Floats
    point: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.rate)

    def at(self, rate: float) -> NDArray[np.intp]:
        """Numbers of the runs with a sample rate."""
        return np.flatnonzero(self.rate == rate)


def draw(study: Definition) -> Runs:
    """Draw a study's runs.

    Examples
    --------
    >>> from chasles import studies
    >>> runs = draw(studies.load("mazure").replace(runs=60))
    >>> len(runs), len(runs.at(1000.0)), bool((runs.payload <= 5.0).all())
    (60, 10, True)
    """
    rates, points = study.factors.rates, _points(study.design, study.factors)
    counts = [len(points)] * len(rates)
    if study.design.method != "grid":
        counts = [len(part) for part in np.array_split(np.arange(study.design.runs), len(rates))]
    point = np.concatenate([np.arange(count) for count in counts])
    ranges = (study.factors.payload, study.factors.friction, study.factors.model_error)
    payload, friction, error = (low + u * (high - low) for (low, high), u in zip(ranges, points[point].T, strict=True))
    return Runs(payload, friction, error, np.repeat(rates, counts), point)


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
        Of the directions of the errors, which do not depend on their sizes.

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


def _points(design: Design, factors: Factors) -> Floats:
    """Points of the unit cube, shape (points, 3): payload, friction, model error."""
    if design.method == "grid":
        ranges = (factors.payload, factors.friction, factors.model_error)
        levels = [np.linspace(0.0, 1.0, design.levels if low < high else 1) for low, high in ranges]
        return np.stack([axis.ravel() for axis in np.meshgrid(*levels, indexing="ij")], axis=-1)
    count = -(-design.runs // len(factors.rates))
    generator = np.random.default_rng(design.seed)
    if design.method == "sobol":
        from scipy.stats import qmc  # takes as long to load as all of Chasles

        points: Floats = qmc.Sobol(3, seed=generator).random(count)
        return points
    points = generator.random((count, 3))
    if design.method == "random":
        return points
    strata = np.tile(np.arange(1, count + 1), (3, 1))  # of a Latin hypercube: each factor visits each of them once
    for order in strata:
        generator.shuffle(order)
    return (strata.T - points) / count
