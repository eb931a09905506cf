"""Every function of the published package is there, with its arguments; its docstrings' examples give what they say."""

from __future__ import annotations

import inspect
import re
import textwrap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import no_plots, published

import chasles.interop.modern_robotics as ours

FUNCTIONS = {
    name: function for name, function in vars(published).items() if inspect.isfunction(function) and name[0] != "_"
}
#: Examples that end in a plot instead of an output.
SCRIPTS = {"InverseDynamicsTrajectory", "ForwardDynamicsTrajectory", "SimulateControl"}
_INPUT = re.compile(r"Example [Ii]nputs?(?: \(3 Link Robot\))?:")
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?")


def test_the_published_package_is_the_one_that_is_documented() -> None:
    assert len(FUNCTIONS) == 47


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_takes_the_arguments_of_the_original(name: str) -> None:
    theirs = list(inspect.signature(FUNCTIONS[name]).parameters)
    parameters = inspect.signature(getattr(ours, name)).parameters
    positional = [key for key, parameter in parameters.items() if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert positional == theirs
    assert name in ours.__all__


@pytest.mark.parametrize("name", sorted(ours.__all__))
def test_every_function_is_documented_with_an_example(name: str) -> None:
    documentation = inspect.getdoc(getattr(ours, name)) or ""
    assert name == "forget_robots" or ">>>" in documentation


def example(name: str) -> tuple[dict[str, Any], str]:
    """Variables of the example in the original's docstring, and the text of its output."""
    code, output = _INPUT.split(FUNCTIONS[name].__doc__ or "")[1].split("Output:")
    variables: dict[str, Any] = {"np": np}
    exec(textwrap.dedent(code), variables)
    return variables, output


def flattened(result: Any) -> np.ndarray:
    if isinstance(result, tuple | list):
        return np.concatenate([flattened(part) for part in result])
    return np.asarray(result, dtype=float).ravel()


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - SCRIPTS))
def test_examples_of_the_original_docstrings(name: str) -> None:
    variables, output = example(name)
    arguments = [variables[key] for key in inspect.signature(FUNCTIONS[name]).parameters]
    result = flattened(getattr(ours, name)(*arguments))
    output = output.replace("True", "1").replace("False", "0").split("\n\n    This")[0]
    printed = _NUMBER.findall(output)
    assert len(printed) == result.size > 0
    for value, text in zip(result, printed, strict=True):
        mantissa, _, exponent = text.partition("e")
        decimals = len(mantissa.partition(".")[2]) - int(exponent or 0)
        assert abs(value - float(text)) <= (min(1e-3, 0.5001 * 10.0**-decimals) if decimals else 1e-6)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name == "SimulateControl" else []) for name in sorted(SCRIPTS)],
)
def test_scripts_of_the_original_docstrings(name: str) -> None:
    code = textwrap.dedent(_INPUT.split(FUNCTIONS[name].__doc__ or "")[1].split("# Output")[0])
    lines = [line for line in code.splitlines() if not re.match(r"\s*(from|import) ", line)]
    outcomes = []
    # Differences of differences, which the scripts take of the trajectory, multiply its last digit by 1e5.
    functions = {name: getattr(ours, name) for name in ours.__all__}
    same_trajectory = SimpleNamespace(**functions | {"JointTrajectory": published.JointTrajectory})
    for module in (same_trajectory, published):
        variables: dict[str, Any] = {"np": np, "mr": module}
        with no_plots():
            exec("\n".join(lines), variables)
        outcomes.append({key: variables[key] for key in ("taumat", "thetamat", "dthetamat") if key in variables})
    assert outcomes[0].keys() == outcomes[1].keys()
    theta = np.abs(outcomes[1]["thetamat"])
    exact = ((theta == 0.0) | (theta > 1e-6)).all(axis=1)  # the original leaves out smaller rotations
    assert exact.mean() > 0.98
    for key, theirs in outcomes[1].items():
        np.testing.assert_allclose(outcomes[0][key][exact], theirs[exact], rtol=0, atol=1e-10 * np.abs(theirs).max())
