"""The command line: all commands, errors as one line, `--debug` and `--version`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from chasles._version import __version__
from chasles.base.errors import ChaslesError
from chasles.cli.commands import (
    cache,
    check,
    convert,
    demo,
    excite,
    identify,
    info,
    inverse_kinematics,
    names,
    optimize,
    payload,
    simulate,
    study,
    view,
)
from chasles.cli.output import errors, show_warning, with_options
from chasles.cli.usage import PlainCommand, PlainGroup


class PlainErrors(PlainGroup):
    """Group of commands that shows a `ChaslesError` as one plain line, with exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command and report its errors and warnings."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = show_warning
                return super().invoke(ctx)
        except ChaslesError as error:
            if ctx.params.get("debug"):
                raise
            errors.print(f"Error: {with_options(error)}", style="red", markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(2) from None


application = typer.Typer(
    cls=PlainErrors,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: **chasles demo**",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"chasles {__version__}")
        raise typer.Exit


@application.callback()
def chasles(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show full tracebacks of errors; give it before the command.")
    ] = False,
) -> None:
    """Robot mechanics and control: inspect, view, convert, simulate and identify robots, and compare controllers."""


_COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "robots": info.robots,
    "info": info.info,
    "view": view.view,
    "check": check.check,
    "convert": convert.convert,
    "excite": excite.excite_command,
    "identify": identify.identify_command,
    "ik": inverse_kinematics.inverse_kinematics,
    "laws": names.laws,
    "parameters": names.parameters,
    "optimize": optimize.optimize,
    "plot": view.plot,
    "payload": payload.payload_command,
    "simulate": simulate.simulate,
    "study": study.study,
}
for _name, _function in _COMMANDS.items():
    application.command(_name, cls=PlainCommand)(_function)
application.add_typer(cache.cache, name="cache")
