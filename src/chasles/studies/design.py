"""The runs of a study: values of the factors for each, drawn once and the same for all controllers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from chasles.model import perturbed_values
from chasles.robot import Robot
from chasles.studies.definition import Design, Factors, Study

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
    """

    payload: Floats
    friction: Floats
    model_error: Floats
    rate: Floats

    def __len__(self) -> int:
        return len(self.rate)

    def at(self, rate: float) -> NDArray[np.intp]:
        """Numbers of the runs with a sample rate."""
        return np.flatnonzero(self.rate == rate)


def draw(study: Study) -> Runs:
    """Draw a study's runs.

    Examples
    --------
    >>> from chasles import studies
    >>> runs = draw(studies.load("mazure").replace(runs=60))
    >>> len(runs), len(runs.at(1000.0)), bool((runs.payload <= 5.0).all())
    (60, 10, True)
    """
    points = _points(study.design, study.factors)
    ranges = (study.factors.payload, study.factors.friction, study.factors.model_error)
    values = [low + u * (high - low) for (low, high), u in zip(ranges, points.T, strict=False)]
    rates = np.array(study.factors.rates)
    rate = rates[np.minimum((points[:, 3] * len(rates)).astype(int), len(rates) - 1)]
    return Runs(*values, rate)


def wrong_parameters(robot: Robot, error: Floats, largest: float, seed: int) -> Mapping[str, Floats]:
    """Parameters of robots for which a description is in error, one set for each run.

    Parameters
    ----------
    robot
        The robot as its description says.
    error
        Largest relative error in each run, shape (runs,).
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
    """Points of the unit cube, shape (runs, 4): payload, friction, model error, rate."""
    if design.method == "grid":
        ranges = (factors.payload, factors.friction, factors.model_error)
        levels = [np.linspace(0.0, 1.0, design.levels if low < high else 1) for low, high in ranges]
        rates = (np.arange(len(factors.rates)) + 0.5) / len(factors.rates)
        axes = np.meshgrid(*levels, rates, indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=-1)
    generator = np.random.default_rng(design.seed)
    if design.method == "random":
        return generator.random((design.runs, 4))
    sampler = qmc.Sobol(4, seed=generator) if design.method == "sobol" else qmc.LatinHypercube(4, seed=generator)
    points: Floats = sampler.random(design.runs)
    return points
