"""Options of commands from the Python functions that they call: names, types, defaults and help are those of Python."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Annotated, Any

import typer

_KINDS: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, str)}
_DESCRIPTION = re.compile(r"^(\w[\w, ]*)\n((?:    .*\n|\n)+)", re.MULTILINE)


def takes(qualified_name: str, *names: str, **helps: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command parameters of a Python function as options, which the command gets as keywords.

    Types, defaults and the first sentence of each description are read from the function's text: importing it would
    cost more than a shell can wait for that completes a word. An option that is not typed is left to the function.

    Parameters
    ----------
    qualified_name
        Module within `chasles` and the name of the function or class, such as ``"identification.excitation:excite"``.
    names
        Names of parameters that are numbers, truth values or texts.
    helps
        Further names, with a description for the command line in place of the docstring's.

    Raises
    ------
    TypeError
        The function has no such parameter, or no text can be its value.

    Examples
    --------
    >>> @takes("identification.excitation:excite", "period", seed="Seed of the random starts.")
    ... def plan(robot: str, **search: float) -> None:
    ...     print(robot, search)
    >>> list(inspect.signature(plan).parameters)
    ['robot', 'period', 'seed']
    >>> plan("panda", period=5.0, seed=None)
    panda {'period': 5.0}
    """
    options = {name: _option(qualified_name, name, helps.get(name)) for name in (*names, *helps)}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: Any, **keywords: Any) -> None:
            command(*arguments, **{k: value for k, value in keywords.items() if k not in options or value is not None})

        signature = inspect.signature(command, eval_str=True)
        typed = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.name not in options and parameter.kind is not parameter.VAR_KEYWORD
        ]
        derived = [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation)
            for name, annotation in options.items()
        ]
        update_wrapper(run, command)
        del vars(run)["__wrapped__"]  # whose signature would be shown
        vars(run)["__signature__"] = signature.replace(parameters=[*typed, *derived])
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in [*typed, *derived]}
        return run

    return decorate


def _option(qualified_name: str, name: str, help: str | None) -> Any:
    """Return the annotation of an option: its type, and its description with the default."""
    parameters, descriptions = _declared(qualified_name)
    if name not in parameters:
        raise TypeError(f"{qualified_name} has no parameter '{name}'; it has {', '.join(parameters)}")
    kind, default = parameters[name]
    if kind is None:
        raise TypeError(f"parameter '{name}' of {qualified_name} is no number, truth value or text")
    text = help or descriptions.get(name, "")
    if kind is bool:
        text = f"{text.removesuffix('.')} [default: {'' if default else 'no-'}{name.replace('_', '-')}]."
    elif default is not None and "[default" not in text:
        text = f"{text.removesuffix('.')} [default: {default}]."
    return Annotated[kind | None, typer.Option(help=text)]


@cache
def _declared(qualified_name: str) -> tuple[dict[str, tuple[Any, Any]], dict[str, str]]:
    """Return types and defaults of a function's parameters, and a description of each."""
    module, _, path = qualified_name.partition(":")
    source = pkgutil.get_data("chasles", f"{module.replace('.', '/')}.py") or b""
    documented: ast.Module | ast.ClassDef | ast.FunctionDef = ast.parse(source)
    for name in path.split("."):
        documented = _defined(documented, name, qualified_name)
    function = (
        documented if isinstance(documented, ast.FunctionDef) else _defined(documented, "__init__", qualified_name)
    )
    assert isinstance(function, ast.FunctionDef)
    declared = function.args
    defaults = [*[None] * (len(declared.args) - len(declared.defaults)), *declared.defaults, *declared.kw_defaults]
    parameters = {
        parameter.arg: (_kind(parameter.annotation), default.value if isinstance(default, ast.Constant) else None)
        for parameter, default in zip([*declared.args, *declared.kwonlyargs], defaults, strict=True)
    }
    return parameters, descriptions_of(ast.get_docstring(documented) or "")


def _defined(
    within: ast.Module | ast.ClassDef | ast.FunctionDef, name: str, qualified_name: str
) -> ast.ClassDef | ast.FunctionDef:
    """Return the class or function of this name."""
    for statement in within.body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef) and statement.name == name:
            return statement
    raise TypeError(f"chasles.{qualified_name}: there is no '{name}'")


def _kind(annotation: ast.expr | None) -> Any:
    """Return the first type of an annotation that a text on the command line can be read as, or None."""
    if isinstance(annotation, ast.BinOp):
        return _kind(annotation.left) or _kind(annotation.right)
    return _KINDS.get(annotation.id) if isinstance(annotation, ast.Name) else None


def descriptions_of(docstring: str) -> dict[str, str]:
    r"""Return what a docstring in NumPy's style says first about each parameter, and its default, as plain text.

    Examples
    --------
    >>> period = "Duration, s; at least one sample. Default: as ``limits`` allow."
    >>> descriptions_of(f"Plan a motion.\n\nParameters\n----------\nperiod\n    {period}\n")
    {'period': 'Duration, s [default: as limits allow].'}
    """
    section = inspect.cleandoc(docstring).partition("Parameters\n----------\n")[2]
    section = re.split(r"^\w+\n-+\n", section, flags=re.MULTILINE)[0] + "\n"
    descriptions: dict[str, str] = {}
    for names, words in _DESCRIPTION.findall(section):
        text = " ".join(words.split()).replace("`", "")
        first = re.split(r"[.;] |\.$", text)[0]
        default = re.search(r"[;.] [Dd]efault:? ([^;.(]+)", text)
        description = f"{first} [default: {default[1].strip()}]." if default else f"{first}."
        descriptions |= dict.fromkeys(names.split(", "), description)
    return descriptions
