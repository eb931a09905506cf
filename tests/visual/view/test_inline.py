"""Pages inside other pages: in reports, in notebooks, and as widgets that are linked with Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.visual.browser import Tab
from tests.visual.view_in_a_tab import READY

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.visual.view import inline

InATab = Callable[[Path], Tab]
INSIDE = "document.querySelector('iframe').contentWindow"

OPEN = """
const opened = () => document.querySelector("iframe")?.contentWindow;
const until = async holds => { while (!holds()) await new Promise(requestAnimationFrame); };
const inside = async ready => {
  await until(() => opened()?.document.querySelector(".panels details"));
  const script = opened().document.createElement("script");
  script.textContent = ready + "Object.assign(window, { find, slide });";
  script.textContent += "chaslesView.then(own => { window.page = own; });";
  opened().document.body.append(script);
  await until(() => opened().page);
};
"""


def _inside(tab: Tab) -> None:
    """Wait until the page in the frame shows its robot."""
    tab.ask(OPEN)
    tab.ask(f"inside({json.dumps(READY.replace('let page;', ''))})")


@pytest.mark.slow
def test_a_report_lets_its_robots_be_taken_by_the_hand(in_a_tab: InATab, panda: ch.Robot, tmp_path: Path) -> None:
    motion = ch.PointToPoint(panda.home, panda.home + 0.3, duration=0.2)
    run = ch.simulate(panda, ch.ComputedTorque(panda, kp=400.0, kd=40.0), motion)
    page = ch.report({"one": run, "two": run}, tmp_path / "run.html")
    assert page.read_text().count('type="text/plain" id="hand-') == 1  # one robot, two runs
    tab = in_a_tab(page)
    tab.ask("void document.querySelectorAll('.hand')[1].click()")
    _inside(tab)
    tab.ask(f"{INSIDE}.slide('panda_joint1', 30)")
    q, T = map(np.array, tab.ask(f"(p => [[...p.q], [...p.mechanism.tool(p.q).T]])({INSIDE}.page)"))
    assert abs(q[0] - np.radians(30.0)) < 1e-12
    np.testing.assert_allclose(T.reshape(4, 4), panda.forward_kinematics(q), atol=1e-12)
    tab.ask("void document.querySelectorAll('.hand')[1].click()")
    assert tab.ask("document.querySelector('iframe') === null")
    assert tab.complaints() == []


def test_notebooks_show_the_page_in_place(in_a_tab: InATab, panda: ch.Robot, tmp_path: Path) -> None:
    shown = panda.view(notebook="page")
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><body>{shown._repr_html_()}")
    tab = in_a_tab(notebook)
    _inside(tab)
    tab.ask(f"{INSIDE}.find('.let-go').click(), {INSIDE}.page.simulation.advance(50)")
    assert np.abs(np.array(tab.ask(f"[...{INSIDE}.page.q]")) - panda.home).max() > 1e-3
    assert "kB" in repr(shown)
    assert tab.complaints() == []


def test_widget_and_python_move_each_other(in_a_tab: InATab, panda: ch.Robot, tmp_path: Path) -> None:
    """The widget's own script, with a model as anywidget hands it over."""
    pytest.importorskip("anywidget")
    widget = panda.view(notebook="widget")
    script = inline._WIDGET.replace("export default", "window.widget =")
    model = """const heard = {}, values = { page: PAGE, height: 400, q: [] };
    window.saved = [];
    window.model = {
      get: k => values[k], set: (k, v) => { values[k] = v; }, save_changes: () => saved.push({ ...values }),
      on: (name, act) => { heard[name] = act; }, change: q => { values.q = q; heard["change:q"](); },
    };"""
    content = json.dumps(widget.page).replace("<", "\\u003c")
    path = tmp_path / "widget.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><body><script>{script}{model.replace('PAGE', content)}"
        "window.closed_ = widget.render({ model, el: document.body });</script>"
    )
    tab = in_a_tab(path)
    _inside(tab)
    tab.ask(f"model.change({(panda.home + 0.1).tolist()})")
    tab.ask("until(() => Math.abs(opened().page.q[0] - 0.1) < 1e-12)")
    tab.ask(f"{INSIDE}.slide('panda_joint1', 45), {INSIDE}.find('.record').click()")
    tab.ask("until(() => saved.at(-1)?.waypoints?.length)")
    assert abs(tab.ask("saved.at(-1).q[0]") - np.pi / 4) < 1e-12
    assert tab.ask("saved.at(-1).waypoints.length") == 1
    widget.q = (panda.home + 0.2).tolist()
    with pytest.raises(ArgumentError, match=r"q has shape \(2,\)"):
        widget.q = [1.0, 2.0]
    assert "srcdoc" in widget._repr_mimebundle_()[0]["text/html"]


def test_where_a_notebook_shows_it_is_one_of_three(panda: ch.Robot) -> None:
    with pytest.raises(UnknownNameError, match="notebook"):
        panda.view(notebook="cell")


def test_motions_in_space_are_played(panda: ch.Robot, tmp_path: Path) -> None:
    start = panda.forward_kinematics(panda.home)
    end = start.copy()
    end[2, 3] += 0.1
    path = ch.StraightLine(start, end, duration=1.0)
    page = path.view(panda, q0=panda.home, path=tmp_path / "line.html")
    data: dict[str, Any] = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])
    last = np.array(data["recording"]["runs"][0]["q"][-7:])
    np.testing.assert_allclose(panda.forward_kinematics(last)[:3, 3], end[:3, 3], atol=1e-6)
    assert "motion in space" in path._repr_html_()
