"""Pages that compute: WebAssembly beside scalar C code, time to a live page, cost and parts of a frame, sizes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from time import perf_counter

import numpy as np
from tests.visual.browser import Browser, Tab
from tests.visual.view_in_a_tab import ready

import chasles as ch
from benchmarks.robots import MissingPeerError, anymal, talos
from benchmarks.startup import measure
from benchmarks.tables import Table, at_most, ratio, seconds
from benchmarks.timing import fastest

SAMPLES = 4_000
LOADED = """
import json
from time import perf_counter
start = perf_counter()
import chasles
from chasles.visual.view.views import open_live
arm = chasles.load("panda")
live = open_live(arm, arm.home, None, False)
import urllib.request, http.cookiejar
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
size = len(opener.open(live.url).read())
print(json.dumps([perf_counter() - start, size]))
live.close()
"""
#: Medians of groups that last much longer than the steps of the browser's clock, 0.1 ms.
MEDIAN = """
(work, count) => {
  const times = [];
  for (let group = 0; group < 15; group++) {
    const start = performance.now();
    for (let k = 0; k < count; k++) work(k);
    times.push((performance.now() - start) / count / 1000);
  }
  return times.sort((a, b) => a - b)[7];
}
"""
FRAME = f"""
(() => {{ const T = [...page.gizmo.T]; let q = page.q;
return ({MEDIAN})(k => {{
  T[7] = 0.2 * Math.sin(0.05 * k);
  q = page.mechanism.reach(q, T, true).q;
  page.mechanism.places(q); page.mechanism.tool(q); page.mechanism.gravity(q, 1);
}}, 200); }})()
"""
STEPS = f"""
(() => {{ const loop = new ClosedLoop(page.mechanism, page.q, page.simulation.options);
return ({MEDIAN})(() => loop.run(new Array(17).fill(loop.reference)), 100); }})()
"""

#: Pictures painted in a second of dragging, 4 s long, as the browser asks for them, and the refreshes of an idle page.
PAINTED = """
(async () => {
  const T = [...page.gizmo.T], middle = T[7], { scene } = page, paint = scene.paint;
  let painted = 0, refreshed = 0, step = 0;
  scene.paint = function (coarseness) { painted++; paint.call(this, coarseness); };
  const during = async (seconds, work) => {
    const start = await new Promise(requestAnimationFrame);
    let now = start;
    while (now - start < 1000 * seconds) { work(); now = await new Promise(requestAnimationFrame); }
    return (now - start) / 1000;
  };
  const idle = await during(2, () => refreshed++);
  const drag = () => { T[7] = middle + 0.2 * Math.sin(0.05 * step++); page.drag(T); };
  await during(0.5, drag);
  painted = 0;
  const dragged = await during(4, drag);
  return [painted / dragged, refreshed / idle];
})()
"""

FRAME_PERIOD = 1.0 / 60.0
#: Parts of a frame in which a robot is simulated, and what repeats them.
PARTS = {
    "simulation: 17 periods of 1 ms": "loop.run(new Array(17).fill(loop.reference))",
    "kinematics: poses, Jacobian, ellipsoid, tool error": (
        "mechanism.places(page.q), mechanism.ellipsoid(mechanism.tool(page.q).J), page.simulation.words"
    ),
    "drawing: commands to the graphics card": "page.scene.paint(1)",
}
REPEATED = """
((count, work) => { const { mechanism, simulation: { loop } } = page; while (count--) work(mechanism, loop); })
"""
PAINTING = """
(() => { const { scene } = page, paint = scene.paint; window.painted = 0;
  scene.paint = function (coarseness) { window.painted++; paint.call(this, coarseness); }; })()
"""


def tables() -> Iterator[Table]:
    """The tables of this section."""
    yield kernels()
    yield page()
    yield frame()
    yield sizes()


def kernels() -> Table:
    """WebAssembly in wasmtime beside the same program as C, compiled by gcc -O2 for this processor, one sample each."""
    if shutil.which("gcc") is None:
        raise MissingPeerError("gcc is not installed")
    from tests.engine.run_wasm import Loaded

    arm = ch.load("panda")
    table = Table(
        f"WebAssembly beside scalar native code, Panda, {SAMPLES:,} samples in one call",
        ("", "wasm, a sample", "C (gcc -O2), a sample", "ratio", "allowed"),
    )
    rng = np.random.default_rng(0)
    for function in (arm.inverse_dynamics, arm.forward_dynamics, arm.frame_poses, arm.mass_matrix):
        lowered = function.to_wasm()
        program = Loaded(lowered)
        ((name, kernel),) = lowered.kernels.items()
        arguments = [rng.normal(size=(SAMPLES, *array.dims)) for array in kernel.inputs]
        native, result = _compiled(function, arguments, [array.dims for array in kernel.outputs])
        native()
        np.testing.assert_allclose(result, program.call(name, *arguments)[0].reshape(SAMPLES, -1), rtol=1e-9, atol=1e-9)
        times = fastest({"wasm": program.again(name, SAMPLES), "C": native}, repeats=20)
        slower = times["wasm"] / times["C"]
        cells = seconds(times["wasm"] / SAMPLES), seconds(times["C"] / SAMPLES), ratio(slower)
        table.add(name, *cells, at_most(4.0, slower, ratio))
    return table


def page() -> Table:
    """Times of a live page: until it is delivered, and of a frame in headless Chromium."""
    table = Table("The page of a Panda", ("", "time", "allowed"))
    with tempfile.TemporaryDirectory() as warm:
        measure(LOADED, warm)
        times = [measure(LOADED, warm) for _ in range(5)]
    shown = min(time for time, _ in times)
    table.add("fresh process to delivered page, warm cache", seconds(shown), at_most(1.5, shown))
    chromium = _chromium()
    if chromium is None:
        table.notes.append("Chromium is not installed: the cost of a frame was not measured.")
        return table
    arm = ch.load("panda")
    with tempfile.TemporaryDirectory() as folder:
        path = arm.view(path=Path(folder) / "panda.html")
        browser = Browser(chromium, Path(folder) / "browser")
        ready(Tab(browser, path))  # the browser itself has started then
        start = perf_counter()
        tab = ready(Tab(browser, path))
        opened = perf_counter() - start
        drag, steps = tab.ask(FRAME), tab.ask(STEPS)
        painted, refreshed = tab.ask(PAINTED)
        width, height = tab.ask("[page.scene.canvas.width, page.scene.canvas.height]")
        browser.close()
    table.add("opening the file in Chromium until it shows the robot", seconds(opened), "")
    table.add("drag: inverse kinematics, poses, Jacobian, gravity torques", seconds(drag), at_most(1e-3, drag))
    table.add(
        "a picture while dragging, software rendering", seconds(1.0 / painted), at_most(1.0 / 59.0, 1.0 / painted)
    )
    table.notes.append(
        f"While dragging, {painted:.1f} pictures of {width} × {height} pixels are painted in a second without graphics "
        f"hardware (SwiftShader); this browser asks for {refreshed:.1f} in a second at most."
    )
    table.add("simulation: 17 periods of 1 ms, a frame at 60 Hz", seconds(steps), at_most(1.0 / 60.0, steps))
    return table


def frame() -> Table:
    """Processor time of the page's thread for a frame of a humanoid on a free base, and the parts of it."""
    chromium = _chromium()
    if chromium is None:
        raise MissingPeerError("Chromium")
    robot = ch.load(talos(), tool="wrist_right_ft_tool_link").with_free_base()
    table = Table(f"A frame of Talos, {robot.n} degrees of freedom, held by PD + gravity", ("", "time", "share"))
    with tempfile.TemporaryDirectory() as folder:
        path = robot.view(path=Path(folder) / "talos.html", laws=["pd-gravity"])
        browser = Browser(chromium, Path(folder) / "browser")
        tab = ready(Tab(browser, path))
        tab.call("Performance.enable", timeDomain="threadTicks")
        tab.ask(f"page.scene.unpacked.then(() => {{ page.simulation.press('hold'); {PAINTING}; return frames(20); }})")
        whole = _median([_of_frames(tab) for _ in range(9)])
        tab.ask("cancelAnimationFrame(page.simulation.next), 1")
        parts = {name: _median([_of_part(tab, work) for _ in range(9)]) for name, work in PARTS.items()}
        browser.close()
    parts["numbers beside the picture: written, laid out, painted"] = whole - sum(parts.values())
    for name, time in parts.items():
        table.add(name, seconds(time), f"{time / whole:.0%}")
    table.add("frame", seconds(whole), at_most(FRAME_PERIOD, whole))
    table.notes.append("Medians of processor time, without that of the graphics card or of what stands in for it.")
    return table


def _of_frames(tab: Tab) -> float:
    """Seconds of the page's thread for a frame, while the browser asks for ten."""
    start = _thread_time(tab), tab.ask("window.painted")
    tab.ask("frames(10)")
    return (_thread_time(tab) - start[0]) / (tab.ask("window.painted") - start[1])


def _of_part(tab: Tab, work: str) -> float:
    """Seconds of the page's thread for a part of a frame, from 10 repetitions and from 50."""
    times = []
    for count in (10, 50):
        start = _thread_time(tab)
        tab.ask(f"{REPEATED}({count}, (mechanism, loop) => {{ {work}; }})")
        times.append(_thread_time(tab) - start)
    return (times[1] - times[0]) / 40


def _thread_time(tab: Tab) -> float:
    return float(next(m["value"] for m in tab.call("Performance.getMetrics")["metrics"] if m["name"] == "ThreadTime"))


def _median(times: list[float]) -> float:
    return float(np.median(times))


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def sizes() -> Table:
    """Sizes of pages, of the viewer's share of the wheel (compressed), and of what its extras install."""
    table = Table("Sizes", ("", "size", "allowed"))

    def add(what: str, size: float, allowed: float) -> None:
        table.add(what, _bytes(size), at_most(allowed, size, _bytes))

    with tempfile.TemporaryDirectory() as folder:
        for what, file in {
            "a Panda": "panda",
            "Talos with meshes": talos(),
            "ANYmal C with textures": anymal(),
        }.items():
            with warnings.catch_warnings(
                action="ignore", category=ch.model.ModelWarning
            ):  # two hands could be the tool
                page = ch.load(file).view(path=Path(folder) / "page.html")
            add(f"page of {what}", page.stat().st_size, 1.5e6)
    assert ch.__file__ is not None
    root = Path(ch.__file__).parent
    files = [*(root / "visual").rglob("*.*"), *(root / "engine" / "targets" / "wasm").rglob("*.*")]
    share = sum(len(zlib.compress(file.read_bytes(), 9)) for file in files if file.suffix in (".py", ".js", ".css"))
    add("share of the wheel: visual and wasm, compressed", share, 3e5)
    jupyter = ("ipywidgets", "jupyterlab-widgets", "widgetsnbextension")
    extras = {
        "meshes": ("trimesh", "pycollada", "python-dateutil", "six"),
        "widget": ("anywidget", "psygnal", *jupyter),
    }
    for extra, packages in extras.items():
        add(f"extra {extra}: {', '.join(packages)}", sum(map(_installed, packages)), 3e7)
    return table


def _bytes(size: float) -> str:
    return f"{size / 1e3:,.0f} kB"


def _installed(package: str) -> int:
    """Bytes that a package takes, or 0 where it is not installed."""
    try:
        found = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        return 0
    return sum(file.size or 0 for file in found)


def _compiled(
    function: ch.Function, arguments: list[np.ndarray], shapes: list[tuple[int, ...]]
) -> tuple[Callable[[], object], np.ndarray]:
    """A call of the C code for all samples, and the array (samples, …) of its first result."""
    source, header = function.to_c()
    name = function.__name__
    names = [f"x{k}" for k in range(len(arguments))] + [f"y{k}" for k in range(len(shapes))]
    sizes = [array[0].size for array in arguments] + [int(np.prod(shape)) for shape in shapes]
    results = [np.empty((len(arguments[0]), size)) for size in sizes[len(arguments) :]]
    each = ", ".join(f"{own} + i * {size}" for own, size in zip(names, sizes, strict=True))
    taken = ", ".join(f"double *{own}" for own in names)
    loop = f"\nvoid all(long n, {taken}) {{ for (long i = 0; i < n; i++) {name}({each}); }}\n"
    folder = Path(tempfile.mkdtemp())
    (folder / f"{name}.h").write_text(header)
    (folder / f"{name}.c").write_text(source + loop)
    library = folder / "lib.so"
    command = ["gcc", "-O2", "-fno-tree-vectorize", "-shared", "-fPIC", f"{folder / name}.c", "-o", str(library), "-lm"]
    subprocess.run(command, check=True)
    entry = ctypes.CDLL(str(library)).all
    owned = [np.ascontiguousarray(array) for array in arguments]
    given = [ctypes.c_void_p(array.ctypes.data) for array in (*owned, *results)]

    def call() -> object:
        return entry(ctypes.c_long(len(owned[0])), *given)

    return call, results[0]
