"""`chasles view`: a robot on a page on which it can be moved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chasles.cli.output import results
from chasles.robot import load
from chasles.visual.view.views import open_live, write_view


def view(
    robot: Annotated[str, typer.Argument(help="Name of a robot that comes with Chasles, or path of its file.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write a page that stands alone to this file instead.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Show a robot in the browser: move it by sliders or by its tool, see its frames, torques and velocity ellipsoid.

    The page is served on 127.0.0.1, to this machine alone, until it is closed or Ctrl-C is pressed. With **--output**
    it becomes a file that needs neither Chasles nor a network.
    """
    arm = load(robot)
    if output is not None:
        page = write_view(arm, arm.home, output, None)
        results().print(f"Written: {page}", markup=False, highlight=False, soft_wrap=True)
        return
    live = open_live(arm, arm.home, None, browser)
    try:
        results().print(f"Open at {live.url}", markup=False, highlight=False, soft_wrap=True)
        results().print("Close the page or press Ctrl-C to end.")
        live.wait()
    except KeyboardInterrupt:  # before it waited
        live.close()
