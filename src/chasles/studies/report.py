"""One HTML page about a study, complete in itself: findings, tables, curves, and the definition to copy."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from chasles.base import verbs
from chasles.base.findings import Finding, text
from chasles.studies.figures import robot_figure
from chasles.studies.findings import IN_TABLES, on_robot
from chasles.studies.method import method_section
from chasles.studies.results import StudyResults
from chasles.studies.sensitivity import Sensitivity
from chasles.studies.settings import shown_unknown
from chasles.studies.statistics import Rank
from chasles.studies.summaries import Quantiles, StudyCase, Summary
from chasles.studies.tuning_report import tuning_figure, tuning_table
from chasles.visual.encoding import embedded_json
from chasles.visual.page import write_page

_STYLE = """
main { max-width: 1180px; }
section p { max-width: 66em; margin: 8px 0 14px; }
td.best { font-weight: 650; }
td .range { color: var(--quiet); font-weight: 400; font-size: 12.5px; }
td.lost { color: #d0402f; }
details { margin-top: 8px; } summary { cursor: pointer; color: var(--accent); }
pre { background: var(--ground); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px;
  overflow-x: auto; font-size: 13px; }
ul.how { margin: 8px 0 14px; padding-left: 20px; max-width: 66em; } ul.how li { margin: 3px 0; }
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
    all_findings = results.findings()
    robots = (robot.title for robot in results.study.robots)
    sections = "\n".join(_robot(results, robot, _listed(on_robot(all_findings, robot))) for robot in robots)
    description = html.escape(results.study.description.strip())
    body = f"""{f'<p class="quiet">{description}</p>' if description else ""}
<section>
<h2>Results</h2>
{_listed(on_robot(all_findings, None))}
<div class="table">{_overview(results)}</div>
</section>
{sections}
{method_section(results)}"""
    return write_page(path, results.study.title, body, scripts=[_SCRIPT], style=_STYLE)


def _listed(found: Sequence[Finding]) -> str:
    """Return findings as a list, without those that tables hold."""
    items = (f"<li>{html.escape(text([each]))}</li>" for each in found if each.rule.code not in IN_TABLES)
    return f'<ul class="how">{"".join(items)}</ul>'


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


def _robot(results: StudyResults, robot: str, words: str) -> str:
    rows = [row for row in results.summaries() if row.robot == robot]
    return f"""<section>
<h2>{html.escape(robot)}</h2>
{words}
<div class="table">{_table(rows, results.unit(robot), results.ranks(robot))}</div>
<h3>By sample rate and delay</h3>
<div class="table">{_cells(results, robot)}</div>
<p class="quiet">Median of the RMS joint error [m{results.unit(robot)}] and share of lost runs, each with its 95 %
interval. Below them the loop as it runs along the motion, from linear models without unknowns: least disk margin α of
the frozen loops (0: unstable at some place), and the real part of their slowest pole [1/s] (red: errors grow along the
repeated motion). Laws that learn have none. Refused: no gains have the margin that is asked for; no run was made.</p>
{_refusals(results, robot)}
{_tuning(results, robot)}
<h3>Poles of the design</h3>
<div class="table">{_poles(results, robot)}</div>
<p class="quiet">Natural frequency [rad/s], damping ratio, third pole [rad/s], stiffness [1/s²] that each law was
designed for: those of a unit mass under held torques, without gravity and delay. What the loop has of them is above.
Bold: lower than asked for, because the sample period is too long.</p>
<h3>Effects of the unknowns</h3>
<div class="table">{_effects(results, robot)}</div>
<p class="quiet">Standardised rank regression of the error on all unknowns at once, with 95 % intervals: 1 orders the
errors alone, 0 has no monotonic effect. Grey: not significant.</p>
<div class="table">{_sensitivities(results, robot)}</div>
<p class="quiet">Sobol indices: share of the variance of the errors' ranks that each factor explains alone and, behind
the slash, with its interactions, in %, with 95 % intervals; the last column is what a polynomial of all factors leaves
unexplained.</p>
<div class="plots"><div class="plot"></div>
<script type="application/json">{embedded_json(robot_figure(results, robot))}</script></div>
<p class="quiet">Lines are medians of the RMS joint error (over time: of the largest joint error), within the bands
lies half of the runs, over all values of the other unknowns. Lost runs are drawn at the top, at
{1e3 * results.study.execution.lost_beyond:g} m{results.unit(robot)}. A click on a name hides its curves.</p>
</section>"""


def _tuning(results: StudyResults, robot: str) -> str:
    """Gains that the search found, and its Pareto fronts."""
    tuning = results.study.tuning
    if tuning is None:
        return ""
    return f"""<h3>Each controller at its best</h3>
<div class="table">{tuning_table(results, robot)}</div>
<p class="quiet">Settings with the least mean error of {tuning.evaluations} candidates on {tuning.draws} training draws
that are not among the runs above; a lost run counts as {results.study.execution.lost_beyond:g}. "Least" and "most" mark
ends of the ranges. Then the gains of each joint to which gradients led from there, where they err less. All controllers
have the same number of candidates and iterations, draws and ranges.</p>
<div class="plots"><div class="plot"></div>
<script type="application/json">{embedded_json(tuning_figure(results, robot))}</script></div>
<p class="quiet">Pareto fronts of all candidates on the training draws: median of the RMS joint error, lost runs as
infinite, against the torque rate, the effort and the share of lost runs.</p>"""


def _cells(results: StudyResults, robot: str) -> str:
    """Rate × delay × controller."""
    pairs = results.study.factors.cells
    several = len(results.study.factors.delays) > 1
    head = "".join(f"<th>{rate:g} Hz{f'<br>delay {delay:g} T' if several else ''}</th>" for rate, delay in pairs)
    body = []
    for name in results.controllers(robot):
        cells = "".join(f"<td>{_cell(cell)}</td>" for cell in results.cells(robot, name))
        body.append(f"<tr><td>{html.escape(name)}</td>{cells}</tr>")
    return f"<table><thead><tr><th>controller</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _cell(cell: StudyCase) -> str:
    if cell.refusal:
        return f'<span title="{html.escape(cell.refusal)}">refused</span>'
    error, lost = cell.rms_error, cell.lost
    middle = _plain(1e3 * error.value) if math.isfinite(error.value) else "∞"
    low = _plain(1e3 * error.low) if math.isfinite(error.low) and error.low > 0.0 else "0"
    high = _plain(1e3 * error.high) if math.isfinite(error.high) else "∞"
    text = f'{middle}<br><span class="range">{low} … {high}'
    text += f"<br>lost {100.0 * lost.value:.3g} % ({100.0 * lost.low:.2g} … {100.0 * lost.high:.2g})"
    if not math.isnan(cell.disk_margin):
        mark = ' class="lost"' if cell.growth > 0.0 else ""
        text += f"<br><span{mark}>α {cell.disk_margin:.2f}, {cell.slowest_pole:.3g}/s</span>"
    return f"{text}</span>"


def _refusals(results: StudyResults, robot: str) -> str:
    """Why controllers were refused."""
    reasons: dict[str, list[str]] = {}
    for name in results.controllers(robot):
        for cell in results.cells(robot, name):
            if cell.refusal:
                reasons.setdefault(f"{name}: {cell.refusal}", []).append(f"{cell.rate:g} Hz, delay {cell.delay:g} T")
    items = [f"{'; '.join(cells)}: {why}" for why, cells in reasons.items()]
    listed = "".join(f"<li>{html.escape(item)}</li>" for item in items)
    return f'<ul class="how">{listed}</ul>' if items else ""


def _poles(results: StudyResults, robot: str) -> str:
    rates = results.study.factors.rates
    body = []
    for name in results.controllers(robot):
        cells = results.cells(robot, name)
        columns = []
        for rate in rates:
            at_rate = [cell for cell in cells if cell.rate == rate]
            poles = at_rate[0].poles
            if poles is None:
                columns.append("<td>own gains</td>")
                continue
            mark = ' class="best"' if poles.is_lowered else ""
            third = f", {poles.integral:.3g}" if poles.integral else ""
            stiffness = f", {poles.stiffness:.4g}" if math.isfinite(poles.stiffness) else ""
            columns.append(f"<td{mark}>{poles.frequency:.3g}, {poles.damping:g}{third}{stiffness}</td>")
        body.append(f"<tr><td>{html.escape(name)}</td>{''.join(columns)}</tr>")
    head = "".join(f"<th>{rate:g} Hz</th>" for rate in rates)
    return f"<table><thead><tr><th>controller</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _sensitivities(results: StudyResults, robot: str) -> str:
    """Sobol indices of all factors for each controller."""
    names = results.controllers(robot)
    indices = {name: results.sensitivities(robot, name) for name in names}
    factors = list(dict.fromkeys(factor for sobol in indices.values() for factor in sobol.factors))
    body = []
    for name in names:
        shares = indices[name].factors
        cells = "".join(f"<td>{_shares(shares[factor]) if factor in shares else '–'}</td>" for factor in factors)
        rest = f"<td>{100.0 * indices[name].unexplained:.0f}</td>"
        body.append(f"<tr><td>{html.escape(name)}</td>{cells}{rest}</tr>")
    head = "".join(f"<th>{html.escape(shown_unknown(factor)[0])}</th>" for factor in factors) + "<th>unexplained</th>"
    return f"<table><thead><tr><th>controller</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _shares(index: Sensitivity) -> str:
    first, total = index.first, index.total
    return (
        f"{100.0 * first.value:.0f} / {100.0 * total.value:.0f}<br>"
        f'<span class="range">{100.0 * first.low:.0f} … {100.0 * first.high:.0f} / '
        f"{100.0 * total.low:.0f} … {100.0 * total.high:.0f}</span>"
    )


def _effects(results: StudyResults, robot: str) -> str:
    names = results.controllers(robot)
    effects_of = {name: results.effects(robot, name) for name in names}
    factors = list(dict.fromkeys(factor for effects in effects_of.values() for factor in effects))
    if not factors:
        return "<p>No unknown varies.</p>"
    body = []
    for name in names:
        cells = []
        for factor in factors:
            effect = effects_of[name].get(factor)
            if effect is None:
                cells.append("<td>–</td>")
                continue
            quiet = ' class="range"' if effect.low * effect.high <= 0.0 else ""
            cells.append(
                f'<td{quiet}>{effect.value:.2f} <span class="range">{effect.low:.2f} … {effect.high:.2f}</span></td>'
            )
        body.append(f"<tr><td>{html.escape(name)}</td>{''.join(cells)}</tr>")
    head = "".join(f"<th>{html.escape(shown_unknown(factor)[0])}</th>" for factor in factors)
    return f"<table><thead><tr><th>controller</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _table(rows: list[Summary], unit: str, ranked: dict[str, Rank]) -> str:
    head = (
        f"<th>controller</th><th>rank</th><th>RMS joint error<br>[m{unit}]</th><th>largest<br>[m{unit}]</th>"
        f"<th>at the end<br>[m{unit}]</th><th>RMS tool error<br>[mm]</th><th>largest<br>[mm]</th>"
        "<th>effort<br>planned = 1</th><th>work<br>[J]</th><th>disk margin</th><th>slowest pole<br>[1/s]</th>"
        "<th>lost</th>"
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
        cells = [f"<td>{html.escape(row.controller)}</td><td>{ranked[row.controller]}</td>"]
        for name, scale in measures.items():
            spread: Quantiles = getattr(row, name)
            mark = ' class="best"' if spread.median == least[name] and "error" in name else ""
            cells.append(f"<td{mark}>{_spread(spread, scale)}</td>")
        cells += [f"<td>{row.shown_margin}</td>", f"<td>{row.shown_pole}</td>"]
        refused = f"<br>{100.0 * row.refused:.0f} % refused" if row.refused else ""
        lost = f'<td class="lost">{_lost(row)}{refused}</td>' if row.lost or row.refused else "<td>0</td>"
        cells.append(lost)
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _least(rows: list[Summary], name: str = "rms_error") -> float:
    return min((getattr(row, name).median for row in rows), default=math.inf)


def _milli(value: float) -> str:
    return f"{1e3 * value:.3g}" if math.isfinite(value) else ""


def _spread(spread: Quantiles, scale: float) -> str:
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
