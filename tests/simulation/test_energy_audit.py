from __future__ import annotations

import numpy as np
import pytest
import xarray

import chasles as ch
from chasles.simulation.energy_audit import energy_audit

T = np.linspace(0.0, 1.0, 11)


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
    assert "residual at most 0.25 J" in audit.summary()


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
    with pytest.raises(ch.ChaslesError, match="audit=True"):
        energy_audit(ledger().drop_vars(["energy.kinetic", "energy.potential", "energy.motors"]))
