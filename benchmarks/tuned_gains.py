"""Gains of the study `best` by its search, and from there by `chasles.tune` for 1,000 drawn plants."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from time import process_time

import numpy as np

import chasles as ch
from benchmarks.tables import Table, seconds
from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.simulation.stiffness import StiffnessWarning
from chasles.studies.controllers import knobs
from chasles.studies.definition import Definition
from chasles.studies.experiment import RunBatch, controller_of, perform, setup_of
from chasles.studies.tuning import best, search

RATE, DELAY = 500.0, 0.0
PLANTS, JUDGING = 1000, 600
BAR = 5.0


def tables() -> Iterator[Table]:
    """The table of this section."""
    study = ch.studies.load("best")
    table = Table(
        f"Study `best`, {study.robots[0].title} at {RATE:g} Hz: median RMS joint error on {JUDGING} drawn plants, rad",
        ("law", "own design", "search", "then ch.tune", "processor time"),
        notes=[
            f"ch.tune: gains of each joint for {PLANTS:,} others, from those of the search, in at most {BAR:g} s. "
            "The search minimises the mean error, in which a lost run counts much; ch.tune the geometric mean.",
            "Laws whose gains come from Riccati equations have no gains of their own.",
        ],
    )
    with ch.threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffnessWarning)
        for k, choice in enumerate(study.controllers):
            table.add(choice.title, *row(study, k))
    yield table


def row(study: Definition, controller: int) -> tuple[str, str, str, str]:
    """Median errors of a law by its own design, by the search, and by gradients; processor time of these."""
    tuning = study.tuning
    assert tuning is not None
    training = study.replace(tuning=None, factors=study.factors_at(RATE, DELAY), design=tuning.design)
    names = knobs(study.controllers[controller].kind, study.settings_of(study.controllers[controller]))
    draws = RunBatch(0, controller, RATE, DELAY, 0, tuning.draws)
    found = best(search(training, draws, tuning, names, 0))
    judging = study.replace(tuning=None, factors=training.factors, design=replace(study.design, runs=JUDGING))
    own, searched = controller_of(training, draws), controller_of(training, draws, found)
    errors = [median_error(judging, controller, law) for law in (own, searched)]
    many = training.replace(design=replace(training.design, runs=PLANTS))
    setup, values = setup_of(many, RunBatch(0, controller, RATE, DELAY, 0, PLANTS), searched)
    try:
        begin = process_time()
        tuned = ch.tune(
            setup.plant, searched, setup.motion, over=values, duration=setup.duration, period=setup.period,
            integrator=setup.integrator, exponent=0.0, progress=False,
        )  # fmt: skip
        time = process_time() - begin
    except ArgumentError:
        return *(f"{error:.3g}" for error in errors), "-", "-"
    errors.append(median_error(judging, controller, tuned.law))
    return *(f"{error:.3g}" for error in errors), seconds(time)


def median_error(study: Definition, controller: int, law: Controller) -> float:
    """Median RMS joint error of a law on the study's own draws, rad."""
    measures = perform(study, RunBatch(0, controller, RATE, DELAY, 0, JUDGING), law)
    return float(np.quantile(measures["rms_error"], 0.5, method="higher"))
