"""Pictures of the workspace of parallel robots."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.base import verbs
from chasles.machines.parallel.limits import SENTENCES
from chasles.machines.parallel.workspace import WorkspaceMap
from chasles.visual.encoding import as_plotly, plot_text, typed_array
from chasles.visual.panels import COLORS

_SIZE = 560
_SINGULAR_COLOR = "#c2402f"


@verbs.plot.register(WorkspaceMap)
def workspace_plot(workspace: WorkspaceMap) -> Any:
    """Draw a map of the workspace: dexterity where poses keep the limits, the broken limit elsewhere, singular curves.

    Returns
    -------
    plotly.graph_objects.Figure
        Colours are the dexterity, from 0 at singular poses to 1. Red lines are singular poses, where the determinant of
        the Jacobian changes its sign.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.

    Examples
    --------
    >>> import chasles as ch, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> stewart = ch.machines.StewartPlatform(rng.normal(size=(6, 3)), rng.normal(size=(6, 3)))
    >>> [trace.type for trace in ch.machines.workspace_map(stewart, samples=5).plot().data]
    ['heatmap', 'heatmap', 'contour']
    """
    return as_plotly(workspace_figure(workspace))


def workspace_figure(workspace: WorkspaceMap) -> dict[str, Any]:
    """Map of the workspace in plain dictionaries, with "data" and "layout" of a plotly figure."""
    ok, broken = workspace.check.ok, workspace.check.broken
    scales = [180.0 / np.pi if direction.startswith("r") else 1.0 for direction in workspace.directions]
    grid = {
        "x": typed_array(workspace.first * scales[0]),
        "y": typed_array(workspace.second * scales[1]),
    }
    reason = np.where(ok, np.nan, np.argmax(broken, axis=0))
    steps = [
        [edge, COLORS[k]] for k in range(len(SENTENCES)) for edge in (k / len(SENTENCES), (k + 1) / len(SENTENCES))
    ]
    words = np.array([*SENTENCES, ""])[np.where(ok, len(SENTENCES), np.argmax(broken, axis=0))]
    limits = {
        "type": "heatmap",
        **grid,
        "z": typed_array(reason.T),
        "zmin": -0.5,
        "zmax": len(SENTENCES) - 0.5,
        "colorscale": steps,
        "showscale": False,
        "opacity": 0.25,
        "text": words.T.tolist(),
        "hovertemplate": "%{text}<extra></extra>",
    }
    dexterity = {
        "type": "heatmap",
        **grid,
        "z": typed_array(np.where(ok, workspace.singularity.dexterity, np.nan).T),
        "colorscale": "Viridis",
        "zmin": 0.0,
        "colorbar": {"title": {"text": "dexterity"}},
        "hovertemplate": "dexterity %{z:.3g}<extra></extra>",
    }
    singular = {
        "type": "contour",
        **grid,
        "z": typed_array(workspace.singularity.determinant.T),
        "contours": {"coloring": "lines", "start": 0.0, "end": 0.0, "size": 1.0},
        "colorscale": [[0.0, _SINGULAR_COLOR], [1.0, _SINGULAR_COLOR]],
        "line": {"width": 2},
        "showscale": False,
        "hoverinfo": "skip",
    }
    titles = [f"{name[-1]} rotation, °" if len(name) == 2 else f"{name}, m" for name in workspace.directions]
    layout = {
        "title": {"text": plot_text(f"{workspace.name}: {100.0 * workspace.share:.1f} % of the poses keep all limits")},
        "width": _SIZE + 120,
        "height": _SIZE,
        "xaxis": {"title": {"text": titles[0]}},
        "yaxis": {"title": {"text": titles[1]}},
        "template": "plotly_white",
    }
    return {"data": [limits, dexterity, singular], "layout": layout}
