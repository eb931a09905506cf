"""`chasles view`: an interactive page of a robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chasles.cli.options import RobotArgument
from chasles.cli.output import results
from chasles.robot import load
from chasles.visual.view.views import open_live, write_view


def view(
    robot: RobotArgument,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", "-o", help="Write a self-contained page to this file instead.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Show a robot in the browser: move joints or tool, and see frames, torques and the velocity ellipsoid.

    The page is served to this machine only (127.0.0.1), until it is closed or Ctrl-C is pressed. With **--out** the
    page is a file that works without Chasles and without a network.
    """
    arm = load(robot)
    if output is not None:
        page = write_view(arm, arm.home, output, None)
        results().print(f"Written: {page}", markup=False, highlight=False, soft_wrap=True)
        return
    live = open_live(arm, arm.home, None, browser)
    try:
        results().print(f"Open at {live.url}", markup=False, highlight=False, soft_wrap=True)
        results().print("Close the page or press Ctrl-C to stop.")
        live.wait()
    except KeyboardInterrupt:  # before waiting
        live.close()
