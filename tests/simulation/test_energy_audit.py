from __future__ import annotations

import numpy as np
import pytest
import xarray

import chasles as ch
from chasles.simulation.energy_audit import energy_audit

T = np.linspace(0.0, 1.0, 11)
ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.4)


def smooth_plant() -> ch.Plant:
    """Everything that has no corners."""
    push = ch.ExternalWrench("push", lambda t, _: np.array([0.0, 0.0, 1.0, 20.0 * t, 5.0, 0.0]))
    return ch.Plant(
        ARM.with_friction(viscous=0.3),
        friction=ch.Friction(
            2, coulomb=1.0, breakaway=1.5, stribeck_velocity=1.0, smoothing_velocity=1.0, position_amplitude=0.3
        ),
        motors=ch.Motors(
            2,
            resistance=2.0,
            inductance=0.05,
            torque_constant=0.05,
            back_emf_constant=0.06,
            gear_ratio=50.0,
            rotor_inertia=1e-5,
            mode="voltage",
            compensate_back_emf=True,
        ),
        elastic_joints=ch.ElasticJoints(2, stiffness=500.0, damping=2.0, rotor_inertia=0.1),
        wrenches=[push],
    )


def closed_books(plant: ch.Plant, **options: object) -> ch.simulation.EnergyAudit:
    controller = ch.PDGravity(ARM, kp=40.0, kd=4.0)
    return ch.simulate(
        plant, controller, MOTION, period=0.01, record=ch.Recording(energies=True), **options
    ).energy_audit(electrical=plant.motors is not None)


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("euler", 1), ("semi-implicit-euler", 1)])
def test_the_residual_falls_with_the_step_at_the_integrators_order(integrator: str, order: int) -> None:
    plant = smooth_plant()
    residuals = [
        float(closed_books(plant, integrator=ch.integrators.Steps(integrator, steps)).residual) for steps in (8, 16, 32)
    ]
    rates = np.log2(np.array(residuals[:-1]) / residuals[1:])
    assert rates[-1] == pytest.approx(order, abs=0.35), (residuals, rates)


def test_the_books_of_a_variable_step_close_to_its_tolerance() -> None:
    audit = closed_books(smooth_plant(), integrator=ch.integrators.Within("DOP853", rtol=1e-10, atol=1e-12))
    assert float(audit.relative_residual) < 1e-9
    assert float(audit.balance.loss.isel(time=-1).min()) > 0.0


@pytest.mark.parametrize("varied", [False, True])
def test_the_books_know_friction_of_the_load(varied: bool) -> None:
    """Gears lose a share of what they transmit while the arm moves, not of what holds it at rest."""
    share = 0.0 if varied else 0.25
    plant = ch.Plant(ARM.with_friction(viscous=0.1, load=share, load_velocity=0.5))
    vary = {"joints.joint1.load_friction": 0.25} if varied else None
    audit = closed_books(plant, vary=vary, integrator=ch.integrators.Within("DOP853", rtol=1e-10, atol=1e-12))
    assert float(np.max(audit.relative_residual)) < 1e-9
    lost = closed_books(ch.Plant(ARM.with_friction(viscous=0.1))).balance.loss.isel(time=-1).sum()
    assert float(audit.balance.loss.isel(time=-1).sum()) > 1.05 * float(lost)


@pytest.mark.parametrize("law", ["spring-damper", "hunt-crossley"])
def test_the_books_of_an_arm_that_falls_on_the_floor(law: str) -> None:
    floor = ch.ContactPlane(
        "floor",
        "tool",
        point=[0, -0.2, 0],
        normal=[0, 1, 0],
        stiffness=2e3,
        damping=30.0,
        friction_coefficient=0.4,
        slip_velocity=0.05,
        law=law,
    )
    plant = ch.Plant(ARM, contacts=[floor])
    rest = ch.PointToPoint([0.0, 0.0], [0.0, 0.0], duration=0.6)
    runs = [
        ch.simulate(
            plant,
            lambda now: 0.0 * now.q,
            rest,
            record=ch.Recording(energies=True),
            integrator=ch.integrators.Steps("rk4", steps),
        )
        for steps in (1, 4)
    ]
    coarse, fine = (run.energy_audit() for run in runs)
    assert float(fine.relative_residual) < min(1e-5, 0.5 * float(coarse.relative_residual))
    at_end = fine.balance.isel(time=-1)
    assert float(at_end.loss.sel(sink="contacts.floor")) > 1.0
    assert float(at_end.stored.sel(store="contacts.floor")) > 0.0
    assert float(at_end.work.sum()) == 0.0


def test_a_payload_brings_and_takes_its_energy() -> None:
    """Picked up at rest at one height and put down at rest at another, it has taken m g h."""
    box = ch.PickedPayload("box", 2.0, pick_time=0.0, put_time=1.5)
    model = ARM.with_payload(2.0)
    way = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    run = ch.simulate(
        ch.Plant(ARM, payloads=[box]),
        ch.ComputedTorque(model, kp=400.0, kd=40.0),
        way,
        duration=1.6,
        record=ch.Recording(energies=True),
    )
    audit = run.energy_audit()
    assert float(audit.relative_residual) < 1e-8
    before, after = (audit.balance.work.sel(source="payloads").sel(time=t, method="nearest") for t in (1.4, 1.6))
    height = float(np.asarray(ARM.forward_kinematics(run.q.sel(time=1.5, method="nearest").values))[1, 3])
    assert float(after - before) == pytest.approx(-2.0 * 9.80621 * height, rel=1e-4)


def test_a_batch_is_audited_run_by_run() -> None:
    motors = ch.Motors(2, resistance=1.0, torque_constant=0.05, gear_ratio=50.0)
    plant = ch.Plant(ARM, motors=motors)
    run = ch.simulate(
        plant,
        ch.PDGravity(ARM, kp=400.0, kd=40.0),
        MOTION,
        record=ch.Recording(energies=True),
        vary={"motors.resistance": [[1.0, 1.0], [2.0, 2.0]]},
    )
    audit = run.energy_audit(electrical=True)
    assert audit.residual.shape == (2,)
    assert (audit.relative_residual < 1e-6).all()
    heat = audit.balance.loss.sel(sink="motors").isel(time=-1).values
    assert heat[1] == pytest.approx(2.0 * heat[0], rel=1e-9)  # the same currents through twice the resistance
    assert heat[0] > 1.0


def ledger(runs: bool = False, **changes: np.ndarray) -> xarray.Dataset:
    """Books that balance: the motors give 5 t J, friction takes 2 t, the rest is stored; all from other zeros."""
    values = {
        "energy.kinetic": 1.0 + 2.0 * T,
        "energy.potential": 7.0 + T**2,
        "work.motors": 4.0 + 5.0 * T,
        "work.wrenches.push": T**2,
        "loss.robot_friction": 3.0 * T,
        "electrical.work": 8.0 * T,
        "electrical.loss": 2.0 * T,
        "energy.motors": T,
    } | changes
    dims, shape = (("run", "time"), (2, 11)) if runs else (("time",), (11,))
    return xarray.Dataset(
        {name: (dims, np.broadcast_to(value, shape)) for name, value in values.items()},
        coords={"time": T, **({"payload.mass": ("run", [1.0, 2.0])} if runs else {})},
        attrs={"robot": "somebody", "controller": "something"},
    )


@pytest.mark.parametrize("electrical", [False, True])
@pytest.mark.parametrize("runs", [False, True])
def test_books_that_balance(runs: bool, electrical: bool) -> None:
    audit = energy_audit(ledger(runs), electrical=electrical)
    np.testing.assert_allclose(audit.residual, 0.0, atol=1e-14)
    at_end = audit.balance.isel(time=-1, run=0) if runs else audit.balance.isel(time=-1)
    gained = float(at_end.work.sel(source="electrical" if electrical else "motors"))
    assert gained == pytest.approx(8.0 if electrical else 5.0)
    assert float(at_end.stored.sum()) == pytest.approx(4.0 if electrical else 3.0)
    np.testing.assert_allclose(audit.turnover, 0.5 * (9 + 4 + 5) if electrical else 0.5 * (6 + 3 + 3))
    assert audit.balance.stored.attrs["units"] == "J"


def test_an_error_in_the_books_is_seen() -> None:
    wrong = 3.0 * T
    wrong[4] += 0.25
    audit = energy_audit(ledger(**{"loss.robot_friction": wrong}))
    assert audit.residual == pytest.approx(0.25)
    assert audit.relative_residual == pytest.approx(0.25 / 6.0)
    assert int(np.argmax(np.abs(audit.balance.residual.values))) == 4
    assert "largest residual 0.25 J" in audit.summary()


def test_books_in_words_and_pictures() -> None:
    audit = energy_audit(ledger(runs=True))
    lines = audit.summary().splitlines()
    assert [line.split()[2] for line in lines[:-1]] == ["motors", "wrenches.push", "robot", "kinetic", "potential"]
    assert audit.balance["payload.mass"].values.tolist() == [1.0, 2.0]
    figure = audit.plot()
    assert len({trace.yaxis for trace in figure.data}) == 4
    shown = [trace.name for trace in figure.data if trace.showlegend]
    assert shown == ["motors", "wrenches.push", "kinetic", "potential", "robot friction", "residual"]


def test_runs_that_diverged_have_no_residual() -> None:
    kinetic = np.array([1.0 + 2.0 * T, np.where(T < 0.5, 1.0 + 2.0 * T, np.nan)])
    audit = energy_audit(ledger(runs=True, **{"energy.kinetic": kinetic}))
    assert audit.residual[0] == pytest.approx(0.0, abs=1e-14)
    assert np.isnan(audit.residual[1])


def test_books_without_losses() -> None:
    run = ledger().drop_vars(["loss.robot_friction", "electrical.work", "electrical.loss", "energy.motors"])
    run["work.motors"] = 2.0 * run["time"]
    audit = energy_audit(run)
    assert audit.residual == pytest.approx(0.0, abs=1e-14)
    assert audit.plot().data
    with pytest.raises(ch.ChaslesError, match="no motors"):
        energy_audit(run, electrical=True)


def test_a_run_without_audit() -> None:
    with pytest.raises(ch.ChaslesError, match="energies=True"):
        energy_audit(ledger().drop_vars(["energy.kinetic", "energy.potential", "energy.motors"]))
