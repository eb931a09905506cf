"""Robots that move by themselves on a page: the same motion as Python's, let go, held, taught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracles import closed_machines
from tests.visual.browser import Tab

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.model import Description, Inertia, Joint, Link
from chasles.visual.view.handed import moderate_motion

SLOW = pytest.mark.slow
STEP = """
window.simulated = (q, options, steps, reference) => {
  const given = { law: "none", bandwidth: 8, damping: 0, mass: 0, limited: true, ...options };
  const loop = new ClosedLoop(page.mechanism, q, given);
  if (reference) loop.reference = reference;
  loop.run(new Array(steps).fill(loop.reference));
  return [[...loop.q], [...loop.qd], [...loop.viscous ?? []]];
};
"""


def diver() -> Description:
    """A floating body with an arm on a spherical and a revolute joint, whose joints have friction."""
    bar = Inertia(1.0, [0.1, 0.0, 0.0], np.diag([0.01, 0.02, 0.02]))
    links = (Link("world"), Link("body", bar), Link("upper", bar), Link("lower", bar))
    place = ch.geometry.pose(ch.geometry.rotation_y(0.3), [0.2, 0.0, 0.0])
    joints = (
        Joint("base", "free", "world", "body"),
        Joint("shoulder", "spherical", "body", "upper", place),
        Joint("elbow", "revolute", "upper", "lower", place, axis=[0.0, 1.0, 0.0], viscous_friction=0.05),
    )
    return Description("diver", links, joints)


def _simulated(tab: Tab, q: Any, options: str, steps: int, goal: Any = None) -> tuple[np.ndarray[Any, Any], ...]:
    tab.ask(STEP)
    zeros = f"new Float64Array({len(goal)})" if goal is not None else ""
    reference = f", {{ q: {list(map(float, goal))}, qd: {zeros}, qdd: {zeros} }}" if goal is not None else ""
    return tuple(map(np.array, tab.ask(f"simulated({list(map(float, q))}, {options}, {steps}{reference})")))


def test_let_go_it_falls_as_in_python(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    q, qd, viscous = _simulated(tab, panda.home, "{ mass: 1.5, damping: 2 }", 250)
    loaded = panda.with_payload(1.5)
    plant = ch.Plant(loaded, friction=ch.Friction(loaded, viscous=viscous))
    run = ch.simulate(plant, duration=0.25, start=panda.home, integrator=ch.integrators.Steps("rk4", 1))
    np.testing.assert_allclose(viscous, 2.0 * np.diag(loaded.mass_matrix(panda.home)), rtol=1e-12)
    np.testing.assert_allclose(q, run["q"].values[-1], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(qd, run["qd"].values[-1], rtol=0.0, atol=1e-11)
    assert np.abs(qd).max() > 0.5
    assert tab.complaints() == []


def test_a_frame_is_computed_once_however_often_a_button_is_pressed(opened: Any) -> None:
    swing = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=60.0)
    times = np.linspace(0.0, 60.0, 50)
    recording = {"times": times, "runs": {"motion": swing(times).q}}
    tab = opened(ch.load("planar2r"), recording=recording)
    tab.ask(
        """for (const [object, method] of [[page.simulation, "advance"], [page.player, "seek"]]) {
          const work = object[method];
          object[method] = function (...given) { window.computed++; return work.apply(this, given); };
        }"""
    )
    for button in (".hold", ".play"):
        tab.ask(f"for (let k = 0; k < 7; k++) find('{button}').click(); frames(2)")
        tab.ask("window.computed = 0")
        assert 8 <= tab.ask("frames(10).then(() => window.computed)") <= 11


@pytest.mark.filterwarnings("ignore::chasles.simulation.stiffness.StiffnessWarning")
def test_stiff_friction_is_integrated_implicitly(opened: Any) -> None:
    arm = ch.load("xarm6")  # with steps of 1 ms of the classical method it flies apart
    tab = opened(arm, laws=["pd-gravity"])
    assert "This robot's friction is stiff" in tab.ask("page.simulation.element.textContent")
    q, qd, _ = _simulated(tab, arm.home, "{}", 200)
    steps = ch.integrators.Steps("implicit-friction-euler", 4)
    run = ch.simulate(arm, duration=0.2, start=arm.home, integrator=steps)
    np.testing.assert_allclose(q, run["q"].values[-1], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(qd, run["qd"].values[-1], rtol=0.0, atol=1e-10)
    exact = ch.simulate(arm, duration=0.2, start=arm.home, integrator=ch.integrators.Within("rodas5p", rtol=1e-8))
    np.testing.assert_allclose(q, exact["q"].values[-1], rtol=0.0, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["slotine-li", "composite-adaptive", "lee-chung", "natural-adaptive"])
@pytest.mark.parametrize("name", ["puma560", "z1"])
def test_gains_of_pages_keep_a_robot_that_is_pushed(name: str, kind: str) -> None:
    arm = ch.load(name)
    push = ch.ExternalWrench("push", times=[0.1, 0.2], samples=np.tile([0.0, 0, 0, 0, 20, 0], (2, 1)), axes="world")
    goal = arm.home + 0.05
    still = ch.PointToPoint(goal, goal, 1.0)
    run = ch.simulate(ch.Plant(arm, wrenches=[push]), _tuned(arm, kind, 8.0), still, start=arm.home)
    assert np.abs(run["error"].values[-1]).max() < 0.1  # tuned for rest they blow up: 1 rad and more


def _tuned(robot: ch.Robot, kind: str, bandwidth: float) -> ch.Controller:
    return ch.control.laws()[kind].tuned(robot, moderate_motion(robot), 1e-3, frequency=bandwidth)


#: Laws of the catalogue that know nothing of the motion beforehand and have a rule for their gains.
LAWS = (
    "pd-gravity", "computed-torque", "disturbance-observer", "pid", "operational-space", "sliding-mode",
    "natural-adaptive", "lee-chung", "slotine-li", "composite-adaptive", "model-reference-adaptive",
    "linear-quadratic-regulator", "pd", "resolved-acceleration",
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::chasles.simulation.diagnosis.SaturationWarning")
@pytest.mark.parametrize(
    ("name", "kinds"), [("planar2r", ("pid", "computed-torque", "slotine-li")), pytest.param("panda", LAWS, marks=SLOW)]
)
def test_laws_of_the_catalogue_move_robots_as_in_python(opened: Any, name: str, kinds: tuple[str, ...]) -> None:
    arm = ch.load(name)
    tab = opened(arm, laws=kinds)
    goal = arm.home + 0.2
    still = ch.PointToPoint(goal, goal, duration=0.05)
    for kind in kinds:
        q, qd, _ = _simulated(tab, arm.home, f"{{ law: '{kind}', bandwidth: 12 }}", 50, goal)
        steps = ch.integrators.Steps("rk4", 1)
        run = ch.simulate(arm, _tuned(arm, kind, 12.0), still, duration=0.05, start=arm.home, integrator=steps)
        np.testing.assert_allclose(q, run["q"].values[-1], rtol=0.0, atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(qd, run["qd"].values[-1], rtol=0.0, atol=1e-10, err_msg=kind)
        assert np.abs(qd).max() > 0.01
    assert tab.complaints() == []


def decides(now: Any) -> Any:
    """A law that no trace can take."""
    return -now.q if float(now.t) < 1.0 else -now.qd


def test_laws_that_a_page_cannot_run_are_refused(opened: Any) -> None:
    with pytest.raises(
        ArgumentError, match=r"no rule gives the gains of law 'impedance': .* laws=\[ch.control.Impedance"
    ):
        opened(ch.load("planar2r"), laws=["impedance"])
    with pytest.raises(
        ArgumentError, match="'whole-body-torque' is computed step by step in Python, which a page cannot"
    ):
        opened(ch.load("planar2r"), laws=["whole-body-torque"])
    with pytest.raises(ArgumentError, match="law 'decides' cannot be compiled for a page"):
        opened(ch.load("planar2r"), laws=[decides])
    with pytest.raises(ArgumentError, match="the controller's model has 7 joints, but robot 'planar2r' has 2"):
        opened(ch.load("planar2r"), laws=[ch.control.PDGravity(ch.load("panda"), kp=1.0, kd=1.0)])
    with pytest.raises(UnknownNameError, match="computed-torque"):
        opened(ch.load("planar2r"), laws=["computed_torque"])


@pytest.mark.parametrize(
    "machine", [pytest.param(closed_machines.four_bar, marks=pytest.mark.slow), closed_machines.leg_with_rods]
)
def test_loops_and_free_bases_move_as_in_python(opened: Any, machine: Any) -> None:
    robot = ch.Robot(machine())
    tab = opened(robot)
    q, qd, *_ = _simulated(tab, robot.home, "{}", 100)
    run = ch.simulate(robot, duration=0.1, start=robot.home, integrator=ch.integrators.Steps("rk4", 1))
    np.testing.assert_allclose(q, run["q"].values[-1], rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(qd, run["qd"].values[-1], rtol=0.0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["pd-gravity", pytest.param("computed-torque", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(closed_machines.five_bar, marks=pytest.mark.slow),
        pytest.param(closed_machines.leg_with_rods, marks=pytest.mark.slow),
        diver,
    ],
)
def test_taught_motions_of_loops_and_free_bases_are_simulated_as_in_python(
    opened: Any, machine: Any, law: str, tmp_path: Path
) -> None:
    robot = ch.Robot(machine())
    tab = opened(robot)
    goal = robot.integrate(robot.home, 0.3 * np.cos(np.arange(robot.n)))
    tab.ask(f"find('.record').click(), page.move(Float64Array.from({goal.tolist()})), find('.record').click()")
    tab.ask(f"choose('Controller', '{law}'), slide('payload', 0.4)")
    if tab.ask("page.mechanism.quaternions.length"):
        assert "No friction is added" in tab.ask("page.simulation.element.textContent")
    else:
        tab.ask("slide('friction', 0.5)")
    tab.ask("find('.simulate').click()")
    assert "Largest error: " in tab.ask("page.player.pause(), page.pendant.report.textContent")
    text = tab.ask("page.pendant.text('py')")
    robot.save(tmp_path / f"{robot.name}.toml")
    names: dict[str, Any] = {"__name__": "__main__", "print": lambda *_: None}
    exec(compile(text.replace('ch.load("', f'ch.load("{tmp_path}/'), "taught.py", "exec"), names)
    for place, name in (("slice(-page.q.length)", "q"), ("slice(-page.q.length)", "q_reference")):
        run = 0 if name == "q" else 1
        np.testing.assert_allclose(
            tab.ask(f"page.player.runs[{run}].q.{place}"), names["run"][name].values[-1], rtol=0.0, atol=1e-9
        )
    assert tab.complaints() == []


def test_a_taught_motion_that_opens_the_loops_is_said(opened: Any) -> None:
    rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint1"]}
    robot = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
    tab = opened(robot, q=robot.loops.close([0.3, 0.6]).q)
    tab.ask(
        "find('.record').click(), find('.record').click(), page.pendant.waypoints[1][0] += 2.5, page.pendant.showList()"
    )
    tab.ask("find('.play-waypoints').click(), page.player.pause()")
    assert "The loops cannot be kept closed beyond " in tab.ask("page.pendant.report.textContent")
    last = np.array(tab.ask("page.player.runs[0].q.slice(-2)"))
    assert np.abs(robot.loops.constraints(last).residual).max() < 1e-9
    tab.ask("find('.simulate').click()")
    assert "The simulation stopped at " in tab.ask("page.pendant.report.textContent")
    assert tab.complaints() == []


def test_the_buttons_let_it_go_hold_it_and_stop_it(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("find('.let-go').click()")
    assert tab.ask("page.simulation.loop.law") == "none"
    tab.ask("page.simulation.advance(100)")
    fallen = np.array(tab.ask("[...page.q]"))
    assert np.abs(fallen - panda.home).max() > 0.01
    tab.ask("find('.hold').click()")
    speed = tab.ask("[...page.simulation.loop.qd]")
    assert np.abs(speed).max() > 0.1  # it is caught, not frozen
    fallen = np.array(tab.ask("[...page.simulation.loop.reference.q]"))
    held = np.array(tab.ask("page.simulation.advance(4000), [...page.q]"))
    np.testing.assert_allclose(held, fallen, atol=0.01)
    assert tab.ask("find('.torques, details:nth-of-type(3) summary').textContent") == "Torques of the controller"
    # A handle moves the goal; the robot follows by its own motion.
    tab.ask("(T => { T[11] += 0.05; page.drag(T); })([...page.mechanism.tool(page.q).T])")
    tab.ask("page.simulation.advance(4000)")
    goal = np.array(tab.ask("[...page.simulation.loop.reference.q]"))
    np.testing.assert_allclose(tab.ask("[...page.q]"), goal, atol=0.01)
    assert np.abs(goal - held).max() > 0.01
    tab.ask("find('.hold').click()")
    assert tab.ask("page.simulation.loop === null")
    assert tab.ask("find('.hold').textContent") == "Hold"
    assert tab.complaints() == []


def test_joints_that_fall_stop_at_their_limits(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("find('.let-go').click()")
    touched = False
    for _ in range(10):
        q = np.array(tab.ask("page.simulation.advance(300), [...page.q]"))
        assert (q >= panda.lower_limits).all()
        assert (q <= panda.upper_limits).all()
        touched |= bool(((q == panda.lower_limits) | (q == panda.upper_limits)).any())
    assert touched
    assert tab.complaints() == []


def test_the_camera_follows_what_nothing_carries(opened: Any) -> None:
    robot = ch.Robot(diver())
    tab = opened(robot)
    assert "no contact with the ground" in tab.ask("page.simulation.element.textContent")
    before = np.array(tab.ask("[...page.scene.camera.target]"))
    tab.ask("find('.let-go').click()")
    target, q = tab.ask("page.simulation.advance(1000), [[...page.scene.camera.target], [...page.q]]")
    fallen = np.array(target) - before
    body = robot.forward_kinematics(np.array(q), target="body")[:3, 3]
    start = robot.forward_kinematics(robot.home, target="body")[:3, 3]
    np.testing.assert_allclose(fallen, body - start, atol=1e-5)
    assert fallen[2] < -1.0
    # The view of the whole scene goes where the robot is, and the camera comes back with the robot.
    tab.ask("[...document.querySelectorAll('.cameras button')].find(b => b.textContent === 'Whole').click()")
    np.testing.assert_allclose(tab.ask("[...page.scene.camera.target]"), target, atol=1e-12)
    tab.ask("find('.go-home').click()")
    np.testing.assert_allclose(tab.ask("[...page.scene.camera.target]"), before, atol=1e-12)
    assert tab.complaints() == []


def test_a_taught_motion_is_simulated_and_its_file_repeats_that(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("find('.record').click(), slide('panda_joint2', 10), find('.record').click(), slide('payload', 2.0)")
    tab.ask("slide('friction', 1.5), find('.simulate').click(), page.player.pause()")
    assert "Largest error: " in tab.ask("page.pendant.report.textContent")
    labels = tab.ask("page.player.runs.map(run => run.label)")
    assert labels == ["simulated", "planned"]
    text = tab.ask("page.pendant.text('py')")
    names: dict[str, Any] = {"__name__": "__main__", "print": lambda *_: None}
    exec(compile(text, "taught.py", "exec"), names)
    last = tab.ask("page.player.runs[0].q.slice(-7)")
    np.testing.assert_allclose(last, names["run"]["q"].values[-1], rtol=0.0, atol=1e-10)
    assert 'controller = "pd-gravity"' in tab.ask("page.pendant.text('toml')")
    assert tab.complaints() == []


def test_what_cannot_be_simulated_says_so(opened: Any) -> None:
    tab = opened(ch.Robot(Description("stone", (Link("stone"),))))
    assert "Nothing moves" in tab.ask("page.simulation.element.textContent")
    massless = ch.Robot(
        ch.load("planar2r").description.replace(
            links=tuple(link.replace(inertia=ch.model.Inertia()) for link in ch.load("planar2r").description.links)
        )
    )
    tab = opened(massless)
    assert "move no mass" in tab.ask("page.simulation.element.textContent")
    assert tab.complaints() == []


def test_an_explosion_is_said(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    tab.ask("find('.let-go').click(), page.simulation.loop.qd.fill(1e200), page.simulation.advance(5)")
    assert "not finite" in tab.ask("page.simulation.status.textContent")
    assert np.isfinite(tab.ask("[...page.q]")).all()


@pytest.mark.slow
def test_a_frame_of_simulation_costs_less_than_a_frame(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    milliseconds = tab.ask(
        """(() => { const loop = new ClosedLoop(page.mechanism, page.q, { ...page.simulation.options });
        let fastest = Infinity;
        for (let group = 0; group < 20; group++) {
          const start = performance.now();
          loop.run(new Array(17).fill(loop.reference));
          fastest = Math.min(fastest, performance.now() - start);
        }
        return fastest; })()"""
    )
    assert milliseconds < 16.0  # 17 periods of 1 ms; about 1 on a quiet machine
