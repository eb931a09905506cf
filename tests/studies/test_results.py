"""What is said about the runs follows from their numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.studies.tiny_studies import tiny

import chasles as ch
from chasles import studies
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.base.findings import codes
from chasles.studies.design import draw
from chasles.studies.findings import on_robot
from chasles.studies.measures import MEASURES, PROFILE
from chasles.studies.results import StudyResults
from chasles.studies.running import LoweredFrequencyWarning
from chasles.studies.sensitivity import CELL, sensitivities
from chasles.studies.statistics import median, proportion, rank_effects, ranks
from chasles.studies.summaries import Quantiles


def made_up(errors: dict[str, np.ndarray], study: studies.Study) -> StudyResults:
    """Results with given errors of the controllers 'computed torque' and 'PD'; infinite ones are lost runs."""
    values = {}
    for number, choice in enumerate(study.controllers):
        error = errors[choice.title]
        own = {name: error.copy() for name in MEASURES}
        own["lost_at"] = np.where(np.isinf(error), 0.1, np.nan)
        own["profile"] = np.tile(error[:, None], (1, len(PROFILE)))
        values[0, number] = own
    return StudyResults(study, draw(study), values, 0)


@pytest.fixture
def study() -> studies.Study:
    return tiny(runs=200)


def test_quantiles_count_lost_runs_as_infinite() -> None:
    values = np.array([*range(90), *[np.inf] * 10], dtype=float)
    spread = Quantiles.of(values)
    assert (spread.low, spread.median, spread.high) == (5.0, 50.0, np.inf)


def test_the_text_shows_the_median_error_and_the_lost_runs(study: studies.Study) -> None:
    results = made_up(
        {"computed torque": np.full(200, 0.0025), "PD": np.r_[np.full(150, 0.03), np.full(50, np.inf)]}, study
    )
    first, _, *rows = str(results).splitlines()
    assert first == "<StudyResults of 'a tiny study': 2 pairs of robot and controller, 200 runs each>"
    assert [row.split() for row in rows] == [
        ["arm", "computed", "torque", "2.5", "mrad", *("0", "%"), *("0", "%"), "–", "–"],
        ["arm", "PD", "30", "mrad", *("25", "%"), *("0", "%"), "–", "–"],
    ]
    with pytest.raises(UnknownNameError, match="robot 'leg'"):
        results.unit("leg")


def test_curves_show_what_a_factor_does(study: studies.Study) -> None:
    runs = draw(study)
    results = made_up({"computed torque": 0.01 * runs["payload"], "PD": np.full(200, 0.03)}, study)
    curve = results.curve("arm", "computed torque", "payload")
    assert len(curve.x) == 10
    np.testing.assert_allclose(curve.median, 0.01 * curve.x, rtol=0.1)
    assert (curve.low <= curve.median).all()
    assert (curve.median <= curve.high).all()
    flat = results.curve("arm", "PD", "rate", "peak_error")
    np.testing.assert_array_equal(flat.x, [125.0, 250.0])
    np.testing.assert_array_equal(flat.median, 0.03)
    for wrong in ({"factor": "weight"}, {"measure": "error"}, {"robot": "leg"}):
        with pytest.raises(UnknownNameError):
            results.curve(**{"robot": "arm", "controller": "PD", "factor": "payload"} | wrong)


def test_findings_name_the_better_one_and_what_matters(study: studies.Study) -> None:
    runs = draw(study)
    results = made_up({"computed torque": 0.001 * (1.0 + runs["payload"]), "PD": 0.01 + 0.1 * runs["friction"]}, study)
    found = results.findings()
    assert codes(on_robot(found, None)) == ["runs", "best", "no-run-lost"]
    made, best, _, medians, smaller, *strongest = found
    assert made.value == 200
    assert best.facts["controllers"] == "computed torque"
    median_error = np.quantile(0.001 * (1.0 + runs["payload"]), 0.5, method="higher")
    assert medians.facts["medians"]["computed torque"] == median_error == medians.value
    assert (smaller.rule.code, smaller.facts["first"], smaller.value) == ("smaller-error", "computed torque", 1.0)
    assert codes(strongest) == ["strongest-unknown"] * 2
    assert [own.facts["factor"] for own in strongest] == ["payload", "friction"]
    assert [own.value for own in strongest] == pytest.approx([1.0, 1.0], abs=0.01)
    assert results.ranks("arm") == {"computed torque": (1, 1), "PD": (2, 2)}


def test_chance_is_not_a_finding(study: studies.Study) -> None:
    noise = np.random.default_rng(0).uniform(0.9, 1.1, (2, 200))
    results = made_up({"computed torque": noise[0], "PD": noise[1]}, study)
    found = results.findings()
    assert codes(on_robot(found, None)) == ["runs", "several-best", "no-run-lost"]
    assert found[1].facts["controllers"] == "computed torque or PD"
    assert codes(on_robot(found, "arm")) == ["median-errors", "no-difference"]
    pair = results.compare("arm", "computed torque", "PD")
    assert pair.winner is None
    assert pair.better.low < 0.5 < pair.better.high


def test_findings_about_lost_runs(study: studies.Study) -> None:
    runs = draw(study)
    slow = runs.rate == 125.0
    errors = {"computed torque": np.where(slow, 0.02, 0.01), "PD": np.where(slow, np.inf, 0.005)}
    results = made_up(errors, study)
    found = {finding.rule.code: finding for finding in results.findings()}
    assert found["never-lost"].facts["controllers"] == "computed torque"
    assert found["never-lost"].value == pytest.approx(3.7 / 200, rel=0.05)  # 1 - 0.025^(1/200), Clopper and Pearson
    lost, most = found["runs-lost"], found["lost-most"]
    assert (lost.facts["controller"], lost.value) == ("PD", 0.5)
    assert (most.facts["worst"], most.facts["most"]) == ("125 Hz", "100 %")
    assert (most.facts["best"], most.facts["fewest"]) == ("250 Hz", "0 %")
    assert found["fewer-lost"].facts["first"] == "computed torque"
    assert results.ranks("arm") == {"computed torque": (1, 2), "PD": (1, 2)}  # PD errs less in the half that it keeps
    none = np.full(200, np.inf)
    hopeless = made_up({"computed torque": none, "PD": none}, study).findings()
    assert "each-lost-some" in codes(on_robot(hopeless, None))
    (half,) = (finding for finding in hopeless if finding.rule.code == "half-lost")
    assert half.value == 2


def test_intervals_of_ranks_hold_the_ranks_at_any_number_of_runs() -> None:
    """Two laws that err alike and one that errs less in 60 % of the runs; its losses in the others count as errors."""
    rng, held = np.random.default_rng(5), []
    for runs in (30, 300, 3000):
        for _ in range(100):
            a, b = rng.uniform(1.0, 2.0, (2, runs))
            better = np.where(rng.random(runs) < 0.6, 0.5, np.inf)
            found = ranks(["a", "b", "c"], {"a": a, "b": b, "c": better})
            held.append(found["c"].best == 1 and found["a"].best <= 2 <= found["a"].worst and found["b"].worst == 3)
    assert np.mean(held) >= 0.95
    assert found == {"a": (2, 3), "b": (2, 3), "c": (1, 1)}


def test_the_intervals_hold_what_they_promise() -> None:
    """Shares and medians of a known distribution are within 95 % intervals in at least 95 % of many draws."""
    generator = np.random.default_rng(1)
    draws = generator.exponential(size=(2000, 60))
    held = [interval.low <= np.log(2.0) <= interval.high for interval in map(median, draws)]
    assert 0.95 <= np.mean(held) < 0.985
    losses = (draws > 2.0).sum(axis=1)
    shares = [proportion(int(count), 60) for count in losses]
    assert np.mean([share.low <= np.exp(-2.0) <= share.high for share in shares]) >= 0.95
    assert median(np.array([1.0, np.inf])).high == np.inf


def test_effects_are_told_apart_from_what_varies_with_them() -> None:
    """Two factors act, one twice as strongly; the rate changes the level; a third factor does nothing."""
    generator = np.random.default_rng(2)
    factors = dict(zip("abc", generator.random((3, 800)), strict=True))
    cells = np.repeat([0, 1], 400)
    errors = 2.0 * factors["a"] + factors["b"] + 5.0 * cells
    found = rank_effects(factors, cells, errors)
    assert found["a"].value / found["b"].value == pytest.approx(2.0, rel=0.1)
    assert found["c"].low < 0.0 < found["c"].high
    without_cells = rank_effects(factors, np.zeros(800, dtype=int), errors)
    assert found["a"].high - found["a"].low < without_cells["a"].high - without_cells["a"].low


def test_sobol_indices_of_a_known_polynomial() -> None:
    """Of y = a + 2 a b + 3 b² + cell / 2 + (cell - 3/2) c + noise, by hand; the intervals hold them in most draws."""
    generator = np.random.default_rng(1)
    parts = {"a": 1 / 3, "ab": 4 / 9, "b": 9 * (1 / 5 - 1 / 9), "cell": 1.25 / 4, "c cell": 1.25 / 3, "noise": 0.09}
    whole = sum(parts.values())
    known = {
        "a": (parts["a"], parts["a"] + parts["ab"]),
        "b": (parts["b"], parts["b"] + parts["ab"]),
        "c": (0.0, parts["c cell"]),
        CELL: (parts["cell"], parts["cell"] + parts["c cell"]),
    }
    cells, held = np.repeat(np.arange(4), 200), []
    for _ in range(40):
        a, b, c = generator.uniform(-1.0, 1.0, (3, 800))
        y = a + 2.0 * a * b + 3.0 * b**2 + 0.5 * cells + (cells - 1.5) * c + 0.3 * generator.normal(size=800)
        found = sensitivities({"a": a, "b": b, "c": c}, cells, y)
        for name, (first, total) in known.items():
            index = found.factors[name]
            assert index.first.value == pytest.approx(first / whole, abs=0.06)
            assert index.total.value == pytest.approx(total / whole, abs=0.06)
            held += [index.first.low <= first / whole <= index.first.high]
            held += [index.total.low <= total / whole <= index.total.high]
        assert found.unexplained == pytest.approx(parts["noise"] / whole, abs=0.02)
    assert np.mean(held) > 0.9


def test_the_report_shows_sobol_indices(tmp_path: Path) -> None:
    results = tiny(runs=40).run()
    text = results.report(tmp_path / "report.html").read_text()
    index = results.sensitivities("arm", "PD").factors["payload"]
    assert f"{100.0 * index.first.value:.0f} / {100.0 * index.total.value:.0f}<br>" in text
    assert index.total.low > 0.5  # the sag under an unknown weight
    assert sum(each.first.value for each in results.sensitivities("arm", "PD").factors.values()) < 1.1


def test_a_lowered_frequency_is_a_warning_and_a_finding() -> None:
    study = tiny(rates=(30.0, 250.0), runs=4, controllers=(studies.StudyController("CT", "computed-torque"),))
    with pytest.warns(LoweredFrequencyWarning, match=r"at 30 Hz for 'CT' \(down to 75 %\)\."):
        results = study.run()
    (lowered,) = (finding for finding in results.findings() if finding.rule.code == "lowered-frequency")
    assert (lowered.facts["controllers"], lowered.value) == ("CT", 0.75)
    slow, fast = results.cells("arm", "CT")
    assert slow.poles is not None
    assert fast.poles is not None
    assert (slow.poles.frequency, fast.poles.frequency) == (15.0, 20.0)


def test_a_labelled_dataset() -> None:
    results = tiny().run()
    data = results.to_dataset()
    assert dict(data.sizes) == {"robot": 1, "controller": 2, "run": 12}
    assert data["rms_error"].attrs["units"] == "rad"
    np.testing.assert_array_equal(data["payload"].values, results.runs["payload"])
    pd = data["rms_error"].sel(robot="arm", controller="PD").values
    np.testing.assert_array_equal(pd, results.of_pair("arm", "PD")["rms_error"])
    half = tiny(controllers=(studies.StudyController("CT", "computed-torque", robots=("arm",)),)).run()
    assert half.controllers("arm") == ["CT"]


def test_a_robot_that_only_slides_is_measured_in_metres(tmp_path: Path) -> None:
    slider = tmp_path / "slider.toml"
    slider.write_text(
        '[robot]\nname = "slider"\n[[dh]]\nkind = "prismatic"\nmass = 2.0\n[[dh]]\nkind = "prismatic"\n'
        "alpha = 1.5707963267948966\nmass = 1.0\n"
    )
    robot = studies.StudyRobot.of(slider, start=[0.0, 0.0], goal=[0.1, 0.1], duration=0.3)
    results = tiny(robots=(robot,), controllers=(studies.StudyController("CT", "computed-torque"),)).run()
    assert results.unit("slider") == "m"
    assert any("mm for CT" in str(finding) for finding in on_robot(results.findings(), "slider"))


def test_the_report_is_one_page_without_a_network(tmp_path: Path) -> None:
    hostile = "</script><b>bold & 'quoted'</b>"
    controllers = (studies.StudyController(hostile, "computed-torque"), *tiny().controllers[1:])
    results = tiny(controllers=controllers, title="<i>study</i>").run()
    path = results.report(tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<i>study</i>" not in page
    assert hostile not in page
    assert "&lt;/script&gt;&lt;b&gt;bold &amp;" in page
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["']?http""", own)
    assert str(on_robot(results.findings(), "arm")[0])[1:] in own.replace("&lt;", "<").replace("&gt;", ">").replace(
        "&amp;", "&"
    ).replace("&#x27;", "'")
    for row in results.summaries():
        assert f"{1e3 * row.rms_error.median:.3g}" in own
    with pytest.raises(ArgumentError, match="cannot be written"):
        results.report(tmp_path)


def test_plotly_accepts_the_figures() -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects")
    from chasles.studies.figures import robot_figure

    results = tiny(payload=1.0).run()
    figure = graph_objects.Figure(robot_figure(results, "arm"))
    titles = [annotation.text for annotation in figure.layout.annotations]
    assert "<b>Payload</b>" not in titles  # it does not vary
    assert {"<b>Friction</b>", "<b>Sample rate</b>", "<b>Distribution over the runs</b>"} <= set(titles)


def test_the_reports_definition_is_the_files(tmp_path: Path) -> None:
    from tests.studies.tiny_studies import TOML

    path = tmp_path / "study.toml"
    path.write_text(TOML)
    results = studies.load(path).run(tmp_path / "results")
    assert (tmp_path / "results" / "study.toml").read_text() == TOML
    assert "from a file" in results.report(tmp_path / "r.html").read_text(encoding="utf-8")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "kind = &quot;computed-torque&quot;" in page


def test_margins_foresee_what_the_runs_then_show() -> None:
    """Three poles at 20 rad/s sampled at 60 Hz: stable without delay, and lost in every run with one of two periods."""
    law = studies.StudyController("CT", "computed-torque", {"integral": 1.0})
    study = tiny(rates=(60.0,), delays=(0.0, 2.0), runs=8, payload=0.5, controllers=(law,), rest=1.0)
    results = study.run()
    margins = results.margins("arm", "CT", payload=0.5)
    on_time, late = results.cells("arm", "CT")
    assert margins[60.0, 0.0].is_stable
    assert margins[60.0, 0.0].disk.min() > 0.3
    assert on_time.lost.value == 0.0
    assert margins[60.0, 2.0].growth > 5.0
    assert late.lost.value == 1.0
    encoders = tiny(rates=(60.0,), runs=2, encoder_step=(1e-3, 1e-3), controllers=(law,), rest=0.05).run()
    differentiated = encoders.margins("arm", "CT", payload=0.5)[60.0, 0.0]
    assert differentiated.disk.min() < margins[60.0, 0.0].disk.min() - 0.1  # a velocity half a period old


def test_margins_know_elastic_joints_and_the_payload() -> None:
    """Springs that sway at 2 Hz between rotors and links change the margin, and so does a load."""
    springs, rigid = (tiny(runs=2, rates=[125.0], rest=0.05, **given).run() for given in ({"resonance": 2.0}, {}))
    elastic = springs.margins("arm", "computed torque")[125.0, 0.0]
    (cell,) = springs.cells("arm", "computed torque")
    assert cell.disk_margin == pytest.approx(elastic.disk.min())
    plain, loaded = (rigid.margins("arm", "computed torque", payload=mass)[125.0, 0.0] for mass in (0.0, 2.0))
    assert abs(elastic.disk.min() - plain.disk.min()) > 0.1
    assert abs(loaded.disk.min() - plain.disk.min()) > 0.01


def test_margins_stand_beside_errors_in_every_table(tmp_path: Path) -> None:
    study = tiny(runs=8, rates=[125.0], delays=[0.0, 2.0])
    results = study.run(tmp_path / "results")
    known = results.margins("arm", "computed torque")
    for cell in results.cells("arm", "computed torque"):
        margins = known[cell.rate, cell.delay]
        assert cell.disk_margin == pytest.approx(margins.disk.min())
        assert cell.slowest_pole == pytest.approx(np.log(margins.radius.max()) * 125.0)
        assert cell.growth == pytest.approx(margins.growth)
    late = results.cells("arm", "computed torque")[1]
    text = results.report(tmp_path / "report.html").read_text()
    assert f"α {late.disk_margin:.2f}, {late.slowest_pole:.3g}/s" in text
    row = next(row for row in results.summaries() if row.controller == "computed torque")
    assert row.disk_margin == (late.disk_margin, known[125.0, 0.0].disk.min())
    assert row.shown_margin in str(results)
    again = study.run(tmp_path / "results")
    assert again.computed == 0
    assert again.cells("arm", "computed torque")[1].disk_margin == late.disk_margin


def test_the_slowest_pole_is_that_of_the_loop_and_not_of_the_design() -> None:
    """Upright with gravity, g m l / J slows the spring of feed-forward: s² + 40 s + 400 - g m l / J, sampled fast."""
    rod = ch.Robot.from_dh([{"a": 1.0, "mass": 2.0, "center_of_mass": [-0.5, 0.0, 0.0]}], gravity=(0.0, -9.81, 0.0))
    robot = studies.StudyRobot.of(rod, start=[np.pi / 2], goal=[np.pi / 2 + 1e-6], duration=0.2, title="rod")
    law = studies.StudyController("feed-forward", "computed-torque", {"kp": 400.0, "kd": 40.0, "feedforward": True})
    results = tiny(robots=(robot,), controllers=(law,), rates=(1e4,), runs=2, friction=0.0, step=1e-4).run()
    J, falling = 2.0 * 0.25, 9.81 * 2.0 * 0.5
    expected = np.roots([1.0, 40.0, 400.0 - falling / J]).real.max()
    (cell,) = results.cells("rod", "feed-forward")
    assert cell.poles is None
    assert cell.slowest_pole == pytest.approx(expected, rel=0.01)
    learning = studies.StudyController("adaptive", "slotine-li")
    (unknown,) = tiny(controllers=(learning,), rates=(250.0,), runs=2).run().cells("arm", "adaptive")
    assert np.isnan(unknown.disk_margin)


def test_a_law_that_cannot_have_the_margin_is_a_counted_refusal(tmp_path: Path) -> None:
    """No sampled loop has a margin of 1.4; the other cells of the study are simulated."""
    laws = (
        studies.StudyController("safe", "computed-torque", {"margin": 1.4, "cap": 20.0}),
        studies.StudyController("plain", "computed-torque", {"frequency": 10.0}),
    )
    study = tiny(controllers=laws, rates=(60.0,), runs=40)
    results = study.run(tmp_path / "results")
    safe, plain = results.summaries()
    assert (safe.refused, safe.lost, plain.refused) == (1.0, 0.0, 0.0)
    (cell,) = results.cells("arm", "safe")
    assert "1.4 is asked for" in cell.refusal
    assert np.isnan(cell.lost.value)
    assert results.compare("arm", "safe", "plain").winner == "plain"
    (finding,) = (each for each in results.findings() if each.rule.code == "refused")
    assert finding.facts["reason"] == cell.refusal
    assert "refused" in results.report(tmp_path / "report.html").read_text()
    assert results.margins("arm", "safe") == {}
    again = study.run(tmp_path / "results")
    assert again.computed == 0
    assert again.cells("arm", "safe")[0].refusal == cell.refusal
