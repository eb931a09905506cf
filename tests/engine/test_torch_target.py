"""The PyTorch target: values, transformations and derivatives against NumPy, differences and closed forms.

PyTorch's package for Linux brings gigabytes of libraries for accelerators, so the extra `test` is without it.
"""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.random_programs import random_program, safe_inputs, true_jacobian

import chasles as ch
from chasles.base.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from chasles.engine import (
    Argument,
    Function,
    Program,
    absolute,
    atan2,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    trace,
    where,
)
from chasles.engine.adjoints import LoopAdjoint
from chasles.engine.derivatives.kernels import ArrayLibrary, adjoints
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.running.runner import compiled
from chasles.engine.targets.numpy import NumpyKernel
from chasles.engine.targets.torch.function import MachineCode, bind
from chasles.engine.targets.torch.operations import run_kernel, run_operations, translations

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:torch")


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


def _slopes(torch: Any, derivative: Any, function: Any, x: Any, y: Any) -> Any:
    """Return the derivatives of outputs (2,) and () to inputs (3,) and () as one matrix."""
    (a_x, a_y), (b_x, b_y) = derivative(function, (0, 1))(torch.tensor(x), torch.tensor(y))
    return np.block([[a_x.numpy(), a_y.numpy()[:, None]], [b_x.numpy(), b_y.numpy()]])


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_have_the_right_values_and_derivatives(seed: int, torch: Any) -> None:
    program = random_program(seed, calls=seed % 2 == 0)
    function = Function(program).to_torch()
    arguments = safe_inputs(program, 3, seed)
    tensors = [torch.tensor(x) for x in arguments]
    on_accelerators = run_operations(program, tensors)
    expected = NumpyKernel(program)(*arguments)
    for ours, others, theirs in zip(function(*tensors), on_accelerators, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(others, theirs, rtol=1e-12, atol=1e-12)
    x, y = (argument[0] for argument in arguments)
    for derivative in (torch.func.jacrev, torch.func.jacfwd):
        slopes = _slopes(torch, derivative, function, x, y)
        np.testing.assert_allclose(slopes, true_jacobian(program, [*x, y]), rtol=1e-9, atol=1e-10)


def test_special_numbers(torch: Any) -> None:
    def special(x: Any) -> Any:
        a, b = x
        kinks = [minimum(a, b), maximum(a, b), atan2(a, b), where(a < b, 1.0, 2.0), where(a == a, 1.0, 0.0)]
        return np.array([*kinks, a / a, sqrt(a) * sqrt(a), sign(a), a / 0, np.inf * a, where(a < 0, np.nan, 1)])

    assert translations().keys() == OPERATIONS.keys()
    program = trace(special, {"x": (2,)})
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    pairs = np.array([[a, b] for a in numbers for b in numbers])
    expected = NumpyKernel(program)(pairs)
    np.testing.assert_allclose(Function(program).to_torch()(torch.tensor(pairs)), expected, rtol=1e-14)
    np.testing.assert_allclose(run_operations(program, [torch.tensor(pairs)])[0], expected, rtol=1e-14)
    root = Function(trace(lambda x: where(x > 0.0, sqrt(x), 0.0), {"x": ()})).to_torch()
    assert torch.func.grad(root)(torch.tensor(0.0)) == 0.0  # PyTorch's own `where` would give NaN


def test_long_programs_run_in_levels(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def special(x: Any) -> Any:
        a, b = x
        rows = [
            minimum(a, b),
            a / a,
            sqrt(a) * sqrt(a),
            1.0 / (a * b),
            1.0 / -a,
            a - b,
            np.inf * a,
            where(a < b, 1.0, b),
        ]
        return np.array(rows)

    monkeypatch.setattr("chasles.engine.targets.levels._LONG", 0)
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    pairs = np.array([[a, b] for a in numbers for b in numbers])
    programs = [(trace(special, {"x": (2,)}), [pairs])]
    programs += [(p := random_program(seed, 30, calls=seed == 2), safe_inputs(p, 3, seed)) for seed in range(3)]
    for program, arguments in programs:
        expected = NumpyKernel(program)(*arguments)
        results = run_operations(program, [torch.tensor(x) for x in arguments])
        for ours, theirs in zip(results, expected if len(results) > 1 else [expected], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_a_robot_in_all_transformations(torch: Any) -> None:
    arm = ch.load("planar2r")
    dynamics = arm.forward_dynamics.to_torch()
    source = np.random.default_rng(0)
    arrays = source.normal(size=(4, 3, 2)), source.normal(size=(3, 2)), source.normal(size=2)
    q, qd, tau = (torch.tensor(x, requires_grad=True) for x in arrays)
    expected = arm.forward_dynamics(*arrays)
    np.testing.assert_array_equal(dynamics(q, qd, tau=tau).detach(), expected)
    twice = torch.func.vmap(torch.func.vmap(dynamics, (0, 0, None)), (0, None, None))
    np.testing.assert_array_equal(twice(q, qd, tau).detach(), expected)
    over_the_middle = torch.func.vmap(dynamics, (1, 0, None), out_dims=1)
    np.testing.assert_array_equal(over_the_middle(q, qd, tau).detach(), expected)
    assert torch.autograd.gradcheck(dynamics, (q, qd, tau), check_forward_ad=True)
    single = tuple(x.detach().requires_grad_() for x in (q[0, 0], qd[0], tau))
    assert torch.autograd.gradgradcheck(dynamics, single, check_fwd_over_rev=True)
    hessian = torch.func.hessian(arm.kinetic_energy.to_torch(), argnums=1)(
        *map(torch.tensor, (arrays[0][0, 0], arrays[1][0]))
    )
    np.testing.assert_allclose(hessian, arm.mass_matrix(arrays[0][0, 0]), rtol=1e-13)


def _swing(x: Any, u: Any, k: Any) -> Any:
    """A step of a pendulum: two states, a torque given at each step, a parameter and two samples."""
    following = np.array([x[0] + 0.1 * x[1], x[1] - 0.1 * k * sin(x[0]) + 0.1 * u])
    return following, x[0] * u, np.array([x[1] * k, x[0] ** 2])


@pytest.mark.parametrize(("steps", "substeps"), [(5, 1), (2, 3)])
def test_loops_over_time(steps: int, substeps: int, torch: Any) -> None:
    loop = Function(trace(_swing, {"x": (2,), "u": (), "k": ()}, outputs=["x", "y", "Y"], name="swing"), shape="scan")
    source = np.random.default_rng(0)
    arrays = source.normal(size=(3, 2)), source.normal(size=(steps, substeps)), source.normal(size=3)
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]
    function = loop.to_torch()
    for ours, others, theirs in zip(function(*tensors), run_kernel(loop.kernel, tensors), loop(*arrays), strict=True):
        np.testing.assert_array_equal(ours.detach(), theirs)
        np.testing.assert_allclose(others.detach(), theirs, rtol=1e-13, atol=1e-15)
    assert torch.autograd.gradcheck(function, tensors, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, [tensors[0][0], tensors[1], tensors[2][0]], check_fwd_over_rev=True)
    one_by_one = torch.func.vmap(torch.func.grad(lambda x, u, k: function(x, u, k)[2].sum(), 2), (0, None, 0))
    together = torch.autograd.grad(function(*tensors)[2].sum(), tensors[2])[0]
    np.testing.assert_allclose(one_by_one(*tensors).detach(), together, rtol=1e-13)


def test_the_gradient_of_a_long_loop_is_cut_into_segments(torch: Any) -> None:
    loop = Function(trace(_swing, {"x": (2,), "u": (), "k": ()}, outputs=["x", "y", "Y"], name="swing"), shape="scan")
    x, u, k = torch.tensor([0.4, 0.0]), torch.zeros(50, 2), torch.tensor(2.0)
    of_results = torch.ones(2), torch.zeros(50), torch.ones(50, 2)
    library = ArrayLibrary(torch, lambda kernel, tensors: bind(kernel, MachineCode(compiled, LoopAdjoint), tensors))
    whole, cut = (adjoints(loop.kernel, ("u", "k"), [x, u, k], of_results, library, held) for held in (10_000, 20))
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_iterations_have_the_derivatives_of_their_solution(torch: Any) -> None:
    def heron(x: Any, a: Any) -> Any:
        new = (x + a / x) / 2.0
        return new, where(absolute(new - x)[0] < 1e-9, 1.0, 0.0)

    program = trace(heron, {"x": (1,), "a": ()}, outputs=["x", "done"])
    solve = Function(program, shape="solve")
    root = solve.to_torch()
    a = torch.tensor([4.0, 9.0], dtype=torch.float64, requires_grad=True)
    for ours, others, theirs in zip(
        root([1.0], a, 30),
        run_kernel(solve.kernel, [torch.ones(1), a, torch.tensor(30)]),
        solve([1.0], [4.0, 9.0], 30),
        strict=True,
    ):
        np.testing.assert_array_equal(ours.detach(), theirs)
        np.testing.assert_array_equal(others.detach(), theirs)
    slope = torch.func.grad(lambda a: root([1.0], a, 30)[0][0])
    np.testing.assert_allclose(torch.func.vmap(slope)(a).detach(), [1.0 / 4.0, 1.0 / 6.0], rtol=1e-12)
    np.testing.assert_allclose(torch.func.grad(slope)(a[0]).detach(), -1.0 / 32.0, rtol=1e-12)
    np.testing.assert_allclose(torch.func.jacfwd(lambda a: root([1.0], a, 30)[0])(a[1]).detach(), [1.0 / 6.0])
    assert torch.isnan(torch.func.grad(lambda a: root([1.0], a, 2)[0][0])(a[1]))  # not done


def test_loops_that_repeat_steps_are_differentiated(torch: Any) -> None:
    """x falls by the factor p until it is below t: p^m x after m repetitions, each sample with its own m."""

    def fall(x: Any, t: Any, p: Any) -> Any:
        return np.array([where(x[0] > t, p * x[0], x[0])]), where(p * x[0] > t, 1.0, 0.0), x[0]

    shapes = {"x": (1,), "t": (), "p": ()}
    scan = Function(trace(fall, shapes, name="falling", outputs=["x_next", "again", "before"]), shape="scan").to_torch()
    limits = torch.tensor([[20.0, 8.0], [2.0, 0.6]], dtype=torch.float64)
    x = torch.tensor([[64.0], [3.0]], dtype=torch.float64)
    p = torch.tensor([0.5, 0.7], dtype=torch.float64)

    def final(x: Any, p: Any) -> Any:
        return scan(x, limits, p)[0][..., 0]

    m = torch.tensor([7.0, 5.0], dtype=torch.float64)
    slopes = m * p ** (m - 1.0) * x[:, 0]
    np.testing.assert_allclose(torch.func.vmap(torch.func.grad(final, 1))(x, p), slopes, rtol=1e-12)
    together = torch.func.grad(lambda x, p: final(x, p).sum(), (0, 1))(x, p)
    np.testing.assert_allclose(together[0][:, 0], p**m, rtol=1e-12)
    np.testing.assert_allclose(together[1], slopes, rtol=1e-12)
    np.testing.assert_allclose(torch.func.jacfwd(final, 1)(x[0], p[0]), slopes[0], rtol=1e-12)
    curvature = torch.func.jacrev(torch.func.jacfwd(final, 1), 1)(x[0], p[0])
    np.testing.assert_allclose(curvature, 42.0 * p[0] ** 5.0 * x[0, 0], rtol=1e-12)
    for twice in (torch.func.hessian(final, 1), torch.func.grad(torch.func.grad(final, 1), 1)):
        with pytest.raises(ArgumentError, match=r"falling repeats steps .* has no derivative here. Take"):
            twice(x[0], p[0])


def test_layouts_and_precisions(torch: Any) -> None:
    energy = ch.load("planar2r").kinetic_energy
    function = energy.to_torch()
    states = np.random.default_rng(0).normal(size=(2, 2, 5))
    turned = [torch.tensor(x).T for x in states]  # not contiguous
    np.testing.assert_array_equal(function(*turned), energy(*states.swapaxes(1, 2)))
    single, double = (torch.tensor([0.3, 0.4], dtype=dtype) for dtype in (torch.float32, torch.float64))
    assert function(single, single).dtype == torch.float32
    assert function(single, double).dtype == torch.float64
    assert function(single.half(), single.bfloat16()).dtype == torch.float32
    assert function([0, 1], torch.tensor([1, 2])).dtype == torch.get_default_dtype()
    assert function([0.3, 0.4], single).dtype == torch.float32
    np.testing.assert_allclose(function([0.3, 0.4], double), energy([0.3, 0.4], [0.3, 0.4]), rtol=1e-15)
    np.testing.assert_allclose(function(single, single), function(double, double), rtol=1e-6)
    single.requires_grad_()
    function(single, double).backward()
    assert single.grad.dtype == torch.float32


def test_empty_arguments_and_results(torch: Any) -> None:
    program = trace(lambda none, x: (none, 2.0 * x, 3.0), {"none": (0,), "x": ()})
    none, twice, three = Function(program).to_torch()(torch.zeros(4, 0), torch.arange(4.0))
    assert none.shape == (4, 0)
    np.testing.assert_array_equal(twice, 2.0 * np.arange(4.0))
    np.testing.assert_array_equal(three, np.full(4, 3.0))
    constant = Function(Program("one", (), (Argument("one", ()),), (("constant", 1.0),), (0,))).to_torch()
    assert constant() == 1.0


def test_bad_arguments_are_named(torch: Any) -> None:
    torque = ch.load("planar2r").inverse_dynamics.to_torch()
    zeros = torch.zeros(2)
    with pytest.raises(ArgumentError, match=r"inverse_dynamics: qd has shape \(3,\); expected \(..., 2\)"):
        torque(zeros, torch.zeros(3), zeros)
    with pytest.raises(ArgumentError, match=r"the batch axes of the arguments do not broadcast: q \(4,\), qd \(3,\)"):
        torque(torch.zeros(4, 2), torch.zeros(3, 2), zeros)
    with pytest.raises(ArgumentError, match=r"several devices: q on meta, qd on cpu.*move them to one"):
        torque(zeros.to("meta"), zeros, zeros)
    with pytest.raises(ArgumentTypeError, match="q must be a dense tensor of real numbers"):
        torque(zeros + 1j, zeros, zeros)
    with pytest.raises(ArgumentTypeError, match="q must be a dense tensor of real numbers"):
        torque(zeros.to_sparse(), zeros, zeros)
    with pytest.raises(ArgumentTypeError, match="q does not turn into a tensor"):
        torque("home", zeros, zeros)
    loop = Function(trace(lambda x, t: (x + t, x[0]), {"x": (1,), "t": ()}, name="drift"), shape="scan").to_torch()
    with pytest.raises(ArgumentError, match=r"drift: t has shape \(4,\); expected \(..., S, k\)"):
        loop([0.0], torch.zeros(4))


def test_what_records_operations_is_refused(torch: Any) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    gravity = ch.load("planar2r").gravity_torque.to_torch()
    q = torch.tensor([0.1, 0.2])
    with pytest.raises(ArgumentError, match=r"gravity_torque runs machine code, which torch.export .* cannot record"):
        make_fx(gravity)(q)
    assert gravity(q).shape == (2,)


def test_tensors_on_other_devices_stay_there(torch: Any) -> None:
    """The device meta knows shapes alone: what runs there would run on an accelerator."""
    arm = ch.load("planar2r")
    q = torch.zeros(5, 2, device="meta", dtype=torch.float64)
    jacobian = arm.jacobian.specialize(frame="space").to_torch()(q)
    assert jacobian.device.type == "meta"
    assert jacobian.shape == (5, 6, 2)


@pytest.mark.parametrize(
    ("name", "heading"), [("optimisers", "## PyTorch"), ("dynamics-elsewhere", "## Learning in PyTorch")]
)
def test_the_pages_are_right(name: str, heading: str, torch: Any) -> None:
    page = Path(__file__).parents[2] / "docs" / f"{name}.md"
    text = page.read_text(encoding="utf-8").partition(heading)[2]
    block = text.partition("```py\n")[2].partition("```")[0]
    session = doctest.DocTestParser().get_doctest(block, {}, page.name, str(page), 0)
    assert session.examples
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed == 0


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[torch\]"'):
        Function(trace(lambda x: x, {"x": ()})).to_torch()
