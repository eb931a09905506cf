"""The laws of motion against their definition, against the manual's printed tables, and far off the road."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

from chasles.interop.spacelib.motion_laws import modified_trapezoid_law, thirds_law

EXAMPLES = json.loads(Path(__file__).with_name("worked_examples.json").read_text(encoding="utf-8"))["examples"]
(JOINT_LAW,) = (example for example in EXAMPLES if example["id"] == "ch7.6.joint_law")
PI = np.pi

#: Table 7.7, without its row 3 qp, a misprint (3.334976E-03).
TEST_MOT = """
0.000000E+00 0.000000E+00 0.000000E+00
5.556963E-07 8.334976E-04 8.333988E-01
4.444593E-06 3.332806E-03 1.665613
1.499523E-05 7.494372E-03 2.495461
3.552638E-05 1.331228E-02 3.321762
6.934328E-05 2.077827E-02 4.143342
"""
#: Table 7.9.
JOINT_MOT = """
0.00114 0.25450 28.27440
0.00106 0.23560 26.17990
0.00153 0.33930 37.69910
-0.00153 -0.33930 -37.69910
0.00358 0.79520 88.35730
0.02863 6.36170 706.85828
0.00510 0.53720 28.27440
0.00473 0.49740 26.17990
"""
D, T = np.array(JOINT_LAW["inputs"]["D"]), np.array(JOINT_LAW["inputs"]["T"])


def unit_of_last_digit(word: str) -> float:
    """Unit of the last digit of a printed number that is not a trailing zero."""
    mantissa, _, exponent = word.lower().partition("e")
    decimals = len(mantissa.rstrip("0").partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def printed(word: str, value: float) -> bool:
    """Whether the manual's program, which rounded every step to single precision, may print this word for the value."""
    return abs(float(word) - value) <= max(unit_of_last_digit(word), 4.0 * np.spacing(np.float32(abs(value))))


def test_table_7_7_velocities_and_accelerations() -> None:
    for k, line in enumerate(TEST_MOT.split("\n")[1:-1]):
        _, qp, qpp = modified_trapezoid_law(0.002 * k, PI, 1.0, 0.25)
        for word, value in zip(line.split()[1:], (qp, qpp), strict=True):
            assert printed(word, value)


def test_table_7_7_positions() -> None:
    """The program computed in single precision: q is a small difference of two terms near A t / w."""
    A = float(modified_trapezoid_law(1.5 * 0.25 / 3, PI, 1.0, 0.25).qpp)
    for k, line in enumerate(TEST_MOT.split("\n")[1:-1]):
        t = 0.002 * k
        term = A * t / (6.0 * PI)
        assert abs(float(line.split()[0]) - modified_trapezoid_law(t, PI, 1.0, 0.25).q) <= np.spacing(np.float32(term))


def test_table_7_9() -> None:
    for line, t, d, duration in zip(
        JOINT_MOT.split("\n")[1:-1], [0.009] * 6 + [0.019] * 2, [*D, *D[:2]], [*T, *T[:2]], strict=True
    ):
        for word, value in zip(line.split(), thirds_law(t, d, duration), strict=True):
            assert printed(word, value)


def test_worked_example_of_joint_mot() -> None:
    expected = JOINT_LAW["recomputed"]
    first = np.stack(thirds_law(0.009, D, T), axis=-1)
    second = np.stack(thirds_law(0.019, D[:2], T[:2]), axis=-1)
    assert np.allclose(first, expected["t0"], rtol=1e-12, atol=0.0)
    assert np.allclose(second, expected["t1_first_two"], rtol=1e-12, atol=0.0)


def trapezoid_acceleration(t: float, d: float, duration: float, rise_and_fall: float) -> float:
    """The definition, part after part."""
    h = rise_and_fall / 3.0
    peak = d / (duration - rise_and_fall) / (h * (1.0 + 4.0 / PI))
    sign = 1.0
    if t > duration / 2.0:
        t, sign = duration - t, -1.0
    if t < h:
        return sign * peak * np.sin(0.5 * PI * t / h)
    if t < 2.0 * h:
        return sign * peak
    return sign * peak * np.cos(0.5 * PI * (t / h - 2.0)) if t < 3.0 * h else 0.0


def thirds_acceleration(t: float, d: float, duration: float) -> float:
    return (4.5 if 3.0 * t < duration else 0.0 if 3.0 * t <= 2.0 * duration else -4.5) * d / duration**2


@pytest.mark.parametrize("t", [0.01, 0.13, 0.2, 0.3, 0.41, 0.5, 0.64, 0.75, 0.93, 1.07])
@pytest.mark.parametrize("law", ["thirds", "trapezoid"])
def test_velocity_and_position_are_the_integrals_of_the_acceleration(t: float, law: str) -> None:
    d, duration, ramp = -2.3, 1.1, 0.5
    if law == "thirds":
        q, qp, qpp = thirds_law(t, d, duration)
        corners = [duration / 3.0, 2.0 * duration / 3.0]
    else:
        q, qp, qpp = modified_trapezoid_law(t, d, duration, ramp)
        corners = [k * ramp / 3.0 for k in (1, 2, 3)]
        corners += [duration - corner for corner in corners]

    def acceleration(s: float) -> float:
        return thirds_acceleration(s, d, duration) if law == "thirds" else trapezoid_acceleration(s, d, duration, ramp)

    edges = [0.0, *sorted(corner for corner in corners if corner < t), t]
    velocity = position = 0.0
    for a, b in itertools.pairwise(edges):
        velocity += quad(acceleration, a, b, epsabs=1e-13)[0]
        position += quad(lambda s: (t - s) * acceleration(s), a, b, epsabs=1e-13)[0]
    assert qpp == pytest.approx(acceleration(t), abs=1e-12)
    assert qp == pytest.approx(velocity, abs=1e-12)
    assert q == pytest.approx(position, abs=1e-12)


def test_rest_before_and_after() -> None:
    t = np.array([-1.0, -1e-300, 0.4, 0.41, 7.0])
    for motion in (thirds_law(t, 2.0, 0.4), modified_trapezoid_law(t, 2.0, 0.4, 0.2)):
        assert motion.q.tolist() == [0.0, 0.0, 2.0, 2.0, 2.0]
        assert (motion.qp == 0.0).all()
    assert thirds_law(t, 2.0, 0.4).qpp.tolist() == [0.0, 0.0, -4.5 * 2.0 / 0.4**2, 0.0, 0.0]
    assert (modified_trapezoid_law(t, 2.0, 0.4, 0.2).qpp == 0.0).all()


def test_the_first_moments_lose_no_digits() -> None:
    """q = A w t³ / 6 (1 - (w t)² / 20 + ...) for small t, where A (t / w - sin(w t) / w²) has no digit left."""
    A = float(modified_trapezoid_law(1.5 * 0.25 / 3, PI, 1.0, 0.25).qpp)
    t = np.array([1e-100, 1e-12, 1e-6])
    q, qp, _ = modified_trapezoid_law(t, PI, 1.0, 0.25)
    x = 6.0 * PI * t
    assert np.allclose(q, A * x * t * t / 6.0 * (1.0 - x * x / 20.0), rtol=1e-14, atol=0.0)
    assert np.allclose(qp, A * x * t / 2.0 * (1.0 - x * x / 12.0), rtol=1e-14, atol=0.0)


def test_impossible_durations_and_nan_give_nan_in_their_sample_alone() -> None:
    ramp = np.array([0.2, 0.0, -0.1, 0.51, np.nan, 0.5])
    for values in modified_trapezoid_law(0.3, 1.0, 1.0, ramp):
        assert np.isnan(values).tolist() == [False, True, True, True, True, False]
    for values in thirds_law(np.array([0.1, np.nan, 0.1, 0.1]), 1.0, np.array([1.0, 1.0, 0.0, -1.0])):
        assert np.isnan(values).tolist() == [False, True, True, True]
    assert np.isnan(modified_trapezoid_law(np.nan, 1.0, 1.0, 0.2)).all()


def test_laws_broadcast() -> None:
    t = np.linspace(-0.1, 1.1, 12).reshape(3, 4, 1)
    batch = modified_trapezoid_law(t, np.array([1.0, 2.0]), 1.0, 0.25)
    assert batch.q.shape == (3, 4, 2)
    single = [[modified_trapezoid_law(time, d, 1.0, 0.25) for d in (1.0, 2.0)] for time in t.ravel()]
    assert np.allclose(np.stack(batch, axis=-1).reshape(12, 2, 3), single, rtol=1e-15, atol=1e-15)


def test_velocity_is_the_derivative_of_the_position() -> None:
    """By the engine's exact derivatives, so the laws can stand in a function of the user's."""
    t = np.array([0.0, 1e-9, 0.03, 0.1, 0.2, 0.5, 0.7, 0.97])
    for law, arguments in ((thirds_law, (1.3, 1.0)), (modified_trapezoid_law, (1.3, 1.0, 0.25))):
        assert np.allclose(law.jacobian("q", "t")(t, *arguments), law(t, *arguments).qp, rtol=1e-13, atol=1e-13)
        assert np.allclose(law.jacobian("qp", "t")(t, *arguments), law(t, *arguments).qpp, rtol=1e-13, atol=1e-13)
