"""How commands are typed: help without the types of flags, and usage errors that say what to type instead."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from chasles.base.errors import nearest

_FALSE = ("false", "no", "off", "0")
_TRUTHS = ("true", "yes", "on", "1", *_FALSE)
_EXAMPLE = re.compile(r"^    (chasles .*)$", re.MULTILINE)


class PlainGroup(TyperGroup):
    """Group of commands whose flags have no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options of the group itself."""
        return _without_types_of_flags(super().get_params(ctx))


class PlainCommand(TyperCommand):
    """Command whose flags have no type, and whose usage errors show an example."""

    def __init__(self, *arguments: Any, help: str | None = None, **keywords: Any) -> None:
        text = inspect.cleandoc(help or "")
        self.examples = tuple(_EXAMPLE.findall(text))
        super().__init__(*arguments, help=_EXAMPLE.sub(r"\1", text), **keywords)  # a block of code has wider margins

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the arguments and options."""
        return _without_types_of_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what was typed; errors say what is wrong with it and what to type instead."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = self._reason(error)
            raise
        except typer.TyperException as error:
            if hasattr(error, "message"):
                error.message = self._value_of_flag(ctx, typed) or error.message
            raise

    def _reason(self, error: typer.BadParameter) -> str:
        cause = error.__cause__
        if cause is None:  # an argument or an option is missing
            of_command = [example for example in self.examples if example.startswith(f"chasles {self.name} ")]
            return error.message or (f"For example: {of_command[0]}" if of_command else "")
        return _in_words(next(iter(cause.errors())), error.message) if hasattr(cause, "errors") else error.message

    def _value_of_flag(self, ctx: Any, typed: Sequence[str]) -> str | None:
        """Raise a usage error for a value given to a flag."""
        flags = {name: option for option in self.get_params(ctx) if _is_flag(option) for name in option.opts}
        for name, value in pairwise(typed):
            if name in flags and value.lower() in _TRUTHS:
                if flags[name].secondary_opts and value.lower() in _FALSE:
                    return f"{name} takes no value: type {flags[name].secondary_opts[0]} instead"
                return f"{name} takes no value: leave '{value}' out, or the option too if you do not want it"
        return None


def _in_words(reason: dict[str, Any], message: str) -> str:
    """Return why a text is not a value of an option."""
    kind, value = reason["type"], reason["input"]
    if kind == "float_parsing":
        return f"'{value}' is not a number"
    if kind.startswith("int_"):
        return f"'{value}' is not a whole number"
    if kind == "value_error":
        choices = re.findall(r"'([^']*)'", message.partition(" is not one of ")[2])
        close = nearest(str(value), choices)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        return f"'{value}' is none of {', '.join(choices)}.{hint}" if choices else message.removeprefix("Value error, ")
    return message


def _is_flag(parameter: Any) -> bool:
    return isinstance(parameter, TyperOption) and parameter.is_bool_flag


def _without_types_of_flags(parameters: list[Any]) -> list[Any]:
    """Return parameters, with no type shown for flags."""
    for parameter in parameters:
        if _is_flag(parameter):
            parameter.metavar = ""
    return parameters
