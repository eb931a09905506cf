"""What ``import chasles`` brings, and what it leaves until it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import chasles as ch


def test_every_name_is_there_and_is_the_packages_own() -> None:
    for name in ch.__all__:
        value = getattr(ch, name)
        home = getattr(value, "__module__", "") or ""
        assert home.startswith("chasles") or isinstance(value, str) or value.__name__.startswith("chasles."), name
    assert set(dir(ch)) == set(ch.__all__)
    assert ch.simulate is ch.simulation.simulate


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("simulat", "did you mean 'simulate'?"),
        ("PD", "it is chasles.control.PD"),
        ("rotation_x", "it is chasles.geometry.rotation_x"),
        ("Description", "it is chasles.model.Description"),
        ("mass_matrix", "robots have it: chasles.load('ur5').mass_matrix"),
        ("FKinSpace", "it is chasles.interop.modern_robotics.FKinSpace"),
        ("dhtom", "it is chasles.interop.spacelib.dhtom"),
        ("rotx", "'rotx' of Robotics Toolbox for Python is chasles.geometry.rotation_x(angle) here"),
        ("jtraj", "'jtraj' of Robotics Toolbox for Python is chasles.PointToPoint(q0, q1, duration) here"),
    ],
)
def test_names_that_are_elsewhere_are_found(name: str, said: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(ch, name)
    assert str(raised.value) == f"module 'chasles' has no attribute '{name}'; {said}"
    assert not hasattr(ch, "nothing_like_it")
    assert not hasattr(ch, "_private")


def test_importing_brings_nothing_but_what_is_used() -> None:
    script = (
        "import sys, json\n"
        "def packages(): return sorted({name.split('.')[1] for name in sys.modules if name.startswith('chasles.')})\n"
        "import chasles as ch\n"
        "seen = [packages()]\n"
        "ch.load('planar2r').inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])\n"
        "seen += [packages(), len([name for name in sys.modules if name.startswith('chasles')])]\n"
        "from chasles import CubicSpline, control\n"
        "print(json.dumps([*seen, CubicSpline.__module__, control.__name__]))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    at_first, with_a_robot, modules, spline, control = json.loads(printed)
    assert at_first == ["base", "verbs"]
    above = {"control", "integrators", "interop", "inverse_kinematics", "simulation", "studies"}
    assert not {*above, "trajectories", "visual"} & {*with_a_robot}
    assert modules <= 200
    assert spline.startswith("chasles.trajectories")
    assert control == "chasles.control"


def test_the_base_install_imports_every_interface_and_names_the_extra_of_a_report() -> None:
    script = (
        "import sys\n"
        "for name in ('xarray', 'pandas', 'plotly', 'netCDF4', 'sympy', 'daqp', 'mujoco', 'pinocchio'):\n"
        "    sys.modules[name] = None\n"
        "import chasles as ch\n"
        "from chasles.interop import mazure, modern_robotics, mujoco, pinocchio, roboop, spacelib\n"
        "print(modern_robotics.NearZero(0.0))\n"
        "none = [[0.0]]\n"
        "for call in (lambda: ch.report({}, 'a.html'), lambda: modern_robotics.plot_control(none, none, none, 1.0)):\n"
        "    try: call()\n"
        "    except ch.ChaslesError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("True\n")
    assert done.stdout.count("needs the package 'xarray'; type pip install \".[") == 2
