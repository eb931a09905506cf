"""Mechanics of SpaceLib's routines over batches, with NaN, broadcasting and in traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import chasles.interop.spacelib as sl
from chasles.engine import Function, trace

SHAPES: list[tuple[int, ...]] = [(), (1,), (3, 1, 2)]
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
    "W": lambda rng, shape: velocity(rng, shape),
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
    "WtoL": (sl.WtoL, "W"),
    "Wtovel": (sl.Wtovel, "W"),
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
    "cardantoM": (lambda q, P: sl.cardantoM(q, 2, 0, 2, P), "vP"),
    "Mtocardan": (lambda m: sl.Mtocardan(m, 2, 0, 2), "M"),
    "cardantoW": (lambda q, qp, P: sl.cardantoW(q, qp, 2, 0, 1, P), "vvP"),
    "Wtocardan": (lambda m, W: sl.Wtocardan(m, W, 2, 0, 1), "MW"),
    "cardantoH": (lambda q, qp, qpp, P: sl.cardantoH(q, qp, qpp, 2, 0, 1, P), "vvvP"),
    "Htocardan": (lambda m, W, H: sl.Htocardan(m, W, H, 2, 0, 1), "MWW"),
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


def velocity(rng: np.random.Generator, shape: tuple[int, ...]) -> Matrix:
    """Random velocity matrices; as acceleration matrices they are those of a body at rest."""
    W = np.zeros((*shape, 4, 4))
    W[..., :3, :] = rng.normal(size=(*shape, 3, 4))
    W[..., :3, :3] -= np.swapaxes(W[..., :3, :3], -2, -1).copy()
    return W


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
