"""Pages of robots in a browser: what tests ask of them."""

from __future__ import annotations

from tests.visual.browser import Tab

#: The page itself, and the colours of its picture.
READY = """
let page;
const find = selector => document.querySelector(selector);
const frames = async count => { while (count--) await new Promise(requestAnimationFrame); };
const painted = () => {
  page.scene.paint();
  const { canvas, graphics: { gl } } = page.scene, pixels = new Uint8Array(4 * canvas.width * canvas.height);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  return pixels;
};
const slide = (name, value) => {
  const range = find(`input[type=range][aria-label="${name}"]`);
  range.value = value;
  range.dispatchEvent(new Event("input"));
};
const choose = (name, value) => {
  const select = find(`select[aria-label="${name}"]`);
  select.value = value;
  select.dispatchEvent(new Event("change"));
};
"""


def ready(tab: Tab) -> Tab:
    """Wait until a page shows its robot."""
    tab.ask(READY)
    tab.ask("chaslesView.then(opened => { page = opened; })")
    return tab
