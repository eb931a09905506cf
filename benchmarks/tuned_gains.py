"""Gains of the study `best` by design and search, and from there by `chasles.tune` for 1,000 drawn plants."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

import numpy as np

import chasles as ch
from benchmarks.tables import Table, at_most
from chasles.control.controller import Controller
from chasles.simulation.gain_search import MOST_TRAINING
from chasles.simulation.stiffness import StiffnessWarning
from chasles.studies.controllers import knobs
from chasles.studies.definition import Definition
from chasles.studies.experiment import RunBatch, controller_of, perform, setup_of
from chasles.studies.statistics import median
from chasles.studies.tuning import COLUMNS, search, settings_of

RATE, DELAY = 500.0, 0.0
PLANTS, JUDGING = 1000, 600
BAR = 5.0


def tables() -> Iterator[Table]:
    """The table of this section."""
    study = ch.studies.load("best")
    table = Table(
        f"Study `best`, {study.robots[0].title} at {RATE:g} Hz: median RMS joint error on {JUDGING} drawn plants, rad",
        ("law", "own design", "search", "then ch.tune", "own design, then ch.tune", "processor time"),
        notes=[
            f"ch.tune: gains of each joint; of {PLANTS:,} plants it trains on as many as the "
            f"search, {MOST_TRAINING}, and judges the others; at most {BAR:g} s are allowed.",
            "The search's gains have the least median error of its candidates, ch.tune's the least geometric mean. In "
            "brackets 95 % intervals of the medians; the plants are the same in each column.",
            "For laws whose gains come from Riccati equations ch.tune finds the weights, and the filter's noises.",
        ],
    )
    with ch.threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffnessWarning)
        for k, choice in enumerate(study.controllers):
            table.add(choice.title, *row(study, k))
    yield table


def row(study: Definition, controller: int) -> tuple[str, ...]:
    """Median errors of a law by its own design, by the search, and by gradients from both; their processor time."""
    tuning = study.tuning
    assert tuning is not None
    design = replace(tuning.design, runs=MOST_TRAINING)
    training = study.replace(tuning=None, factors=study.factors_at(RATE, DELAY), design=design)
    names = knobs(study.controllers[controller].kind, study.settings_of(study.controllers[controller]))
    draws = RunBatch(0, controller, RATE, DELAY, 0, MOST_TRAINING)
    candidates = search(training, draws, tuning, names)
    least = int(np.nanargmin(candidates[:, COLUMNS.index("error")]))
    found = settings_of(candidates[least])
    judging = study.replace(tuning=None, factors=training.factors, design=replace(study.design, runs=JUDGING))
    own, searched = controller_of(training, draws), controller_of(training, draws, found)
    errors = [median_error(judging, controller, law) for law in (own, searched)]
    many = training.replace(design=replace(training.design, runs=PLANTS))
    setup, values = setup_of(many, RunBatch(0, controller, RATE, DELAY, 0, PLANTS), searched)
    times = []
    for law in (searched, own):
        begin = process_time()
        tuned = ch.tune(
            setup.plant, law, setup.motion, over=values, duration=setup.duration, period=setup.period,
            integrator=setup.integrator, exponent=0.0, progress=False,
        )  # fmt: skip
        times.append(process_time() - begin)
        errors.append(median_error(judging, controller, tuned.law))
    return *errors, at_most(BAR, max(times))


def median_error(study: Definition, controller: int, law: Controller) -> str:
    """Median RMS joint error of a law on the study's own draws, rad, with its interval."""
    measures = perform(study, RunBatch(0, controller, RATE, DELAY, 0, JUDGING), law)
    error = median(measures["rms_error"])
    return f"{error.value:.3g} ({error.low:.3g}–{error.high:.3g})"
