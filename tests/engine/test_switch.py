"""With CPython's and NumPy's memory left alone, calls go through ctypes: the same numbers, to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.engine import Function, sin, trace
from chasles.engine.cpython import objects, switch
from chasles.engine.running.compiling import native_available
from chasles.engine.running.loop_calls import LoopCall

pytestmark = pytest.mark.skipif(not native_available(), reason="there are no direct calls without machine code")

NUMBERS = """
import numpy as np
import chasles as ch
from chasles.control.linear_quadratic.riccati import backward_riccati
from chasles.engine import Function, sin, trace
from chasles.engine.cpython import memory, objects, switch, vectorcall

rng = np.random.default_rng(0)
results = []
arm = ch.load("planar2r")
for shape in ((), (3,), (40,), (2, 1, 5)):
    q, qd = rng.normal(size=(2, *shape, 2))
    results += [arm.inverse_dynamics(q, qd, qd[..., ::-1]), arm.jacobian(q, frame="body"), *arm.linearize(q, qd, qd)]
    results += [arm.inverse_dynamics(q, qd, np.zeros(2)), arm.gravity_torque(q, vary={"payload.mass": 2.0})]
results.append(arm.mass_matrix(list(q[0, 0, 0]), out=np.empty((2, 2))))
step = trace(lambda x, t: (x + 0.1 * sin(x) * t, x[0]), {"x": (2,), "t": ()}, outputs=["next", "sample"])
halve = trace(lambda x: (0.5 * x, 0.1 - x @ x), {"x": (2,)}, outputs=["next", "done"])
start = rng.normal(size=(50, 2))
results += Function(step, shape="scan")(start, np.linspace(0.0, 1.0, 21)[:, None])
results += Function(halve, shape="solve")(start, 50.0)
single = Function(trace(lambda x: sin(x) * x, {"x": ()}), dtype="float32")
results += [single(start[:, 0]), single(0.5), single(np.float64(2.0))]
A, B = rng.normal(size=(5, 3, 3)), rng.normal(size=(2, 5, 3, 2))
results += backward_riccati(A, B, np.eye(3), np.eye(2), 1.0, every_cost=True)
results.append(memory.empty((400, 512), "float64") * 0.0)
print(switch.is_on(), objects.supported(), vectorcall._IS_KNOWN)
print(b"".join(np.asarray(result).tobytes() for result in results).hex())
"""


def run(direct: str) -> tuple[str, str]:
    environment = {**os.environ, "CHASLES_DIRECT_CALLS": direct}
    command = [sys.executable, "-c", NUMBERS]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    said, numbers = found.splitlines()
    return said, numbers


@pytest.mark.slow
def test_results_are_the_same_to_the_last_bit() -> None:
    said, numbers = run("0")
    assert said == "False False False"
    assert numbers == run("1")[1]


@pytest.fixture
def off(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is compiled now goes through ctypes."""
    monkeypatch.setattr(switch, "is_on", lambda: False)
    objects.supported.cache_clear()
    yield
    objects.supported.cache_clear()


def pair() -> Function:
    return Function(trace(lambda x, k: (k * x, sin(x) @ x), {"x": (3,), "k": ()}, name="pair"))


def test_a_loop_is_called_as_a_ufunc_is(off: None) -> None:
    function, x = pair(), np.arange(12.0).reshape(4, 3)
    expected = 2.0 * x, (np.sin(x) * x).sum(axis=-1)
    assert isinstance(function._runner._compile("few"), LoopCall)
    strided, unaligned = np.zeros((3, 8))[:, ::2].T, np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(float)
    strided[:] = x
    for given in (x, np.asfortranarray(x), strided, unaligned.reshape(4, 3), x.astype(">f8"), x.astype(int)):
        for found, truth in zip(function(given, 2.0), expected, strict=True):
            np.testing.assert_allclose(found, truth, rtol=1e-15)
    out = np.empty((4, 3)), np.empty(4)
    assert function(x, 2.0, out=out)[0] is out[0]
    np.testing.assert_array_equal(out[0], expected[0])
    assert [part.shape for part in function(x[:, None], np.ones((1, 5)))] == [(4, 5, 3), (4, 5)]
    assert [part.shape for part in function(np.empty((0, 3)), 2.0)] == [(0, 3), (0,)]
    np.testing.assert_array_equal(function(x, 3.0, out=(x, np.empty(4)))[0], 1.5 * expected[0])  # over its own input


def test_wrong_arguments_are_named(off: None) -> None:
    with pytest.raises(ArgumentError, match="pair"):
        pair()(np.ones(2), 1.0)
    with pytest.raises(TypeError):
        pair()(np.ones(3) * 1j, 1.0)


def test_one_folder_reads_objects_by_their_address() -> None:
    root = Path(switch.__file__).parents[2]
    readers = {
        path.relative_to(root).parent.as_posix()
        for path in root.rglob("*.py")
        if "from_address(id(" in (text := path.read_text()) or "PyCapsule" in text
    }
    assert readers == {"engine/cpython"}
