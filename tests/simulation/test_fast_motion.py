"""Fast rigid motion: the automatic integrator controls its error, and ordinary robots keep theirs."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.oracles.closed_machines import slider_crank
from tests.thinning import paired

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link
from chasles.simulation import StiffnessWarning

MOMENTS = np.array([0.02, 0.05, 0.06])
BODY = Inertia(1.0, np.zeros(3), np.diag(MOMENTS))
STONE = ch.Robot(
    Description(
        "stone",
        links=(Link("world"), Link("body", BODY)),
        joints=(Joint("free", "spherical", "world", "body"),),
        gravity=[0.0, 0.0, 0.0],
    )
)
SPIN = np.array([100.0, 1.0, 60.0])


def turning(times: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Angular velocities (k, 3) by Euler's equations, I ω' = I ω × ω."""
    found = solve_ivp(
        lambda t, w: np.cross(MOMENTS * w, w) / MOMENTS,
        (0.0, times[-1]), spin, method="DOP853", t_eval=times, rtol=1e-11, atol=1e-10,
    )  # fmt: skip
    return found.y.T


def test_a_free_body_at_100_rad_per_s() -> None:
    run = ch.simulate(STONE, duration=1.0, period=0.01, start=ch.State(qd=SPIN))
    np.testing.assert_allclose(run.qd, turning(run.time.values, SPIN), rtol=0, atol=1e-2)
    energy = 0.5 * (MOMENTS * run.qd.values**2).sum(axis=-1)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-4)
    assert run.attrs["integrator"] == "dormand-prince"


def test_only_fast_runs_of_a_batch_are_repeated() -> None:
    spins = np.array([SPIN, 0.01 * SPIN])
    both = ch.simulate(STONE, duration=0.5, period=0.01, start=ch.State(qd=spins))
    for k, spin in enumerate(spins):
        alone = ch.simulate(STONE, duration=0.5, period=0.01, start=ch.State(qd=spin))
        np.testing.assert_array_equal(both.q.values[k], alone.q.values)


def test_a_double_pendulum_in_steps_of_20_ms() -> None:
    arm = ch.load("planar2r")
    start = {"start": ch.State([0.3, 0.5], [5.0, 5.0]), "duration": 1.0}
    run = ch.simulate(arm, period=0.02, **start)
    fine = ch.simulate(arm, period=0.02, integrator=ch.integrators.Steps("rk4", 100), **start)
    assert abs(run.q[-1].values - fine.q[-1].values).max() < 1e-4


def test_ordinary_motions_stay_as_they_are() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
    assert run.attrs["integrator"] == "rk4"


def polar_arm() -> ch.Robot:
    """A mass on a rail that turns: without forces it moves on a straight line."""
    joints = (
        Joint("turn", "revolute", "base", "rail"),
        Joint("reach", "prismatic", "rail", "mass", axis=[1.0, 0.0, 0.0]),
    )
    links = (Link("base"), Link("rail"), Link("mass", Inertia(2.0)))
    return ch.Robot(Description("polar", links, joints, gravity=[0.0, 0.0, 0.0]))


@pytest.mark.parametrize(("nearest", "period"), [(0.02, 1e-3), (0.1, 1e-2), (0.005, 1e-3)])
def test_a_mass_passes_its_pivot_on_a_straight_line(nearest: float, period: float) -> None:
    """At rest most of the time; for a few periods the rail turns at speed / nearest, up to 400 rad/s."""
    speed, start = 2.0, np.array([-1.0, nearest])
    far = np.hypot(*start)
    q0 = [np.arctan2(start[1], start[0]), far]
    qd0 = [-start[1] * speed / far**2, start[0] * speed / far]
    run = ch.simulate(polar_arm(), duration=1.0, period=period, start=ch.State(q0, qd0))
    angle, reach = run.q.values.T
    place = np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=-1)
    line = start + np.outer(run.time.values, [speed, 0.0])
    np.testing.assert_allclose(place, line, atol=1e-5)


SLIDE = ch.Robot(
    Description(
        "slide", (Link("base"), Link("car", Inertia(2.0))), (Joint("s", "prismatic", "base", "car"),),
        gravity=[0.0, 0.0, 0.0],
    )
)  # fmt: skip


@pytest.mark.parametrize("turn", [0.1, 0.3, 0.9])
def test_a_spring_not_stiff_enough_for_an_implicit_method(turn: float) -> None:
    """A motor pushes a mass through a spring that swings by `turn` rad in a period."""
    period, rotor, push = 1e-2, 0.5, 3.0
    frequency = turn / period
    spring = ch.ElasticJoints(1, stiffness=frequency**2 / (1.0 / 2.0 + 1.0 / rotor), rotor_inertia=rotor)
    plant, law = ch.Plant(SLIDE, elastic_joints=spring), lambda now: 0.0 * now.q + push
    run = ch.simulate(plant, law, duration=2.0, period=period)
    deflection = run.motor_position.values[:, 0] - run.q.values[:, 0]
    most = push / (rotor * frequency**2)
    np.testing.assert_allclose(deflection, most * (1.0 - np.cos(frequency * run.time.values)), atol=1e-3 * most)


def test_small_fast_oscillations_of_a_high_gain() -> None:
    """Between the calls of a law a rigid joint moves by a parabola, which no step misses, however fast the loop is."""
    mass, period, kp, kd = 2.0, 1e-3, 6e5, 1e3
    law = ch.control.PD(SLIDE, kp=kp, kd=kd)
    run = ch.simulate(SLIDE, law, ch.PointToPoint([0.0], [0.0], 0.3), start=[1e-4], period=period)
    advance = np.array([[1.0, period], [0.0, 1.0]]) - np.outer([period**2 / 2.0, period], [kp, kd]) / mass
    x, expected = np.array([1e-4, 0.0]), []
    for _ in range(run.sizes["time"]):
        expected.append(x[1])
        x = advance @ x
    assert np.abs(expected).max() > 0.03
    np.testing.assert_allclose(run.qd.values[:, 0], expected, atol=1e-12)
    assert run.attrs["integrator"] == "rk4"


def double_pendulum(start: list[float], times: np.ndarray) -> np.ndarray:
    """Angles (k, 2) of the arm of two rods by Lagrange's equations."""
    (m1, m2), (l1, l2), g = (10.0, 5.0), (0.5, 0.25), 9.80621
    i1, i2 = m1 * l1**2 / 12.0, m2 * l2**2 / 12.0

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        q1, q2, v1, v2 = x
        c = m2 * l1 * l2 / 2.0
        m22 = i2 + m2 * l2**2 / 4.0
        m12 = m22 + c * np.cos(q2)
        m11 = i1 + m1 * l1**2 / 4.0 + m2 * l1**2 + m22 + 2.0 * c * np.cos(q2)
        h = c * np.sin(q2)
        second = m2 * g * l2 / 2.0 * np.cos(q1 + q2)
        first = (m1 / 2.0 + m2) * g * l1 * np.cos(q1) + second
        force = [h * v2 * (2.0 * v1 + v2) - first, -h * v1**2 - second]
        return np.concatenate([x[2:], np.linalg.solve([[m11, m12], [m12, m22]], force)])

    found = solve_ivp(rates, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-12)
    return found.y[:2].T


@pytest.mark.parametrize(("thrown", "period"), [((15.0, -30.0), 5e-3), ((-4.0, 9.0), 1e-2), ((3.0, 40.0), 2e-3)])
def test_a_double_pendulum_thrown(thrown: tuple[float, float], period: float) -> None:
    arm = ch.load("planar2r")
    run = ch.simulate(arm, duration=0.5, period=period, start=ch.State([0.3, 0.5], thrown))
    np.testing.assert_allclose(run.q, double_pendulum([0.3, 0.5, *thrown], run.time.values), atol=1e-4)


def test_a_slider_crank_that_spins() -> None:
    """Its energy alone gives the crank's motion: I(θ) θ'² stays, with crank, rod and piston in I."""
    crank, rod, speed, period = 0.1, 0.3, 60.0, 1e-2
    robot = ch.Robot(slider_crank("motor")).with_gravity(np.zeros(3)).with_friction(viscous=0.0, coulomb=0.0)
    bodies = [robot.description.link(name).inertia for name in ("crank", "rod", "piston")]

    def inertia(angle: complex) -> complex:
        """Reduced inertia, by the velocities for θ' = 1; the three joints have rotors of 0.003 kg·m² (kg)."""
        first, second, third = bodies
        turn = np.arcsin(-crank / rod * np.sin(angle))  # of the rod in the plane
        turning = -crank * np.cos(angle) / (rod * np.cos(turn))
        pin = -crank * np.sin(angle) - rod * np.sin(turn) * turning
        x, _, z = second.center_of_mass
        along = -crank * np.sin(angle) - (x * np.sin(turn) + z * np.cos(turn)) * turning
        across = crank * np.cos(angle) + (x * np.cos(turn) - z * np.sin(turn)) * turning
        own = first.matrix[1, 1] + first.mass * (first.center_of_mass[0] ** 2 + first.center_of_mass[2] ** 2)
        moving = second.mass * (along**2 + across**2) + second.matrix[1, 1] * turning**2
        rotors = 0.003 * (1.0 + (turning - 1.0) ** 2 + pin**2)
        return own + moving + third.mass * pin**2 + rotors

    def rates(t: float, x: np.ndarray) -> list[float]:
        value = inertia(x[0] + 1e-20j)
        return [x[1], -0.5 * value.imag / 1e-20 / value.real * x[1] ** 2]

    run = ch.simulate(robot, duration=0.3, period=period, start=ch.State(qd=[speed]))
    start, times = run.q.values[0, 0], run.time.values
    found = solve_ivp(rates, (0.0, 0.3), [start, speed], method="DOP853", t_eval=times, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(run.q.values[:, 0], found.y[0], atol=1e-3)


@pytest.mark.filterwarnings("ignore::chasles.simulation.UncompiledWarning")
def test_a_law_that_cannot_be_repeated_is_warned_of() -> None:
    def law(now):
        return np.array([float(value) * 0.0 for value in now.qd])

    with pytest.warns(StiffnessWarning, match=r"steps of 0.01 s are too long .*'stone'.*Steps\('rk4', \d+\)"):
        run = ch.simulate(STONE, law, duration=0.3, period=0.01, start=ch.State(qd=SPIN))
    assert [finding.rule.code for finding in run.findings] == ["coarse-steps"]


def test_a_fast_start_that_one_step_throws_out_is_not_put_down_to_the_law() -> None:
    """Three links at 120 rad/s and 10 ms: the classical method diverges, whatever the law; SciPy's solution is kept."""
    links = [{"a": 0.3, "alpha": 0.5 * np.pi, "mass": 1.0, "inertia": 3 * [0.01]} for _ in range(3)]
    arm = ch.Robot.from_dh(links)
    starts = ch.State([0.3, -0.5, 0.8], np.array([[120.0, -60.0, 90.0], [1.0, 0.5, -1.0]]))
    runs = [
        ch.simulate(arm, lambda now: -0.01 * now.qd, duration=0.3, period=0.01, start=starts, integrator=integrator)
        for integrator in ("automatic", ch.integrators.Within("DOP853", 1e-10, 1e-12))
    ]
    difference = np.abs(runs[0].qd - runs[1].qd).max(["time", "joint"]) / np.abs(runs[1].qd).max(["time", "joint"])
    assert (difference.values < 1e-3).all()


@pytest.mark.parametrize(("method", "size"), [("rk4", 1.0), ("euler", 0.15), ("semi-implicit-euler", 0.15)])
def test_steps_of_ones_own_choice_are_warned_of(method: str, size: float) -> None:
    """The warning tells the error of the worst run."""
    spins = np.array([0.01 * SPIN, size * SPIN, 0.02 * SPIN])
    with pytest.warns(StiffnessWarning, match=rf"steps of 0.01 s are too long .*'{method}' misses about") as caught:
        run = ch.simulate(STONE, duration=1.0, period=0.01, start=ch.State(qd=spins), integrator=method)
    missed = run.qd.values[1] - turning(run.time.values, spins[1])
    true = np.sqrt((missed**2).sum(axis=-1).mean()) / np.linalg.norm(spins[1])
    said = next(str(each.message) for each in caught if each.category is StiffnessWarning)
    assert float(said.partition("about ")[2].partition(" ")[0]) == pytest.approx(true, rel=0.3)
    (finding,) = run.findings
    assert str(finding) == said
    assert finding.value == pytest.approx(true, rel=0.3)


def test_who_ignores_the_warning_does_not_pay_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chasles.simulation.step_accuracy._error_of", lambda *arguments: pytest.fail("repeated"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffnessWarning)
        ch.simulate(STONE, duration=0.3, period=0.01, start=ch.State(qd=SPIN), integrator="rk4")


def test_enough_steps_are_not_warned_of() -> None:
    ch.simulate(STONE, duration=0.5, period=0.01, start=ch.State(qd=SPIN), integrator=ch.integrators.Steps("rk4", 20))


@pytest.mark.parametrize(("period", "name"), paired([1e-3, 1e-2], ["panda", "ur10e", "stanford", "jaco"]))
def test_ordinary_robots_keep_their_steps(name: str, period: float) -> None:
    arm = ch.load(name)
    motion = ch.PointToPoint(arm.home, arm.home + 0.5, duration=1.5)
    law = ch.ComputedTorque.tuned(arm, motion, period, frequency=20.0)
    for method in ("automatic", "rk4", "semi-implicit-euler"):
        with warnings.catch_warnings():
            warnings.simplefilter("error", StiffnessWarning)
            run = ch.simulate(arm, law, motion, period=period, integrator=method)
        assert run.attrs["integrator"] in ("rk4", "semi-implicit-euler")
