"""One HTML page about a study, complete in itself: findings, tables, curves, and the definition to copy."""

from __future__ import annotations

import html
import math
from os import PathLike
from pathlib import Path

from chasles import verbs
from chasles.studies.figures import robot_figure
from chasles.studies.results import Spread, StudyResults, Summary
from chasles.visual.encoding import embedded_json
from chasles.visual.page import write_page

_STYLE = """
main { max-width: 1180px; }
.lead + .table { margin-top: 16px; }
.lead { font-size: 17px; line-height: 1.55; max-width: 62em; margin: 14px 0 0; }
section p { max-width: 66em; margin: 8px 0 14px; }
td.best { font-weight: 650; }
td .range { color: var(--quiet); font-weight: 400; font-size: 12.5px; }
td.lost { color: #b3261e; }
details { margin-top: 8px; } summary { cursor: pointer; color: var(--accent); }
pre { background: #f6f8fa; border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px;
  overflow-x: auto; font-size: 13px; }
ul.how { margin: 8px 0 0; padding-left: 20px; max-width: 66em; } ul.how li { margin: 3px 0; }
"""
_SCRIPT = """
"use strict";
for (const holder of document.querySelectorAll(".plots")) {
  const figure = JSON.parse(holder.querySelector("script").textContent);
  drawPlot(holder.querySelector(".plot"), figure, "chasles-study");
}
"""


@verbs.report.register(StudyResults)
def write_study_report(results: StudyResults, path: str | PathLike[str]) -> Path:
    """Write the page; see `StudyResults.report`."""
    said = results.findings()
    sections = "\n".join(_robot(results, robot, text) for robot, text in said.robots.items())
    description = html.escape(results.study.description.strip())
    body = f"""{f'<p class="quiet">{description}</p>' if description else ""}
<section>
<h2>What is seen</h2>
<p class="lead">{html.escape(said.overall)}</p>
<div class="table">{_overview(results)}</div>
</section>
{sections}
{_how(results)}"""
    return write_page(path, results.study.title, body, scripts=[_SCRIPT], style=_STYLE)


def _overview(results: StudyResults) -> str:
    """Median error of each controller on each robot."""
    rows = {(row.robot, row.controller): row for row in results.summaries()}
    robots = [robot.title for robot in results.study.robots]
    names = list(dict.fromkeys(choice.title for choice in results.study.controllers))
    head = "".join(f"<th>{html.escape(robot)}<br>median [m{results.unit(robot)}], lost</th>" for robot in robots)
    best = {robot: _least([row for row in rows.values() if row.robot == robot]) for robot in robots}
    body = []
    for name in names:
        cells = [f"<td>{html.escape(name)}</td>"]
        for robot in robots:
            row = rows.get((robot, name))
            if row is None:
                cells.append("<td>–</td>")
                continue
            mark = ' class="best"' if row.rms_error.median == best[robot] else ""
            lost = f' <span class="range">{_lost(row)} lost</span>' if row.lost else ""
            cells.append(f"<td{mark}>{_milli(row.rms_error.median)}{lost}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr><th>RMS joint error</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _robot(results: StudyResults, robot: str, text: str) -> str:
    rows = [row for row in results.summaries() if row.robot == robot]
    return f"""<section>
<h2>{html.escape(robot)}</h2>
<p>{html.escape(text)}</p>
<div class="table">{_table(rows, results.unit(robot))}</div>
<div class="plots"><div class="plot"></div>
<script type="application/json">{embedded_json(robot_figure(results, robot))}</script></div>
<p class="quiet">Lines are medians of the RMS joint error (over time: of the largest joint error), within the bands
lies half of the runs, over all values of the other unknowns. Lost runs are drawn at the top, at
{1e3 * results.study.execution.lost_beyond:g} m{results.unit(robot)}. A click on a name hides its curves.</p>
</section>"""


def _table(rows: list[Summary], unit: str) -> str:
    head = (
        f"<th>controller</th><th>RMS joint error<br>[m{unit}]</th><th>largest<br>[m{unit}]</th>"
        f"<th>at the end<br>[m{unit}]</th><th>RMS tool error<br>[mm]</th><th>largest<br>[mm]</th>"
        "<th>effort<br>planned = 1</th><th>work<br>[J]</th><th>lost</th>"
    )
    measures = {
        "rms_error": 1e3,
        "peak_error": 1e3,
        "final_error": 1e3,
        "rms_tool_error": 1e3,
        "peak_tool_error": 1e3,
        "effort": 1.0,
        "work": 1.0,
    }
    least = {name: _least(rows, name) for name in measures}
    body = []
    for row in rows:
        cells = [f"<td>{html.escape(row.controller)}</td>"]
        for name, scale in measures.items():
            spread: Spread = getattr(row, name)
            mark = ' class="best"' if spread.median == least[name] and "error" in name else ""
            cells.append(f"<td{mark}>{_spread(spread, scale)}</td>")
        cells.append(f'<td class="lost">{_lost(row)}</td>' if row.lost else "<td>0</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _how(results: StudyResults) -> str:
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
        f"A ball of {_from_to(factors.payload, 1.0, 'kg')} at the tool.",
        f"Friction of {_from_to(factors.friction, 100.0, '%')} of each joint's peak torque in the planned motion, "
        f"reached at its top speed; {100.0 * factors.viscous_share:g} % of it viscous, the rest Coulomb friction.",
        f"Masses, centres of mass, inertias and motor inertias that differ from the model's by up to "
        f"{_from_to(factors.model_error, 100.0, '%')}, each at random.",
        f"Sample rates of {', '.join(f'{rate:g}' for rate in factors.rates)} Hz; torques are held between samples"
        + (" and cut off at the motors' limits." if study.execution.torque_limits else "."),
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
    return f'<section><h2>What was done</h2><ul class="how">{listed}</ul>{source}</section>'


def _from_to(ends: tuple[float, float], scale: float, unit: str) -> str:
    low, high = (f"{scale * end:.4g}" for end in ends)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def _least(rows: list[Summary], name: str = "rms_error") -> float:
    return min((getattr(row, name).median for row in rows), default=math.inf)


def _milli(value: float) -> str:
    return f"{1e3 * value:.3g}" if math.isfinite(value) else ""


def _spread(spread: Spread, scale: float) -> str:
    if math.isinf(spread.low):
        return "–"
    low, median, high = (
        f"{_plain(scale * value)}" if math.isfinite(value) else "∞"
        for value in (spread.low, spread.median, spread.high)
    )
    return f'{median}<br><span class="range">{low} … {high}</span>'


def _plain(value: float) -> str:
    """Three digits, without powers of ten.

    >>> _plain(1234.5), _plain(0.01234)
    ('1,234', '0.0123')
    """
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 or value == 0.0 else f"{value:.1g}"


def _lost(row: Summary) -> str:
    percent = 100.0 * row.lost
    return f"{percent:.1f} %" if percent < 10.0 else f"{percent:.0f} %"
