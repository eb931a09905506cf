"""WebAssembly programs called by their own JavaScript, in a browser."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.visual.browser import Browser, Tab

import chasles as ch
from chasles.engine import Function, trace


@pytest.fixture(scope="module")
def program(browser: Browser, panda: ch.Robot, tmp_path_factory: pytest.TempPathFactory) -> Tab:
    folder = tmp_path_factory.mktemp("wasm")
    panda.inverse_dynamics.to_wasm().save(folder / "dynamics.js")
    page = folder / "page.html"
    page.write_text("<script src='dynamics.js'></script>")
    tab = Tab(browser, page)
    tab.ask("chasles.then(loaded => { window.program = loaded; })")
    return tab


def test_one_sample_and_a_batch_are_those_of_python(program: Tab, panda: ch.Robot) -> None:
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, 40_000, 7))  # more than the memory of a fresh module
    single = f"{{ qd: {qd[0].tolist()}, q: {q[0].tolist()}, qdd: [{qdd[0].tolist()}] }}"
    one = program.ask(f"[...program.run('inverse_dynamics', {single}).tau]")
    np.testing.assert_allclose(one, panda.inverse_dynamics(q[0], qd[0], qdd[0]), atol=1e-12)
    few = f"q: {q[:3].tolist()}, qd: {qd[0].tolist()}, qdd: new Float64Array({qdd[:3].ravel().tolist()})"
    batch = program.ask(f"[...program.run('inverse_dynamics', {{ {few} }}).tau]")
    np.testing.assert_allclose(np.reshape(batch, (3, 7)), panda.inverse_dynamics(q[:3], qd[0], qdd[:3]), atol=1e-12)
    many = "new Float64Array(7 * 40000).map((_, k) => Math.sin(k))"
    last = program.ask(f"[...program.run('inverse_dynamics', {{ q: {many}, qd: {many}, qdd: {many} }}).tau.slice(-7)]")
    x = np.sin(np.arange(7 * 39_999, 7 * 40_000))
    np.testing.assert_allclose(last, panda.inverse_dynamics(x, x, x), atol=1e-11)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("'no', {}", "there is no function 'no'; there are inverse_dynamics"),
        ("'inverse_dynamics', { q: [1, 2, 3, 4, 5, 6, 7] }", "misses its argument 'qd'"),
        ("'inverse_dynamics', { q: [1], qd: 1, qdd: 1 }", "'q' holds 1 numbers; one sample has 7"),
        ("'inverse_dynamics', { x: 1 }", "takes no argument 'x'; it takes q, qd, qdd"),
        ("'inverse_dynamics', { q: ['1', 2, 3, 4, 5, 6, 7], qd: 1, qdd: 1 }", "numbers or arrays of numbers"),
    ],
)
def test_wrong_calls_are_said(program: Tab, call: str, said: str) -> None:
    assert said in program.ask(
        f"(() => {{ try {{ program.run({call}); }} catch (error) {{ return error.message; }} }})()"
    )


def test_the_file_is_a_module_of_node_too(program: Tab) -> None:
    planar = ch.load("planar2r")
    script = json.dumps(planar.gravity_torque.to_wasm().javascript)
    load = (
        f"(() => {{ const module = {{}}; new Function('module', {script})(module); return module.exports.chasles; }})()"
    )
    found = program.ask(f"{load}.then(loaded => [...loaded.run('gravity_torque', {{ q: [0.3, 0.5] }}).g])")
    np.testing.assert_allclose(found, planar.gravity_torque([0.3, 0.5]), atol=1e-12)


def test_a_scan_steps_through_time(program: Tab) -> None:
    def fall(state: Any, t: Any, k: Any) -> Any:
        return np.array([state[0] + 0.05 * state[1], state[1] - 0.05 * k * t]), state

    shapes = {"state": (2,), "t": (), "k": ()}
    function = Function(trace(fall, shapes, name="fall", outputs=["state_next", "seen"]), shape="scan")
    script = json.dumps(function.to_wasm().javascript)
    load = (
        f"(() => {{ const module = {{}}; new Function('module', {script})(module); return module.exports.chasles; }})()"
    )
    t, k = np.linspace(0.0, 1.0, 12).reshape(6, 2), [1.0, 9.81]
    given = f"{{ state: [1, 0], t: {t.ravel().tolist()}, k: {k} }}"
    found = program.ask(f"{load}.then(x => Object.values(x.run('fall', {given}, 2)).map(part => [...part]))")
    for mine, theirs in zip(found, function(np.array([1.0, 0.0]), t, np.array(k)), strict=True):
        np.testing.assert_allclose(mine, np.ravel(theirs), atol=1e-15)
    uneven = f"{load}.then(x => x.run('fall', {given}, 5)).catch(error => error.message)"
    assert program.ask(uneven) == "fall: 't' holds no whole number of rows of 5 numbers"


def test_foreign_modules_are_refused(program: Tab) -> None:
    empty = "new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])"
    refusal = program.ask(f"ChaslesProgram.load({empty}).catch(error => error.message)")
    assert refusal == "this WebAssembly module was not written by Chasles"
