"""How a study was made, in words: the section of its report on method."""

from __future__ import annotations

import html
import math

from chasles.studies.bench import bench
from chasles.studies.controllers import ESTIMATED_OVER
from chasles.studies.definition import Definition
from chasles.studies.results import StudyResults


def method_section(results: StudyResults) -> str:
    """Return the section as HTML."""
    study = results.study
    factors, design = study.factors, study.design
    drawn = {
        "latin-hypercube": "a Latin hypercube",
        "sobol": "a Sobol sequence",
        "random": "random numbers",
        "grid": "a grid of all combinations",
    }[design.method]
    items = [
        f"Each controller makes the same {len(results.runs):,} runs on each robot, drawn by {drawn} "
        f"(seed {design.seed}). It knows the planned motion and the robot as described, and nothing of what follows.",
        f"{results.runs.distinct:,} of the runs have unknowns of their own: the effective sample size. The pairs of "
        "rate and delay share them without repetition."
        if study.design.method != "grid"
        else "Each pair of rate and delay "
        f"meets the same {results.runs.distinct:,} combinations of unknowns: the effective sample size.",
        f"A ball of {_from_to(factors.payload, 1.0, study.shown_unknown('payload')[2])} at the tool{_rated(study)}.",
        f"Friction of {_from_to(factors.friction, 100.0, '%')} of each joint's peak torque in the planned motion, "
        f"reached at its top speed; {100.0 * factors.viscous_share:g} % of it viscous, the rest Coulomb friction.",
        f"Masses, centres of mass, inertias and motor inertias that differ from the model's by up to "
        f"{_from_to(factors.model_error, 100.0, '%')}, each at random.",
        *_further_unknowns(study),
        f"Sample rates of {', '.join(f'{rate:g}' for rate in factors.rates)} Hz and delays of "
        f"{', '.join(f'{delay:g}' for delay in factors.delays)} sample periods; torques are held between samples.",
        *_effort(results),
        *_velocities(study),
        *_torque_limits(results),
        *_search(study),
        "A controller is better than another if it errs less in significantly more of the same runs, a lost run's "
        "error being infinite: sign tests whose joint error probability is 5 %. The interval of its rank goes from one "
        "more than the number of better ones to the number of those that are not worse.",
        f"The robot is integrated by the Runge–Kutta method of order 4 with steps of {1e3 * study.execution.step:g} ms "
        f"at most. A run is lost when a joint errs by more than {study.execution.lost_beyond:g} (rad or m); it then "
        "counts as infinite in all quantiles. Small numbers in the tables are the 5 % and 95 % quantiles.",
    ]
    listed = "".join(f"<li>{html.escape(item)}</li>" for item in items)
    source = ""
    if study.source is not None:
        source = (
            "<details><summary>The study's definition: save it as a .toml file, change it, and run it with "
            f"<code>chasles study FILE.toml</code></summary><pre>{html.escape(study.source)}</pre></details>"
        )
    return f'<section><h2>Method</h2><ul class="how">{listed}</ul>{source}</section>'


def _rated(study: Definition) -> str:
    """Return the robots' rated payloads."""
    rated = [f"{robot.title} {robot.rated_payload:g} kg" for robot in study.robots if robot.rated_payload != 1.0]
    return f" (rated: {', '.join(rated)})" if rated else ""


def _effort(results: StudyResults) -> list[str]:
    """Return what was computed now and how long it took."""
    if not results.computed:
        return []
    return [f"{results.computed:,} of the study's parts were computed for this report, in {results.effort}."]


def _velocities(study: Definition) -> list[str]:
    """Return where the laws' velocities come from."""
    sources = study.factors.velocities or (study.factors.velocity,)
    words = {
        "measured": "measured",
        "differenced": "plain differences of positions",
        "filtered": f"differences of positions behind a filter of {ESTIMATED_OVER:g} sample periods",
        "kalman": f"those of a Kalman filter of {ESTIMATED_OVER:g} sample periods, which knows the model",
        "momentum": f"those of a momentum observer of {ESTIMATED_OVER:g} sample periods, which knows the model",
    }
    listed = "; or ".join(words[source] for source in sources)
    return [f"Velocities of all laws that read them, unless a controller states another source: {listed}."]


def _search(study: Definition) -> list[str]:
    """Return how the gains were found."""
    tuning = study.tuning
    if tuning is None:
        return ["Gains follow from the settings of each controller, by the same rule for all."]
    return [
        f"Gains were searched for each controller, robot, sample rate and delay: {tuning.evaluations} candidates (the "
        "study's settings, a Sobol sequence), and from the best of them and from the study's settings at most "
        f"{tuning.iterations} iterations by exact gradients over the gains of all joints, or the weights that they "
        f"follow from, on the same {tuning.draws} training draws of the unknowns, with seed {tuning.seed}. "
        f"Frequencies of {_from_to(tuning.frequency, 1.0, 'rad/s')}, at most the Nyquist frequency; damping ratios of "
        f"{_from_to(tuning.damping, 1.0, '')}."
    ]


def _further_unknowns(study: Definition) -> list[str]:
    """Describe the effects that the study adds, with their ranges and what is fixed about them."""
    factors = study.factors
    fixed = {
        "picked_payload": "picked up after {:.0%} and put down after {:.0%} of the motion".format(*factors.carried),
        "motor_speed": "above which the motors' voltage leaves no torque; at rest it leaves four times the peak torque",
        "jitter": "torques come later by a time that is drawn at each call",
        "lost_samples": "the drives hold the last torque that arrived",
        "resonance": "of each link on its own elastic joint, with encoders at the motors",
        "tip_force": "constant, along ({:g}, {:g}, {:g})".format(*factors.tip_direction),
    }
    sentences = []
    for name, ends in factors.ranges.items():
        if name in ("payload", "friction", "model_error"):
            continue
        meaning, scale, unit = study.shown_unknown(name)
        note = f", {fixed[name]}" if name in fixed else ""
        sentences.append(f"{meaning[:1].upper() + meaning[1:]}: {_from_to(ends, scale, unit)}{note}.")
    return sentences


def _torque_limits(results: StudyResults) -> list[str]:
    """Say on which robots the effort limits of the description act; those without limits have none."""
    share = results.study.execution.torque_limits
    if not share:
        return ["The robots' effort limits do not act."]
    if not isinstance(share, bool):
        return [
            f"Torques are cut off at {share:g} times the largest that the planned motion takes of each joint with the "
            "largest payload and friction."
        ]
    limited: list[str] = []
    free: list[str] = []
    for robot in results.study.robots:
        limits = bench(results.study, robot).model.effort_limits
        acts = ((limits > 0.0) & (limits < math.inf)).any()
        (limited if acts else free).append(robot.title)
    sentences = [f"Torques are cut off at the effort limits of {', '.join(limited)}."] if limited else []
    return (
        [*sentences, f"{', '.join(free)}: the description has no effort limits, so that none act."]
        if free
        else sentences
    )


def _from_to(ends: tuple[float, float], scale: float, unit: str) -> str:
    low, high = (f"{scale * end:.4g}" for end in ends)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
