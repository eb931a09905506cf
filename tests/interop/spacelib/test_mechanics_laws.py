"""Laws of mechanics that SpaceLib's routines keep: closed forms, derivatives, sums over points, properties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.thinning import thinned

import chasles.interop.spacelib as sl
from chasles.base.errors import ArgumentError

SEQUENCES = [s for s in itertools.product((sl.X, sl.Y, sl.Z), repeat=3) if s[0] != s[1] and s[1] != s[2]]
Matrix = np.ndarray[Any, Any]


def unit(v: Matrix) -> Matrix:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def point(p: Matrix) -> Matrix:
    return np.concatenate([p, np.ones((*p.shape[:-1], 1))], axis=-1)


class TestSymbols:
    def test_dhtom_is_eq_3_1(self) -> None:
        theta, d, b, a, alpha, q = sympy.symbols("theta d b a alpha q", real=True)
        c, s, ca, sa = sympy.cos(theta + q), sympy.sin(theta + q), sympy.cos(alpha), sympy.sin(alpha)
        expected = [
            [c, -s * ca, s * sa, a * c - b * s],
            [s, c * ca, -c * sa, a * s + b * c],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
        assert_equal(sl.dhtom(sl.Rev, theta, d, b, a, alpha, q), expected)
        at_null = np.array([[sympy.sympify(entry).subs(q, 0) for entry in row] for row in expected])
        slid = at_null + np.array([[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, q], [0, 0, 0, 0]])
        assert_equal(sl.dhtom(sl.Pri, theta, d, b, a, alpha, q), slid)
        assert_equal(sl.DHtoMstd(theta, d, a, alpha), np.vectorize(lambda entry: entry.subs(b, 0))(at_null))

    @pytest.mark.parametrize("axes", thinned(SEQUENCES, keep=5))
    def test_closed_forms_of_cardan_and_euler_angles(self, axes: tuple[int, int, int]) -> None:
        """The matrices that section 3.5 defines, in the order of the sequence's axes."""
        i, j, k = axes
        q = np.array(sympy.symbols("alpha beta gamma", real=True))
        (sa, sb, sg), (ca, cb, cg) = ([function(angle) for angle in q] for function in (sympy.sin, sympy.cos))
        sig = 1 if (j - i) % 3 == 1 else -1
        if i != k:
            order = [i, j, k]
            R = [
                [cb * cg, -sig * cb * sg, sig * sb],
                [sa * sb * cg + sig * ca * sg, ca * cg - sig * sa * sb * sg, -sig * sa * cb],
                [sa * sg - sig * ca * sb * cg, ca * sb * sg + sig * sa * cg, ca * cb],
            ]
            A = [[1, 0, sig * sb], [0, ca, -sig * sa * cb], [0, sig * sa, ca * cb]]
            products = [[sig * cb, 0, 0], [sig * sa * sb, -sig * ca * cb, -sa], [-ca * sb, -sa * cb, sig * ca]]
        else:
            order = [i, j, 3 - i - j]
            R = [
                [cb, sb * sg, sig * sb * cg],
                [sa * sb, ca * cg - sa * cb * sg, -sig * (ca * sg + sa * cb * cg)],
                [-sig * ca * sb, sig * (sa * cg + ca * cb * sg), ca * cb * cg - sa * sg],
            ]
            A = [[1, 0, cb], [0, ca, sa * sb], [0, sig * sa, -sig * ca * sb]]
            products = [[-sb, 0, 0], [sa * cb, ca * sb, -sa], [-sig * ca * cb, sig * sa * sb, sig * ca]]
        found = sl.cardantor(q, *axes)
        assert_equal(found[np.ix_(order, order)], R)
        assert_equal(sl.cardantol(q, *axes)[order], A)
        assert_equal(sl.cardantoWPROD(q, *axes)[order], products)
        assert_equal(sl.WPRODtocardan(*q[:2], sig, *axes)[:, order], products)

    def test_angles_of_a_symbolic_rotation(self) -> None:
        theta = sympy.Symbol("theta", real=True)
        q1, q2 = sl.rtocardan(sl.cardantor([theta, 0.5, 0.25], sl.X, sl.Y, sl.Z), 3, sl.X, sl.Y, sl.Z)
        for solution, first in ((q1, [0.3, 0.5, 0.25]), (q2, [0.3 - math.pi, math.pi - 0.5, 0.25 - math.pi])):
            numbers = [float(sympy.sympify(angle).subs(theta, 0.3)) for angle in solution]
            np.testing.assert_allclose(numbers, first, rtol=1e-14)

    def test_screws(self) -> None:
        phi, h, x, y = sympy.symbols("phi h x y", real=True)
        Q = sl.screwtom([0, 0, 1], phi, h, [x, y, 0, 1])
        c, s = sympy.cos(phi), sympy.sin(phi)
        expected = [[c, -s, 0, x - c * x + s * y], [s, c, 0, y - s * x - c * y], [0, 0, 1, h], [0, 0, 0, 1]]
        numbers = {phi: 0.7, h: 0.3, x: -1.2, y: 0.4}
        assert_equal(Q, expected, numbers)

    def test_momentum_and_power(self) -> None:
        omega, v = (np.array(sympy.symbols(f"{name}:3")) for name in ("w", "v"))
        W = sl.vtom4(omega) + np.array([[0, 0, 0, component] for component in [*v, 0]])
        mass, I = sympy.symbols("m I")
        Gamma = sl.skew4(W, np.diag([I / 2, I / 2, I / 2, mass]))
        assert_equal(sl.mtov4(Gamma), I * omega)
        assert_equal(Gamma[:3, 3], mass * v)
        assert_equal(sl.psedot(W, Gamma), I * (omega @ omega) + mass * (v @ v))
        assert_equal(sl.trac_ljlt4(W, np.diag([I / 2, I / 2, I / 2, mass]), W), I * (omega @ omega) + mass * (v @ v))

    def test_matrices_that_are_cleaned_up_step_by_step_are_not_for_symbols(self) -> None:
        with pytest.raises(ArgumentError, match="no formula of symbols"):
            sl.normal([[sympy.Symbol("x"), 0, 0], [0, 1, 0], [0, 0, 1]])


def assert_equal(found: Any, expected: Any, numbers: dict[sympy.Symbol, float] | None = None) -> None:
    difference = np.asarray(found, dtype=object) - np.asarray(expected, dtype=object)
    for entry in np.ravel(difference):
        rest = sympy.simplify(sympy.sympify(entry).subs(numbers or {}))
        assert abs(rest) < 1e-14 if numbers else rest.is_zero


class TestDerivatives:
    """Velocity and acceleration against derivatives of positions by mpmath with 40 digits: M' = W M, M'' = H M."""

    @staticmethod
    def elementary_rotation(axis: int, angle: Any) -> mpmath.matrix:
        R = mpmath.eye(4)
        j, k = (axis + 1) % 3, (axis + 2) % 3
        R[j, j], R[j, k], R[k, j], R[k, k] = mpmath.cos(angle), -mpmath.sin(angle), mpmath.sin(angle), mpmath.cos(angle)
        return R

    @staticmethod
    def shift(offset: Any) -> mpmath.matrix:
        T = mpmath.eye(4)
        for row, component in enumerate(offset[:3]):
            T[row, 3] = component
        return T

    def check(self, motion: Callable[[Any], mpmath.matrix], M: Matrix, W: Matrix, H: Matrix) -> None:
        with mpmath.workdps(40):
            derivatives = [
                [[mpmath.diff(lambda t, i=i, j=j: motion(t)[i, j], 0, order) for j in range(4)] for i in range(4)]
                for order in (0, 1, 2)
            ]
        for found, expected in zip((M, W @ M, H @ M), derivatives, strict=True):
            np.testing.assert_allclose(found, np.array(expected, dtype=float), rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("axes", thinned(SEQUENCES, keep=5))
    def test_frames_that_turn_about_their_origin(self, axes: tuple[int, int, int]) -> None:
        q, qp, qpp, O = [0.3, 1.2, -2.1], [0.5, -0.8, 1.4], [0.9, 0.4, -0.6], [0.2, -0.5, 0.8, 1.0]

        def motion(t: Any) -> mpmath.matrix:
            m = self.shift(O)
            for axis, *coefficients in zip(axes, q, qp, qpp, strict=True):
                angle = coefficients[0] + coefficients[1] * t + mpmath.mpf(coefficients[2]) / 2 * t**2
                m = m * self.elementary_rotation(axis, angle)
            return m

        M, W = sl.cardantoM(q, *axes, O), sl.cardantoW(q, qp, *axes, O)
        self.check(motion, M, W, sl.cardantoH(q, qp, qpp, *axes, O))
        np.testing.assert_allclose(sl.mtov4(W), sl.cardanto_OMEGA(q, qp, *axes), rtol=1e-14)

    @pytest.mark.parametrize("joints", list(itertools.product((sl.Rev, sl.Pri), repeat=2)))
    def test_two_joints_by_denavit_and_hartenberg(self, joints: tuple[int, int]) -> None:
        links = [(0.2, 0.3, -0.1, 0.5, 0.7), (-0.4, 0.1, 0.2, 0.3, -1.1)]  # theta, d, b, a, alpha
        motions = [(0.6, 1.5, 0.9), (-0.3, 0.8, -2.0)]  # q, qp, qpp

        def motion(t: Any) -> mpmath.matrix:
            m = mpmath.eye(4)
            for jtype, (theta, d, b, a, alpha), (q, qp, qpp) in zip(joints, links, motions, strict=True):
                moved = q + qp * t + mpmath.mpf(qpp) / 2 * t**2
                turned, slid = (theta + moved, d) if jtype == sl.Rev else (theta, d + moved)
                m = m * self.elementary_rotation(2, turned) * self.shift([0, 0, slid])
                m = m * self.shift([a, b, 0]) * self.elementary_rotation(0, alpha)
            return m

        M, W, H = np.eye(4), np.zeros((4, 4)), np.zeros((4, 4))
        for jtype, parameters, (q, qp, qpp) in zip(joints, links, motions, strict=True):
            relative = (sl.trasf_mami(matrix, M) for matrix in sl.velacctoWH(jtype, qp, qpp))  # about z of frame (i-1)
            W_joint, H_joint = relative
            H = sl.coriolis(H, H_joint, W, W_joint)
            W = W + W_joint
            M = sl.molt4(M, sl.dhtom(jtype, *parameters, q))
        self.check(motion, M, W, H)

    @pytest.mark.parametrize("axis", [sl.X, sl.Y, sl.Z])
    @pytest.mark.parametrize("jtype", [sl.Rev, sl.Pri])
    def test_joints_about_an_axis_through_a_point(self, jtype: int, axis: int) -> None:
        O, qp, qpp = [0.4, 0.1, -0.7, 1.0], 1.5, 0.9

        def motion(t: Any) -> mpmath.matrix:
            moved = qp * t + mpmath.mpf(qpp) / 2 * t**2
            if jtype == sl.Pri:
                return self.shift([moved if k == axis else 0 for k in range(3)])
            return self.shift(O) * self.elementary_rotation(axis, moved) * self.shift([-x for x in O])

        W, H = sl.velacctoWH3(jtype, axis, qp, qpp, O)
        self.check(motion, np.eye(4), W, H)
        np.testing.assert_allclose(sl.rmolt4(sl.makeL2(jtype, axis, 0.0, O), qp), W, rtol=1e-15)
        at_origin = sl.velacctoWH3(jtype, axis, qp, qpp, sl.ORIGIN)
        np.testing.assert_array_equal(at_origin, sl.velacctoWH2(jtype, axis, qp, qpp))


class TestPointMasses:
    """A body of point masses: matrices of dynamics against sums over the points."""

    @pytest.fixture
    def body(self) -> tuple[Matrix, Matrix]:
        rng = np.random.default_rng(11)
        return rng.uniform(0.5, 2.0, size=6), point(rng.normal(size=(6, 3)))

    @pytest.fixture
    def inertia(self, body: tuple[Matrix, Matrix]) -> Matrix:
        masses, points = body
        mass, center = masses.sum(), masses @ points[:, :3] / masses.sum()
        x, y, z = (points[:, :3] - center).T
        moments = [masses @ (y * y + z * z), masses @ (x * x + z * z), masses @ (x * x + y * y)]
        products = [-masses @ (x * y), -masses @ (y * z), -masses @ (x * z)]  # xy, yz, xz
        J: Matrix = sl.jtoJ(mass, *moments, *products, *center)
        return J

    @pytest.fixture
    def motion(self) -> tuple[Matrix, Matrix]:
        """W, and H = W' + W W, of a body that turns and slides."""
        W, rate = sl.vtom4([0.3, -1.2, 0.8]), sl.vtom4([0.7, 0.2, -0.4])
        W[:3, 3], rate[:3, 3] = [1.0, -0.5, 2.0], [0.4, 0.9, -1.3]
        return W, rate + W @ W

    def test_inertia(self, body: tuple[Matrix, Matrix], inertia: Matrix) -> None:
        masses, points = body
        np.testing.assert_allclose(inertia, np.einsum("k,ki,kj", masses, points, points), rtol=1e-13, atol=1e-13)

    def test_momentum_action_and_energy(
        self, body: tuple[Matrix, Matrix], inertia: Matrix, motion: tuple[Matrix, Matrix]
    ) -> None:
        (masses, points), (W, H) = body, motion
        velocities, accelerations = points @ W.T, points @ H.T
        for matrix, rates in ((W, velocities), (H, accelerations)):
            linear = masses @ rates[:, :3]
            angular = masses @ np.cross(points[:, :3], rates[:, :3])
            found = sl.skew4(matrix, inertia)
            np.testing.assert_allclose(found, sl.actom(*linear, *angular), rtol=1e-13, atol=1e-13)
        squares = masses @ (velocities**2).sum(axis=1)
        assert sl.trac_ljlt4(W, inertia, W) == pytest.approx(squares, rel=1e-14)

    def test_power(self, motion: tuple[Matrix, Matrix]) -> None:
        W, _ = motion
        rng = np.random.default_rng(13)
        forces, points = rng.normal(size=(2, 5, 3))
        PHI = sl.actom(*forces.sum(axis=0), *np.cross(points, forces).sum(axis=0))
        expected = (forces * (point(points) @ W.T)[:, :3]).sum()
        assert sl.psedot(W, PHI) == pytest.approx(expected, rel=1e-14)

    def test_weight(self, body: tuple[Matrix, Matrix], inertia: Matrix) -> None:
        masses, points = body
        weight = sl.skew4(sl.gtom(0.0, 0.0, -9.81), inertia)
        expected = np.cross(points[:, :3], [0.0, 0.0, -9.81]).T @ masses
        np.testing.assert_allclose(sl.mtov4(weight), expected, rtol=1e-13, atol=1e-13)
        assert weight[2, 3] == pytest.approx(-9.81 * masses.sum(), rel=1e-15)


ANGLES = st.floats(-math.pi, math.pi)
COORDINATES = st.floats(-10.0, 10.0)
VECTORS = arrays(np.float64, 3, elements=COORDINATES)
#: Angles of rotation at which formulas are in danger: near 0, near half a turn, and anywhere.
ROTATIONS = st.one_of(
    st.floats(1e-12, math.pi),
    st.floats(-12, -1).map(lambda k: 10.0**k),
    st.floats(-9, -1).map(lambda k: math.pi - 10.0**k),
)
AXES = VECTORS.filter(lambda v: np.linalg.norm(v) > 0.1).map(unit)


@st.composite
def positions(draw: Any) -> Matrix:
    return np.array(sl.screwtom(draw(AXES), draw(ROTATIONS), draw(COORDINATES), [*draw(VECTORS), 1.0]))


class TestProperties:
    @given(AXES, ROTATIONS)
    def test_extract_inverts_rotat(self, axis: Matrix, phi: float) -> None:
        u, angle = sl.extract(sl.rotat(axis, phi))
        assert angle == pytest.approx(phi, rel=1e-13, abs=1e-15)
        np.testing.assert_allclose(sl.rotat(u, angle), sl.rotat(axis, phi), rtol=0.0, atol=5e-15)

    @given(AXES, ROTATIONS, COORDINATES, VECTORS)
    def test_screws_give_their_displacement_again(self, axis: Matrix, phi: float, h: float, at: Matrix) -> None:
        Q = sl.screwtom(axis, phi, h, [*at, 1.0])
        u, angle, slide, P, rv = sl.mtoscrew(Q)
        assert rv == sl.OK
        lever = np.linalg.norm(Q[:3, 3]) / phi  # what a relative rounding error moves P by
        assert P[:3] @ u == pytest.approx(0.0, abs=1e-14 * (1.0 + lever))  # nearest to the origin
        size = 10.0 * (1.0 + np.abs(Q).max())
        np.testing.assert_allclose(sl.screwtom(u, angle, slide, P), Q, rtol=0.0, atol=1e-14 * size)

    @given(positions(), positions())
    def test_positions_are_a_group(self, m1: Matrix, m2: Matrix) -> None:
        size = 1e-14 * (1.0 + np.abs(m1).max()) * (1.0 + np.abs(m2).max())
        np.testing.assert_allclose(sl.molt4(m1, sl.invers(m1)), np.eye(4), rtol=0.0, atol=size)
        inverse = sl.molt4(sl.invers(m2), sl.invers(m1))
        np.testing.assert_allclose(sl.invers(sl.molt4(m1, m2)), inverse, rtol=0.0, atol=10 * size)

    @given(positions(), arrays(np.float64, (4, 4), elements=COORDINATES))
    def test_changes_of_reference_are_undone_by_their_inverses(self, m: Matrix, A: Matrix) -> None:
        size = 1e-13 * (1.0 + np.abs(m).max()) ** 2 * (1.0 + np.abs(A).max())
        np.testing.assert_allclose(sl.trasf_miam(sl.trasf_mami(A, m), m), A, rtol=0.0, atol=size)
        np.testing.assert_allclose(sl.trasf_miamit(sl.trasf_mamt4(A, m), m), A, rtol=0.0, atol=size)
        np.testing.assert_allclose(sl.trasf_mami(A, m), m @ A @ np.linalg.inv(m), rtol=0.0, atol=10 * size)
        np.testing.assert_allclose(sl.trasf_mamt(A, m), m @ A @ m.T, rtol=0.0, atol=size)

    @given(positions(), VECTORS, VECTORS, VECTORS, VECTORS)
    def test_power_is_the_same_in_all_frames(self, m: Matrix, omega: Matrix, v: Matrix, f: Matrix, c: Matrix) -> None:
        W, PHI = sl.vtom4(omega), sl.actom(*f, *c)
        W[:3, 3] = v
        moved = sl.psedot(sl.trasf_mami(W, m), sl.trasf_mamt4(PHI, m))
        size = (1.0 + np.abs(m).max()) ** 2 * (1.0 + np.abs(W).max()) * (1.0 + np.abs(PHI).max())
        assert moved == pytest.approx(sl.psedot(W, PHI), abs=1e-14 * size)

    @given(st.sampled_from(SEQUENCES), ANGLES, st.floats(0.01, math.pi / 2 - 0.01), ANGLES, VECTORS, VECTORS)
    @settings(max_examples=200)
    def test_cardan_angles_and_their_derivatives_come_back(
        self, axes: tuple[int, int, int], alpha: float, beta: float, gamma: float, qp: Matrix, qpp: Matrix
    ) -> None:
        q, O = np.array([alpha, beta, gamma]), sl.ORIGIN
        m, W, H = sl.cardantoM(q, *axes, O), sl.cardantoW(q, qp, *axes, O), sl.cardantoH(q, qp, qpp, *axes, O)
        found = sl.Htocardan(m, W, H, *axes)
        assert found.rv == sl.OK
        assert np.isclose(np.exp(1j * found.q1), np.exp(1j * q), rtol=0.0, atol=1e-12).all()
        np.testing.assert_allclose(found.qp1, qp, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(found.qpp1, qpp, rtol=0.0, atol=1e-6)
        # The other set of angles makes the same motion.
        assert (np.abs(found.q2) <= math.pi).all()
        np.testing.assert_allclose(sl.cardantoM(found.q2, *axes, O), m, rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(sl.cardantoW(found.q2, found.qp2, *axes, O), W, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(sl.cardantoH(found.q2, found.qp2, found.qpp2, *axes, O), H, rtol=0.0, atol=1e-5)

    @given(VECTORS, AXES, VECTORS, AXES)
    def test_lines_come_nearest_where_they_are_said_to(self, p1: Matrix, u1: Matrix, p2: Matrix, u2: Matrix) -> None:
        found = sl.intersection(([*p1, 1.0], u1), ([*p2, 1.0], u2))
        if found.inttype not in (0, 1) or np.linalg.norm(np.cross(u1, u2)) < 1e-3:
            return
        for p, u in ((p1, u1), (p2, u2)):
            I, d = sl.projponl(found.I, ([*p, 1.0], u))
            assert d == pytest.approx(found.mindist / 2, abs=1e-9)
            assert (found.I - I)[:3] @ u == pytest.approx(0.0, abs=1e-9)
            assert found.lmindist.dir @ u == pytest.approx(0.0, abs=1e-12)
            assert sl.distpp(found.pl, [*p, 1.0]) == pytest.approx(sl.distpp(found.pl, [*(p + u), 1.0]), abs=1e-11)

    @given(VECTORS, VECTORS, VECTORS)
    def test_planes_hold_their_points(self, p1: Matrix, p2: Matrix, p3: Matrix) -> None:
        points = [[*p, 1.0] for p in (p1, p2, p3)]
        pl = sl.plane(*points)
        if np.linalg.norm(np.cross(p1 - p2, p3 - p2)) < 1e-3:
            return
        assert np.linalg.norm(pl[:3]) == pytest.approx(1.0, rel=1e-14)
        assert all(abs(sl.distpp(pl, P)) < 1e-10 for P in points)
        I, d = sl.project([0.3, 0.2, -0.1, 1.0], pl)
        assert sl.distpp(pl, I) == pytest.approx(0.0, abs=1e-13)
        assert abs(d) == pytest.approx(sl.dist(I, [0.3, 0.2, -0.1, 1.0]), abs=1e-13)
