"""Pages of robots inside other pages: in notebooks, with or without a live link to Python."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import import_extra
from chasles.engine.validators import reals

HEIGHT = 560  # pixels

#: Shows the page in a frame, and passes configurations on: a message holds ``{chasles: {q, waypoints}}``.
_WIDGET = """
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.srcdoc = model.get("page");
  frame.style.cssText = "width: 100%; box-sizing: border-box; border: 1px solid #8884; border-radius: 8px;";
  frame.style.height = `${model.get("height")}px`;
  frame.title = "robot";
  el.append(frame);
  const hear = event => {
    if (event.source !== frame.contentWindow || !event.data?.chasles) return;
    model.set("q", event.data.chasles.q);
    model.set("waypoints", event.data.chasles.waypoints);
    model.save_changes();
  };
  window.addEventListener("message", hear);
  model.on("change:q", () => frame.contentWindow?.postMessage({ chasles: { q: model.get("q") } }, "*"));
  return () => window.removeEventListener("message", hear);
}
export default { render };
"""


class InlineView:
    """Page of a robot that notebooks show in place, also after their export to HTML.

    Parameters
    ----------
    page
        Text of the page.
    """

    def __init__(self, page: str) -> None:
        self.page = page

    def _repr_html_(self) -> str:
        return framed(self.page)

    def __repr__(self) -> str:
        return f"<InlineView, {len(self.page) / 1e3:.0f} kB>"


def framed(page: str) -> str:
    """Return an HTML element that shows a whole page.

    Examples
    --------
    >>> framed("<p>a</p>").split(" style")[0]
    '<iframe title="robot" srcdoc="&lt;p&gt;a&lt;/p&gt;"'
    """
    style = f"width:100%;height:{HEIGHT}px;box-sizing:border-box;border:1px solid #8884;border-radius:8px"
    return f'<iframe title="robot" srcdoc="{html.escape(page, quote=True)}" style="{style}"></iframe>'


def widget(page: str, q: NDArray[np.float64]) -> Any:
    """Return the page as a widget of notebooks, with the traits ``q`` and ``waypoints``.

    Parameters
    ----------
    page
        Text of the page.
    q
        First configuration, shape (nq,).

    Raises
    ------
    MissingExtraError
        anywidget is not installed.
    """
    anywidget = import_extra("anywidget", "widget", "a widget of a robot")
    traitlets = import_extra("traitlets", "widget", "a widget of a robot")

    class RobotWidget(anywidget.AnyWidget):  # type: ignore[misc, name-defined]
        """Robot that can be moved on its page and from Python: ``widget.q = q``."""

        _esm = _WIDGET
        page = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int(HEIGHT).tag(sync=True)
        q = traitlets.List(traitlets.Float()).tag(sync=True)
        waypoints = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)

        @traitlets.validate("q")  # type: ignore[untyped-decorator]
        def _checked(self, proposal: Any) -> list[float]:
            return list(reals(proposal["value"], "q", q.shape).tolist())

        def _repr_mimebundle_(self, **options: Any) -> Any:
            bundle = super()._repr_mimebundle_(**options)
            representations = bundle[0] if isinstance(bundle, tuple) else bundle
            if representations is not None:  # exports without widgets show the page alone
                representations["text/html"] = framed(self.page)
            return bundle

    return RobotWidget(page=page, q=q.tolist())
