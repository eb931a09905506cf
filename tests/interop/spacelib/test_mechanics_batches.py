"""Mechanics of SpaceLib's routines: batches, traces and symbols, closed forms, derivatives and properties."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import chasles.interop.spacelib as sl
from chasles.engine import Function, trace

SHAPES: list[tuple[int, ...]] = [(), (1,), (3, 1, 2)]
SEQUENCES = [s for s in itertools.product((sl.X, sl.Y, sl.Z), repeat=3) if s[0] != s[1] and s[1] != s[2]]
Matrix = np.ndarray[Any, Any]

# Random arguments: what they are, by letter, for a batch shape.
RANDOM: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "s": lambda rng, shape: rng.normal(size=shape),
    "v": lambda rng, shape: rng.normal(size=(*shape, 3)),
    "u": lambda rng, shape: unit(rng.normal(size=(*shape, 3))),
    "P": lambda rng, shape: point(rng.normal(size=(*shape, 3))),
    "l": lambda rng, shape: rng.normal(size=(*shape, 4)),  # a plane
    "3": lambda rng, shape: rng.normal(size=(*shape, 3, 3)),
    "4": lambda rng, shape: rng.normal(size=(*shape, 4, 4)),
    "R": lambda rng, shape: position(rng, shape)[..., :3, :3],
    "M": lambda rng, shape: position(rng, shape),
}

# Every routine on arrays: a call, and the letters of its arguments.
CALLS: dict[str, tuple[Callable[..., Any], str]] = {
    "dhtom": (lambda *a: sl.dhtom(sl.Rev, *a), "ssssss"),
    "dhtom Pri": (lambda *a: sl.dhtom(sl.Pri, *a), "ssssss"),
    "DHtoMstd": (sl.DHtoMstd, "ssss"),
    "extract": (sl.extract, "R"),
    "extract 4": (lambda A: sl.extract(A, 4), "M"),
    "mtoscrew": (sl.mtoscrew, "M"),
    "screwtom": (sl.screwtom, "ussP"),
    "rotat": (lambda *a: sl.rotat(*a, 4), "us"),
    "rotat2": (lambda q: sl.rotat2(sl.Y, q, 5), "s"),
    "rotat23": (lambda q: sl.rotat23(sl.X, q), "s"),
    "rotat24": (lambda *a: sl.rotat24(sl.X, *a), "sP"),
    "rotat34": (lambda *a: sl.rotat34(sl.X, *a), "sP"),
    "traslat": (sl.traslat, "us"),
    "traslat2": (lambda h: sl.traslat2(sl.Z, h), "s"),
    "traslat24": (lambda *a: sl.traslat24(sl.Z, *a), "sP"),
    "gtom": (sl.gtom, "sss"),
    "Gtomegapto": (sl.Gtomegapto, "3"),
    "makeL": (lambda *a: sl.makeL(sl.Rev, *a), "usP"),
    "makeL2": (lambda *a: sl.makeL2(sl.Rev, sl.Y, *a), "sP"),
    "WtoL": (sl.WtoL, "4"),
    "Wtovel": (sl.Wtovel, "4"),
    "velacctoWH": (lambda *a: sl.velacctoWH(sl.Rev, *a), "ss"),
    "velacctoWH2": (lambda *a: sl.velacctoWH2(sl.Pri, sl.Y, *a), "ss"),
    "velacctoWH3": (lambda *a: sl.velacctoWH3(sl.Rev, sl.X, *a), "ssP"),
    "coriolis": (sl.coriolis, "4444"),
    "actom": (sl.actom, "ssssss"),
    "jtoJ": (sl.jtoJ, "ssssssssss"),
    "psedot": (sl.psedot, "44"),
    "normal": (sl.normal, "3"),
    "normal4": (sl.normal4, "4"),
    "norm_simm_skew": (lambda A: sl.norm_simm_skew(A, 2, 3, sl.SYMM), "3"),
    "n_simm34": (sl.n_simm34, "4"),
    "n_skew4": (sl.n_skew4, "4"),
    "trasf_mami": (sl.trasf_mami, "4M"),
    "trasf_miam": (sl.trasf_miam, "4M"),
    "trasf_mamt": (lambda A, m: sl.trasf_mamt(A, m, 3), "33"),
    "trasf_mamt4": (sl.trasf_mamt4, "4M"),
    "trasf_miamit": (sl.trasf_miamit, "4M"),
    "invers": (sl.invers, "M"),
    "mtov": (sl.mtov, "4"),
    "vtom": (lambda v: sl.vtom(v, 4), "v"),
    "skew": (sl.skew, "33"),
    "skew4": (sl.skew4, "44"),
    "trac_ljlt4": (sl.trac_ljlt4, "444"),
    "cardantor": (lambda q: sl.cardantor(q, 0, 1, 2, 4), "v"),
    "rtocardan": (lambda R: sl.rtocardan(R, 3, 0, 1, 2), "R"),
    "cardantoM": (lambda q, O: sl.cardantoM(q, 2, 0, 2, O), "vP"),
    "Mtocardan": (lambda m: sl.Mtocardan(m, 2, 0, 2), "M"),
    "cardantoW": (lambda q, qp, O: sl.cardantoW(q, qp, 2, 0, 1, O), "vvP"),
    "Wtocardan": (lambda m, W: sl.Wtocardan(m, W, 2, 0, 1), "M4"),
    "cardantoH": (lambda q, qp, qpp, O: sl.cardantoH(q, qp, qpp, 2, 0, 1, O), "vvvP"),
    "Htocardan": (lambda m, W, H: sl.Htocardan(m, W, H, 2, 0, 1), "M44"),
    "cardanto_omega": (lambda q, qp: sl.cardanto_omega(q, qp, 0, 1, 0), "vv"),
    "cardanto_G": (lambda q, qp, qpp: sl.cardanto_G(q, qp, qpp, 0, 1, 0), "vvv"),
    "cardanto_OMEGAPTO": (lambda q, qp, qpp: sl.cardanto_OMEGAPTO(q, qp, qpp, 0, 1, 0), "vvv"),
    "cardantol": (lambda q: sl.cardantol(q, 0, 1, 0), "v"),
    "cardantoWPROD": (lambda q: sl.cardantoWPROD(q, 0, 1, 0), "v"),
    "invA": (lambda alpha, beta: sl.invA(alpha, beta, 1, 0, 1, 0), "ss"),
    "WPRODtocardan": (lambda alpha, beta: sl.WPRODtocardan(alpha, beta, 1, 0, 1, 0), "ss"),
    "frameP": (lambda *P: sl.frameP(*P, sl.Y, sl.X), "PPP"),
    "frame4P": (lambda *P: sl.frame4P(*P, sl.Y, sl.X), "PPP"),
    "frameV": (lambda *v: sl.frameV(*v, sl.Y, sl.X), "vv"),
    "frame4V": (lambda *a: sl.frame4V(*a, sl.Y, sl.X), "Pvv"),
    "angle": (sl.angle, "PPP"),
    "dist": (sl.dist, "PP"),
    "intermediate": (sl.intermediate, "PsPs"),
    "middle": (sl.middle, "PP"),
    "vect": (sl.vect, "PP"),
    "line2p": (sl.line2p, "PP"),
    "linepvect": (sl.linepvect, "Pv"),
    "intersection": (lambda P1, u1, P2, u2: sl.intersection(sl.Line(P1, u1), (P2, u2)), "PuPv"),
    "projponl": (lambda P1, P, v: sl.projponl(P1, (P, v)), "PPv"),
    "distpp": (sl.distpp, "lP"),
    "project": (sl.project, "Pl"),
    "plane": (sl.plane, "PPP"),
    "plane2": (sl.plane2, "Pv"),
    "inters2pl": (sl.inters2pl, "ll"),
    "interslpl": (lambda P, u, pl: sl.interslpl((P, u), pl), "Pul"),
}


def unit(v: Matrix) -> Matrix:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def point(p: Matrix) -> Matrix:
    return np.concatenate([p, np.ones((*p.shape[:-1], 1))], axis=-1)


def position(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Random positions, their rotations by Rodrigues' formula."""
    m = np.zeros((*shape, 4, 4))
    S = np.zeros((*shape, 3, 3))
    x, y, z = np.moveaxis(unit(rng.normal(size=(*shape, 3))), -1, 0)
    S[..., 2, 1], S[..., 0, 2], S[..., 1, 0] = x, y, z
    S -= np.swapaxes(S, -2, -1)
    phi = rng.uniform(0.1, 3.0, size=shape)[..., None, None]
    m[..., :3, :3] = np.eye(3) + np.sin(phi) * S + (1.0 - np.cos(phi)) * (S @ S)
    m[..., :3, 3], m[..., 3, 3] = rng.normal(size=(*shape, 3)), 1.0
    return m


def flat(results: Any) -> Iterator[Any]:
    """Arrays of a result, of the tuples in it too."""
    if isinstance(results, tuple):
        for result in results:
            yield from flat(result)
    else:
        yield results


class TestBatches:
    @pytest.mark.parametrize("name", CALLS)
    def test_samples_of_a_batch_are_computed_one_by_one(self, name: str) -> None:
        call, letters = CALLS[name]
        for shape in SHAPES:
            rng = np.random.default_rng(3)
            arguments = [RANDOM[letter](rng, shape) for letter in letters]
            together = list(flat(call(*arguments)))
            for index in np.ndindex(shape):
                alone = flat(call(*(argument[index] for argument in arguments)))
                for batch, sample in zip(together, alone, strict=True):
                    assert batch.shape[: len(shape)] == shape
                    np.testing.assert_allclose(batch[index], sample, rtol=1e-13, atol=1e-13)

    @pytest.mark.parametrize("name", CALLS)
    def test_nan_stays_in_its_sample(self, name: str) -> None:
        call, letters = CALLS[name]
        rng = np.random.default_rng(5)
        arguments = [RANDOM[letter](rng, (3,)) for letter in letters]
        clean = list(flat(call(*arguments)))
        for argument in arguments:
            argument[1] = math.nan
        spoiled = list(flat(call(*arguments)))
        reals = [array for array in spoiled if np.issubdtype(array.dtype, np.floating)]
        assert any(np.isnan(array[1]).any() for array in reals)
        for before, after in zip(clean, spoiled, strict=True):
            np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])

    @pytest.mark.parametrize("name", CALLS)
    def test_arguments_broadcast(self, name: str) -> None:
        call, letters = CALLS[name]
        rng = np.random.default_rng(7)
        arguments = [RANDOM[letter](rng, (1, 3) if k % 2 else (2, 1)) for k, letter in enumerate(letters)]
        shape = np.broadcast_shapes(*((1, 3) if k % 2 else (2, 1) for k in range(len(letters))))
        for array in flat(call(*arguments)):
            assert np.broadcast_shapes(np.shape(array)[:2], shape) == shape

    @pytest.mark.parametrize("name", CALLS)
    def test_routines_are_traced(self, name: str) -> None:
        call, letters = CALLS[name]
        arguments = [RANDOM[letter](np.random.default_rng(9), ()) for letter in letters]
        inputs = {f"x{k}": np.shape(argument) for k, argument in enumerate(arguments)}
        program = trace(lambda *traced: tuple(flat(call(*traced))), inputs, name="traced")
        for ours, expected in zip(flat(Function(program)(*arguments)), flat(call(*arguments)), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-13)

    def test_codes_before_an_array_by_name_stay_codes(self) -> None:
        """Arguments by name, the very same object each time, must not be taken for options of a compiled call."""
        P = np.array([1.0, 2.0, 3.0, 1.0])
        for jtype, pitch in [(sl.Rev, 0.5), (sl.Pri, 0.5), (sl.Rev, 0.25), (sl.Rev, 0.25)] * 2:
            found = sl.makeL(jtype, sl.Zaxis, pitch, P=P)
            np.testing.assert_array_equal(found, sl.makeL(jtype, sl.Zaxis, pitch, P))


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

    @pytest.mark.parametrize("axes", SEQUENCES)
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
        R = np.array(sympy.symbols("r:3:3", real=True)).reshape(3, 3)
        q1, q2 = sl.rtocardan(R, 3, sl.Z, sl.X, sl.Z)
        q = [0.3, 1.1, -2.0]
        numbers = dict(zip(R.ravel(), sl.cardantor(q, sl.Z, sl.X, sl.Z).ravel(), strict=True))
        np.testing.assert_allclose([float(angle.subs(numbers)) for angle in q1], q, rtol=1e-14)
        expected = [0.3 - math.pi, -1.1, math.pi - 2.0]
        np.testing.assert_allclose([float(angle.subs(numbers)) for angle in q2], expected, rtol=1e-14)

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
        mass, I = sympy.symbols("m I")  # noqa: E741
        Gamma = sl.skew4(W, np.diag([I / 2, I / 2, I / 2, mass]))
        assert_equal(sl.mtov4(Gamma), I * omega)
        assert_equal(Gamma[:3, 3], mass * v)
        assert_equal(sl.psedot(W, Gamma), I * (omega @ omega) + mass * (v @ v))
        assert_equal(sl.trac_ljlt4(W, np.diag([I / 2, I / 2, I / 2, mass]), W), I * (omega @ omega) + mass * (v @ v))


def assert_equal(found: Any, expected: Any, numbers: dict[sympy.Symbol, float] | None = None) -> None:
    difference = np.asarray(found, dtype=object) - np.asarray(expected, dtype=object)
    for entry in np.ravel(difference):
        rest = sympy.simplify(sympy.sympify(entry).subs(numbers or {}))
        assert abs(rest) < 1e-14 if numbers else rest.is_zero


class TestDerivatives:
    """Velocity and acceleration matrices against derivatives of positions, by mpmath with 40 digits: M' = W M, M'' = H M."""

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

    @pytest.mark.parametrize("axes", SEQUENCES)
    def test_frames_that_turn_about_their_origin(self, axes: tuple[int, int, int]) -> None:
        q, qp, qpp, O = [0.3, 1.2, -2.1], [0.5, -0.8, 1.4], [0.9, 0.4, -0.6], [0.2, -0.5, 0.8, 1.0]  # noqa: E741

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
        O, qp, qpp = [0.4, 0.1, -0.7, 1.0], 1.5, 0.9  # noqa: E741

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
