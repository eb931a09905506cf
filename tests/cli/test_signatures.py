"""Options of commands are those of the Python functions that they call, read without importing these."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest
import typer

import chasles as ch
from chasles.cli.application import application
from chasles.cli.commands import excite, identify, inverse_kinematics, optimize, payload, simulate
from chasles.cli.signatures import takes
from chasles.identification import identify_payload
from chasles.inverse_kinematics import InverseKinematics

DERIVED = [
    (excite.excite_command, ch.excite, ("period", "harmonics", "starts", "time_limit", "seed")),
    (identify.identify_command, ch.Log, ("sample_period",)),
    (identify.identify_command, ch.identify, ("cutoff",)),
    (payload.payload_command, identify_payload, ("frame", "cutoff")),
    (payload.payload_command, ch.Log, ("sample_period",)),
    (simulate.simulate, ch.simulate, ("period",)),
    (optimize.optimize, ch.OptimalControl.solve, ("iterations",)),
    (inverse_kinematics.inverse_kinematics, InverseKinematics.__call__, ("target", "limits")),
]


@pytest.mark.parametrize(("command", "function", "names"), DERIVED)
def test_derived_options_have_the_types_and_defaults_of_python(command, function, names):
    known = inspect.signature(function).parameters
    options = inspect.signature(command).parameters
    for name in names:
        hint, option = get_args(options[name].annotation)
        (kind, _) = get_args(hint)
        assert options[name].default is None
        annotation = eval(known[name].annotation, function.__globals__ if inspect.isfunction(function) else {})
        assert kind in (annotation, *get_args(annotation))
        default = known[name].default
        shown = "limits" if default is True else default
        assert option.help.endswith(f"[default: {shown}].") or default is None


def test_help_shows_derived_options_and_every_option_is_described():
    for name, command in typer.main.get_command(application).commands.items():
        for parameter in command.params:
            assert parameter.name == "help" or getattr(parameter, "help", None), (name, parameter.name)


def test_parameters_that_no_text_can_be_are_refused():
    with pytest.raises(TypeError, match="has no parameter 'perod'; it has robot, period"):
        takes("identification.excitation:excite", "perod")
    with pytest.raises(TypeError, match=r"parameter 'regions' of .* is no number"):
        takes("identification.excitation:excite", "regions")
    with pytest.raises(TypeError, match="there is no 'exite'"):
        takes("identification.excitation:exite", "period")
