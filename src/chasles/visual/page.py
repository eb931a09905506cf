"""Frame of self-contained HTML pages: style, scripts and Plotly, without network access."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from chasles._version import __version__
from chasles.base.errors import MissingExtraError
from chasles.base.writing import PAGE, path_to_write, write

# The browser itself refuses whatever would leave the page.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
)
#: Scripts of 3D scenes, in the order in which they need each other.
_SCENE = ("vectors.js", "solids.js", "meshes.js", "graphics.js", "camera.js", "gestures.js", "scene.js")


def write_page(
    path: str | PathLike[str], title: str, body: str, *, scripts: Sequence[str] = (), style: str = ""
) -> Path:
    """Write an HTML page.

    Parameters
    ----------
    path
        File to write; its folder must exist.
    title
        Title and first heading, as plain text.
    body
        HTML below the heading.
    scripts
        JavaScript at the end of the page, after Plotly and ``plots.js``, whose function ``drawPlot`` draws a figure.
    style
        CSS in addition to the common style of pages.

    Returns
    -------
    Path
        Absolute path of the file.

    Raises
    ------
    MissingExtraError
        Plotly is not installed; the page contains its code.
    ArgumentError
        The file cannot be written.
    """
    target = path_to_write(path, PAGE)
    content = f"""<main>
<h1>{html.escape(title)}</h1>
{body}
<footer>Written by Chasles {__version__}. This page is self-contained and loads nothing from a network.</footer>
</main>"""
    page = document(title, content, asset("report.css") + style, [_plotly_code(), asset("plots.js"), *scripts])
    return write(target, page)


def document(title: str, content: str, style: str, scripts: Sequence[str], policy: str = POLICY) -> str:
    """Return the text of a self-contained HTML page.

    Parameters
    ----------
    title
        Title, as plain text.
    content
        HTML of the body.
    style
        CSS.
    scripts
        JavaScript at the end of the body, one script element each.
    policy
        Content-Security-Policy of the page.
    """
    code = "\n".join(f"<script>{script}</script>" for script in scripts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
{content}
{code}
</body>
</html>
"""


def scene_script() -> str:
    """Return the JavaScript of 3D scenes."""
    return "".join(map(asset, _SCENE))


def asset(name: str) -> str:
    """Return the text of a script or style that is embedded in pages."""
    return (files("chasles.visual") / "scripts" / name).read_text(encoding="utf-8")


def _plotly_code() -> str:
    """Return Plotly's JavaScript from the installed package, without the slow import of the package."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise MissingExtraError("plotly", "plot", "a report")
    code = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    try:
        return code.read_text(encoding="utf-8")
    except OSError:
        raise MissingExtraError("plotly", "plot", "a report (the installed copy is damaged)") from None
