"""Every file that Chasles writes: whole, or what was there stays byte for byte."""

import ast
import os
import resource
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.base.writing import PAGE, add, path_to_write, replacing, write, write_all
from chasles.cli import main
from chasles.interop import spacelib
from chasles.interop.modern_robotics.mobile_manipulation import write_animation
from chasles.interop.roboop.data_files import IO_matrix_file

SOURCE = Path(ch.__file__).parent
GOOD = b"a good file of an hour's work\n" * 3
ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
RUN = ch.simulate(ARM, ch.ComputedTorque(ARM, kp=400.0, kd=40.0), MOTION)


def command(*words: str) -> Callable[[Path], object]:
    """A call of the command line whose errors are raised again."""

    def call(path: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["chasles", *(str(path) if word == "OUT" else word for word in words)])
            try:
                main()
            except SystemExit as leaving:
                if leaving.code:
                    raise ArgumentError("the command failed") from None

    return call


def with_c(folder: Path) -> None:
    ARM.to_c(folder.parent)


WRITERS: dict[str, Callable[[Path], object]] = {
    "page.html": lambda path: ARM.view(path=path),
    "run.html": lambda path: RUN.view(path=path),
    "report.html": lambda path: RUN.report(path),
    "motion.html": lambda path: MOTION.view(ARM, path=path),
    "picture.svg": lambda path: ch.picture(ARM, path),
    "picture.png": lambda path: ch.picture(ARM, path),
    "movie.gif": lambda path: ch.movie(ARM, MOTION, path, size=(64, 64), frame_rate=4),
    "movie.webp": lambda path: ch.movie(ARM, MOTION, path, size=(64, 64), frame_rate=4),
    "table.csv": RUN.to_csv,
    "table.csv.gz": RUN.to_csv,
    "run.nc": RUN.to_netcdf,
    "classic.nc": lambda path: RUN.to_netcdf(path, engine="scipy"),
    "program.json": lambda path: ARM.inverse_dynamics.program.to_json(path),
    "program.wasm": lambda path: ARM.inverse_dynamics.to_wasm().save(path),
    "program.js": lambda path: ARM.inverse_dynamics.to_wasm().save(path),
    "inverse_dynamics.c": with_c,
    "arm.toml": command("convert", "planar2r", "OUT", "--force"),
    "arm.urdf": command("convert", "planar2r", "OUT", "--force"),
    "arm.xml": command("convert", "planar2r", "OUT", "--force"),
    "view.html": command("view", "planar2r", "--out", "OUT"),
    "saved.nc": command("simulate", "planar2r", "--save", "OUT", "--duration", "0.2"),
    "animation.csv": lambda path: write_animation(path, np.zeros((300, 12))),
    "links.dat": lambda path: spacelib.write_link_lengths(path, np.arange(100.0)),
}


@pytest.fixture
def full_disk() -> Iterator[Callable[[int], None]]:
    """No file of this process and its children grows beyond some bytes: the lowest level at which writing fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == "picture.png" else []) for name in WRITERS]
)
def test_failed_write_keeps_the_old_file(name: str, tmp_path: Path, full_disk: Callable[[int], None]) -> None:
    target = tmp_path / name
    WRITERS[name](target)
    whole = sorted(path.name for path in tmp_path.iterdir())
    assert target.stat().st_size > 100
    target.write_bytes(GOOD)
    full_disk(100)
    with pytest.raises(ArgumentError):
        WRITERS[name](target)
    assert target.read_bytes() == GOOD
    assert sorted(path.name for path in tmp_path.iterdir()) == whole


def test_no_module_writes_a_file_by_itself() -> None:
    # The cache's entries are nobody's work, and are written beside, too; copies out of a zip file are temporary.
    own = {"base/writing.py", "engine/kernels/cache.py", "base/packaged_files.py"}
    found = []
    for path in SOURCE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call):
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            modes = [
                part.value for part in [*call.args, *(k.value for k in call.keywords)] if isinstance(part, ast.Constant)
            ]
            writes = name in ("write_text", "write_bytes", "write_html", "write_image", "tofile")
            if writes or (name == "open" and any(m in ("w", "wb", "x", "xb", "a", "ab", "r+", "r+b") for m in modes)):
                found.append(path.relative_to(SOURCE).as_posix())
    assert set(found) - own == set()


def test_names_that_utf_8_cannot_hold(tmp_path: Path) -> None:
    arm = ch.Robot.from_dh([{"a": 0.4, "mass": 1.0}], name="arm\udce9")
    page = arm.view(path=tmp_path / "arm.html")
    assert "<title>arm?</title>" in page.read_text(encoding="utf-8")
    assert write(tmp_path / "\udcff.html", "ä").read_bytes() == "ä".encode()
    for name in ("a\0b", "\ud800"):
        with pytest.raises(ArgumentError, match="cannot be written"):
            write(tmp_path / name, "")


def test_files_that_belong_together_are_written_together(tmp_path: Path, full_disk: Callable[[int], None]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(GOOD)
    full_disk(200)
    with pytest.raises(ArgumentError, match="second cannot be written"):
        write_all({first: "short", second: "x" * 1000})
    assert first.read_bytes() == GOOD
    assert not second.exists()


def test_interrupts_leave_nothing(tmp_path: Path) -> None:
    def half() -> None:
        with replacing(tmp_path / "run.html") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert list(tmp_path.iterdir()) == []


def test_modes_links_and_devices(tmp_path: Path) -> None:
    secret, link = tmp_path / "secret.html", tmp_path / "link.html"
    secret.write_text("old")
    secret.chmod(0o600)
    link.symlink_to(secret)
    write(link, "new", PAGE)
    assert link.is_symlink()
    assert secret.read_text() == "new"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    mask = os.umask(0o022)
    assert stat.S_IMODE(write(tmp_path / "fresh.html", "").stat().st_mode) == 0o644
    os.umask(mask)
    write(os.devnull, "text", PAGE)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(ArgumentError, match="it is a folder"):
        write(tmp_path, "")


def test_endings_say_what_is_written(tmp_path: Path) -> None:
    assert path_to_write(tmp_path / "Page.HTML", PAGE).name == "Page.HTML"
    for call in (ARM.view, lambda path: RUN.report(path), lambda path: RUN.view(path=path)):
        with pytest.raises(ArgumentError, match=r"must end in \.html or \.htm, not 'x\.pdf'"):
            call(path=tmp_path / "x.pdf")
    with pytest.raises(ArgumentError, match=r"\.csv"):
        RUN.to_csv(tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("view", "planar2r", "--out", "x.pdf"),
        ("demo", "--out", "x.pdf"),
        ("simulate", "planar2r", "--out", "x.pdf"),
        ("simulate", "planar2r", "--save", "x.csv"),
        ("excite", "planar2r", "--out", "x.pdf"),
        ("study", "mazure", "--out", "x.pdf"),
        ("identify", "log.csv", "--robot", "planar2r", "--report", "x.pdf"),
        ("payload", "log.csv", "--robot", "planar2r", "--out", "x.pdf"),
    ],
    ids=" ".join,
)
def test_commands_refuse_other_endings_at_once(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentError):
        command(*words)(Path("unused"))
    assert "must end in ." in capfd.readouterr().err
    assert not Path(words[-1]).exists()


def test_records_are_added_whole(tmp_path: Path, full_disk: Callable[[int], None]) -> None:
    path = tmp_path / "run.dat"
    IO_matrix_file(path).write([[0.5]], ["time"])
    before = path.read_bytes()
    full_disk(len(before) + 3)
    with pytest.raises(ArgumentError, match="cannot be written"):
        add(path, "0.25\n" * 10, head="nb_iterations 2       \n")
    with pytest.raises(ArgumentError, match="cannot be written"):
        IO_matrix_file(path).write([[0.75123456]])
    assert path.read_bytes() == before
