"""ROBOOP's configuration and matrix files and its pictures: the way there and back, and hostile files."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import numpy as np
import pytest

from chasles.base.errors import ChaslesError, ModelError, UnknownNameError
from chasles.interop import roboop as rb


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "run.dat"
    records = [[rng.normal(size=(2, 3)), rng.normal(size=2), [[1e-300 if k else -0.1]]] for k in range(4)]
    file = rb.IO_matrix_file(path)
    for record in records[:2]:
        file.write(record, ["poses, of a kind", "q", "t"])
    again = rb.IO_matrix_file(path)
    for record in records[2:]:
        again.write(record)  # goes on counting; ROBOOP's begins anew
    reader = rb.IO_matrix_file(path)
    for record in records:
        data, titles = reader.read()
        assert titles == ["poses, of a kind", "q", "t"]
        for ours, theirs in zip(data, record, strict=True):
            assert ours.ravel().tolist() == np.ravel(theirs).tolist()
    with pytest.raises(ModelError, match="all 4 records have been read"):
        reader.read()
    data, _ = reader.read_all()
    assert [matrix.shape for matrix in data] == [(6, 4), (2, 4), (1, 4)]
    assert data[1][:, 3].tolist() == records[3][1].tolist()


def test_a_file_as_roboop_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "run.dat"
    path.write_text(
        "nb_iterations 2\n        \nnb_vector 2\nnb_rows 2  nb_cols 1  q\nnb_rows 1  nb_cols 1  t\n"
        "---------------------------------\n0.5\n1\n0\n\n0.75 1.5 1e-3\n\n"
    )
    data, titles = rb.IO_matrix_file(path).read_all()
    assert titles == ["q", "t"]
    assert data[0].tolist() == [[0.5, 0.75], [1.0, 1.5]]
    figure = rb.Plot_file(path).graph("motion", ["q1", "q2"], 2, 1, 1, 1, 2)
    assert [trace.name for trace in figure.data] == ["q1", "q2"]
    assert list(figure.data[1].y) == [1.0, 1.5]
    assert figure.layout.xaxis.title.text == "t"
    with pytest.raises(ChaslesError, match="y_end must be a whole number from 1 to 2"):
        rb.Plot_file(path).graph("motion", [], 2, 1, 1, 1, 3)


def test_wrong_records_are_refused(tmp_path: Path) -> None:
    file = rb.IO_matrix_file(tmp_path / "run.dat")
    for data, titles in (([], None), ([[1.0]], ["a", "b"]), ([[1.0]], ["a\nb"]), ([np.zeros((1, 1, 1))], None)):
        with pytest.raises(ChaslesError):
            file.write(data, titles)
    file.write([[1.0, 2.0]], ["q"])
    with pytest.raises(ChaslesError, match=r"expected .* as before"):
        file.write([[1.0]])


def test_hostile_matrix_files_are_refused_with_their_name(tmp_path: Path) -> None:
    path = tmp_path / "run.dat"
    file = rb.IO_matrix_file(path)
    for k in range(3):
        file.write([[1.0 * k, 2.0], [[0.5, 1e-3]]], ["q", "pose"])
    sound, random, read = path.read_text(), Random(1), 0
    pieces = ["nan", "1e999", "-", "nb_rows", "nb_vector 0", "999999999", "\x00", "é", "--", " ", "\n", "0x1", "1_0"]
    for _ in range(400):
        text = sound
        for _ in range(random.choice([1, 1, 3])):
            start = random.randrange(len(text) + 1)
            end = min(start + random.choice([0, 1, 5]), len(text))
            text = text[:start] + random.choice(pieces) + text[end:]
        path.write_bytes(text.encode("utf-8", "replace"))
        try:
            data, _ = rb.IO_matrix_file(path).read_all()
            read += 1
            assert all(np.isfinite(matrix).all() for matrix in data)
        except ModelError as error:
            assert "run.dat" in str(error)  # noqa: PT017
            assert len(str(error)) < 1000  # noqa: PT017
    assert read > 5
    path.unlink()
    with pytest.raises(ModelError, match=r"run\.dat"):
        rb.IO_matrix_file(path).read()


def test_configurations(tmp_path: Path) -> None:
    conf = rb.Config()
    conf.add("arm", "Name", "an arm")
    conf.add("arm", "dof", 2)
    conf.add("arm", "mass", 0.1 + 0.2)
    conf.add("arm", "Motor", True)
    conf.add("arm", "dof", 6)  # replaces; ROBOOP's has two then
    path = tmp_path / "arm.conf"
    conf.write_conf(path, "An arm", 10)
    again = rb.Config()
    with path.open() as file:
        again.read_conf(file)
    assert again.select("arm", "Name") == "an arm"
    assert again.select("arm", "dof", int) == 6
    assert again.select("arm", "mass", float) == 0.1 + 0.2
    assert again.select("arm", "Motor", bool) is True
    assert (again.section_exists("arm"), again.section_exists("leg")) == (True, False)
    for section, parameter, kind, error in (
        ("leg", "dof", int, UnknownNameError),
        ("arm", "doff", int, UnknownNameError),
        ("arm", "Name", float, ModelError),
        ("arm", "mass", int, ModelError),
        ("arm", "dof", bool, ModelError),
    ):
        with pytest.raises(error):
            again.select(section, parameter, kind)
    out = io.StringIO()
    again.write_conf(out)
    assert "   dof: 6\n" in out.getvalue()
    again.clear()
    assert not again.parameter_exists("arm", "dof")
    with pytest.raises(ModelError, match=r"missing\.conf"):
        again.read_conf(tmp_path / "missing.conf")


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    plot = rb.Plot2d()
    plot.settitle("all styles")
    plot.setxlabel("x")
    plot.setylabel("y")
    points = np.array([[0.0, 1.0], [1.0, 3.0]])
    for style in ("lines", "points", "linespoints", "impulses", "dots", "steps", "boxes"):
        plot.addcurve(points, style, style)
    plot.addcommand("set grid")
    figure = plot.gnuplot()
    assert [trace.type for trace in figure.data].count("bar") == 2
    assert figure.data[5].line.shape == "hv"
    plot.dump()
    assert "all styles" in capsys.readouterr().out
    space = rb.set_plot3d(np.arange(12.0).reshape(2, 6), "curves", "x", "y", "z")
    assert list(space.data[1].x) == [3.0, 9.0]
    assert space.layout.scene.zaxis.title.text == "z"
    for bad in (
        lambda: plot.addcurve(np.zeros((2, 3))),
        lambda: plot.addcurve(points, "", "splines"),
        lambda: rb.set_plot3d(np.zeros((2, 4)), "", "", "", ""),
        lambda: rb.GNUcurve([1.0], [1.0, 2.0]),
        lambda: rb.set_plot2d("", "", "", ["a"], rb.LINES, [0.0], [[1.0], [2.0]]),
    ):
        with pytest.raises(ChaslesError):
            bad()
