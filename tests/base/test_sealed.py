"""Sealed objects refuse assignments and say how to make another."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles import control
from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed, SealedError
from chasles.trajectories import JointTrajectory


class Gains(Sealed):
    def __init__(self, kp: float, kd: float = 0.0) -> None:
        self.kp = kp
        self.kd = kd

    def with_damping(self, kd: float) -> Gains:
        return Gains(self.kp, kd)

    @property
    def damping(self) -> float:
        return self.kd

    @property
    def ratio(self) -> float:
        return self.kd / self.kp

    @cached_property
    def product(self) -> float:
        return self.kp * self.kd


class Scheduled(Gains):
    """What a user writes: attributes of its own, some assigned after the base's constructor is over."""

    def __init__(self, kp: float, table: list[float]) -> None:
        self.table = table
        super().__init__(kp)
        self.count = len(table)


@dataclass(unsafe_hash=True)
class Point(Sealed):
    x: float
    y: float = 0.0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kp", r"^a Gains never changes, so its kp cannot be assigned; make another one: Gains\(kp=…\)$"),
        ("damping", r"so its damping cannot be assigned; use with_damping\(…\), which returns another Gains$"),
        ("ratio", r"so its ratio cannot be assigned$"),
        ("kpp", r"has no attribute 'kpp'; did you mean 'kp'\?$"),
        ("nothing_like_it", r"has no attribute 'nothing_like_it'$"),
    ],
)
def test_an_assignment_says_what_to_do_instead(name: str, said: str) -> None:
    gains = Gains(2.0, 1.0)
    with pytest.raises(SealedError, match=said):
        setattr(gains, name, 3.0)
    assert vars(gains) == {"kp": 2.0, "kd": 1.0}


def test_deletion_is_refused() -> None:
    gains = Gains(2.0)
    with pytest.raises(SealedError, match="kp"):
        del gains.kp
    assert gains.kp == 2.0


def test_constructors_of_subclasses_assign_before_and_after_the_base() -> None:
    law: Any = Scheduled(2.0, [1.0, 2.0])
    assert (law.kp, law.table, law.count) == (2.0, [1.0, 2.0], 2)
    with pytest.raises(SealedError, match=r"an? Scheduled .*table=…"):
        law.table = []


def test_computed_on_demand_still_works() -> None:
    gains = Gains(2.0, 3.0)
    assert gains.product == 6.0
    assert "product" in vars(gains)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_and_pickles_are_sealed(copied: Any) -> None:
    same = copied(Gains(2.0, 3.0))
    assert vars(same) == {"kp": 2.0, "kd": 3.0}
    with pytest.raises(SealedError):
        same.kp = 5.0


def test_dataclasses_are_sealed() -> None:
    point = Point(1.0)
    assert point == Point(1.0)
    assert hash(point) == hash(Point(1.0))
    with pytest.raises(SealedError, match=r"Point\(x=…\)"):
        point.x = 2.0


def test_a_constructor_that_fails_raises_its_own_error_and_signatures_stay() -> None:
    with pytest.raises(TypeError, match="kp"):
        Gains()  # type: ignore[call-arg]
    assert list(inspect.signature(Scheduled).parameters) == ["kp", "table"]
    assert list(inspect.signature(ch.Robot).parameters) == ["description"]


def test_members_that_a_user_misspells_or_forgets_are_named() -> None:
    class Slope(JointTrajectory):
        n = 1
        knots = np.array([0.0, 1.0])

        def derivative(self, t):
            return (t[..., None],) * 4

    class Endless(JointTrajectory):
        n = 1

        def derivatives(self, t):
            return (t[..., None],) * 4

    class Assigned(ch.Controller):
        def __init__(self) -> None:
            self.memmory = {"integral": np.zeros(2)}

        def law(self, now):
            return -now.q

    class Sag(ch.Friction):
        def torqe(self, q, qd, parameters=None):
            return qd

    for make, message in (
        (Slope, "Slope defines 'derivative'; did you mean 'derivatives'?"),
        (Endless, "Endless does not define knots, as a JointTrajectory must"),
        (Assigned, "Assigned defines 'memmory'; did you mean 'memory'?"),
        (lambda: Sag(2), "Sag defines 'torqe'; did you mean 'torque'?"),
    ):
        with pytest.raises(ArgumentError, match=re.escape(message)):
            make()


def test_nothing_of_ours_looks_misspelt_in_a_users_subclass() -> None:
    arm = ch.load("planar2r")

    def mine(kind: type) -> type:
        return type("Mine", (kind,), {"note": "a member of its own"})

    path = ch.StraightLine(np.eye(4), np.diag([1.0, -1.0, -1.0, 1.0]), duration=1.0)
    made = [
        mine(ch.Robot)(arm.description),
        mine(ch.PointToPoint)([0.0], [1.0], duration=1.0),
        mine(ch.QuinticSpline)([0.0, 1.0], [[0.0], [1.0]]),
        mine(ch.StraightLine)(np.eye(4), np.eye(4), duration=1.0),
        mine(ch.Friction)(2),
        mine(ch.Motors)(2),
        mine(ch.ElasticJoints)(2, stiffness=1.0, rotor_inertia=1.0),
        mine(ch.Sensors)(2),
        mine(ch.BaseMotion)(path),
        mine(ch.PickedPayload)("box", 1.0),
        mine(ch.ContactPlane)("floor", "tool", point=[0, 0, 0], normal=[0, 0, 1], stiffness=1.0),
        mine(ch.ExternalWrench)("push", times=[0.0], samples=np.zeros((1, 6))),
        mine(ch.Plant)(arm),
        mine(control.PD)(arm, kp=1.0, kd=1.0),
        mine(control.PID)(arm, kp=1.0, ki=1.0, kd=1.0),
        mine(control.PDGravity)(arm, kp=1.0, kd=1.0),
        mine(ch.ComputedTorque)(arm, kp=1.0, kd=1.0),
        mine(control.SlotineLi)(arm, rate=1.0, damping=1.0, adaptation=1.0),
    ]
    assert all(thing.note for thing in made)
