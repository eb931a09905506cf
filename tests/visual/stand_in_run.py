"""Runs to show: a small stand-in of exactly the form that `chasles.simulate` returns, for any robot."""

from __future__ import annotations

import numpy as np
import xarray

import chasles as ch


def stand_in(robot: ch.Robot, runs: int | None = None, samples: int = 201) -> xarray.Dataset:
    """A smooth motion with a small error, as a dataset."""
    time = np.linspace(0.0, 1.0, samples)
    x = time[:, None]
    reference = robot.home + (x**3 * (10 - 15 * x + 6 * x**2)) * np.linspace(0.4, 0.8, robot.n)
    error = 1e-3 * np.sin(np.pi * x) * np.arange(1, robot.n + 1)
    tau = 5.0 * np.cos(3.0 * x + np.arange(robot.n))
    dims: list[str] = []
    coordinates: dict[str, object] = {}
    if runs is not None:
        dims = ["run"]
        scale = np.linspace(1.0, 2.0, runs)[:, None, None]
        error, tau, reference = error * scale, tau * scale, np.broadcast_to(reference, (runs, *reference.shape))
        coordinates["payload.mass"] = ("run", np.linspace(0.0, 5.0, runs))
    axes = [*dims, "time", "joint"]
    toml = ch.model.to_toml(robot.description, mesh_folders=True)
    units = ["m" if joint.kind == "prismatic" else "rad" for joint in robot.description.coordinates]
    return xarray.Dataset(
        {"q": (axes, reference - error), "q_reference": (axes, reference), "error": (axes, error), "tau": (axes, tau)},
        coords={"time": time, "joint": list(robot.joint_names), "unit": ("joint", units), **coordinates},
        attrs={"robot": robot.name, "robot_toml": toml, "controller": "computed torque", "period": 1e-3},
    )
