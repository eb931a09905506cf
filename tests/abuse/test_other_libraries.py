"""Arrays of other libraries in plain calls: their memory is used, and what cannot be computed says which export can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy

import chasles as ch
from chasles.base.errors import ArgumentTypeError
from chasles.engine.arguments import as_array

ARM = ch.load("planar2r")
ZERO = np.zeros(2)


class Foreign:
    """An array that another library knows by DLPack alone."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class OnAccelerator(Foreign):
    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the memory is on device cuda:0; copy it with .cpu() first\nand more")


class LikeATensor(Foreign):
    """What refuses NumPy as a tensor that needs gradients does."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


LikeATensor.__module__ = "torch"


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x[::2, ::-1], lambda x: x.T[:2].T], ids=["", "steps", "columns"]
)
def test_arrays_are_computed_on_their_own_memory(view: Callable[[Any], Any]) -> None:
    q = view(np.random.default_rng(0).normal(size=(4, 2)))
    assert np.shares_memory(as_array(Foreign(q), "", "q"), q)
    expected = ARM.inverse_dynamics(q, ZERO, ZERO)
    np.testing.assert_array_equal(ARM.inverse_dynamics(Foreign(q), Foreign(ZERO), ZERO), expected)


def test_an_array_of_jax_is_computed_on_its_own_memory() -> None:
    q = jnp.arange(8.0).reshape(4, 2)
    assert _address(as_array(q, "", "q")) == q.unsafe_buffer_pointer()
    np.testing.assert_array_equal(ARM.mass_matrix(q), ARM.mass_matrix(np.asarray(q)))


def test_types_of_numbers_are_mixed_as_numpy_mixes_them() -> None:
    q = np.array([1, 2])
    expected = ARM.inverse_dynamics(q, ZERO, ZERO)
    for kind in ("int8", "uint16", "int32", "bool", "float16", "float32", "bfloat16"):
        given = jnp.asarray(q > 0 if kind == "bool" else q, kind)
        torque = ARM.inverse_dynamics(given, np.float32([0, 0]), [0, 0.0])
        assert torque.dtype == np.float64
        np.testing.assert_allclose(torque, ARM.inverse_dynamics([1, 1], ZERO, ZERO) if kind == "bool" else expected)
    single = ARM.inverse_dynamics.astype("float32")(jnp.asarray(q), Foreign(ZERO), jnp.zeros(2, "bfloat16"))
    assert single.dtype == np.float32
    with pytest.raises(ArgumentTypeError, match="q must be an array of real numbers"):
        ARM.mass_matrix(jnp.asarray([1.0 + 1.0j, 0.0]))


def test_every_kind_of_public_call_takes_them() -> None:
    q, there = Foreign(np.array([0.3, -0.2])), jnp.asarray([0.5, 0.4])
    T = ARM.forward_kinematics(q)
    assert ARM.inverse_kinematics(Foreign(np.array(T)), q0=q).success
    M = ARM.inverse_dynamics.jacobian()(q, ZERO, ZERO)[2]
    np.testing.assert_allclose(M, ARM.mass_matrix(q), rtol=1e-14)
    np.testing.assert_allclose(ch.geometry.exp_rotation(Foreign(np.zeros(3))), np.eye(3))
    motion = ch.PointToPoint(q, there, duration=1.0)
    law = ch.ComputedTorque(ARM, kp=jnp.asarray(100.0), kd=Foreign(np.array([20.0, 20.0])))
    run = ch.simulate(ARM, law, motion, duration=0.02, vary={"payload.mass": Foreign(np.array([0.0, 0.5]))})
    assert run.q.shape[0] == 2
    assert np.isfinite(run.q).all()
    twice = ch.function(x=(2,))(lambda x: 2.0 * x)
    np.testing.assert_array_equal(twice(there), 2.0 * np.asarray(there))


def test_memory_of_accelerators_is_named() -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"q does not turn into an array: the memory is on device cuda:0; copy.*first$"
    ):
        ARM.mass_matrix(OnAccelerator(ZERO))


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, jax.jacfwd, jax.jacrev])
def test_what_jax_traces_needs_the_exported_function(transform: Callable[..., Any]) -> None:
    for call in (
        ARM.mass_matrix,
        lambda q: ARM.inverse_kinematics(jnp.eye(4) * q.sum()).q,
        lambda q: ch.PointToPoint(ZERO, q, duration=1.0)(0.5)[0],
    ):
        with pytest.raises(ArgumentTypeError, match=r"needs the function that to_jax\(\) returns"):
            transform(call)(jnp.ones((2, 2)))


@pytest.mark.parametrize(
    ("value", "export"),
    [
        (casadi.SX.sym("q", 2), "to_casadi"),
        (casadi.MX.sym("q", 2), "to_casadi"),
        (sympy.Symbol("q"), "to_sympy"),
        (LikeATensor(ZERO), "to_torch"),
    ],
    ids=["SX", "MX", "SymPy", "PyTorch"],
)
def test_symbols_and_differentiated_tensors_need_the_exported_function(value: Any, export: str) -> None:
    with pytest.raises(
        ArgumentTypeError, match=rf"mass_matrix\(q\): q .*needs the function that {export}\(\) returns$"
    ):
        ARM.mass_matrix(value)


@pytest.mark.parametrize("export", ["to_casadi", "to_jax", "to_c"])
def test_what_must_be_chosen_before_an_export_says_how(export: str) -> None:
    with pytest.raises(TypeError, match=r"needs a keyword: frame=….*jacobian\.specialize\(\.\.\.\) takes it"):
        getattr(ARM.jacobian, export)()
    with pytest.raises(TypeError, match=r"misses sequence.*specialize"):
        getattr(ch.geometry.euler_rate_matrix, export)()


def test_nan_of_a_sample_stays_in_its_gradient() -> None:
    torque = ARM.inverse_dynamics.to_jax()
    q = jnp.asarray([[0.1, jnp.nan], [0.1, 0.2]])
    for gradient in (
        jax.grad(lambda q: torque(q, ZERO, ZERO).sum())(q),
        jax.vmap(jax.grad(lambda q: torque(q, ZERO, ZERO).sum()))(q),
    ):
        assert np.isnan(gradient[0]).any()
        np.testing.assert_allclose(gradient[1], ARM.gravity_torque.jacobian()(np.float32(q[1])).sum(axis=0), rtol=1e-5)
