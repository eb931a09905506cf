// Drag to turn, shift-drag to move, scroll or pinch to zoom; tools take hold of what is pressed first.
"use strict";

/** @typedef {{ begin(event: PointerEvent): boolean, move(event: PointerEvent): void, end(event: PointerEvent): void }} Tool */

/**
 * Moves a camera by pointers on its canvas.
 * @param {HTMLCanvasElement} canvas @param {Camera} camera
 * @param {{ tools: Tool[], wheelNeedsFocus: boolean, draw(): void }} scene
 */
function moveByPointers(canvas, camera, scene) {
  /** @type {Map<number, PointerEvent>} Pointers that move the camera. */
  const touches = new Map();
  /** @type {Map<number, Tool>} */
  const held = new Map();
  canvas.addEventListener("contextmenu", e => e.preventDefault());
  canvas.addEventListener("pointerdown", e => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(e.pointerId);
    const tool = touches.size || e.shiftKey || e.button ? undefined : scene.tools.find(candidate => candidate.begin(e));
    if (tool) held.set(e.pointerId, tool);
    else touches.set(e.pointerId, e);
  });
  for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) canvas.addEventListener(end, e => {
    touches.delete(e.pointerId);
    held.get(e.pointerId)?.end(e);
    held.delete(e.pointerId);
  });
  canvas.addEventListener("pointermove", e => {
    const before = touches.get(e.pointerId);
    held.get(e.pointerId)?.move(e);
    if (!before) return;
    const dx = e.clientX - before.clientX, dy = e.clientY - before.clientY;
    const other = [...touches.values()].find(t => t.pointerId !== e.pointerId);
    if (other) {
      const gap = (/** @type {PointerEvent} */ t) => Math.hypot(t.clientX - other.clientX, t.clientY - other.clientY) || 1;
      camera.zoom(gap(before) / gap(e));
      camera.pan(dx / 2, dy / 2);
    } else if (e.shiftKey || e.buttons === 2 || e.buttons === 4) camera.pan(dx, dy);
    else camera.turn(-0.008 * dx, 0.008 * dy);
    touches.set(e.pointerId, e);
    scene.draw();
  });
  canvas.addEventListener("wheel", e => {
    if (scene.wheelNeedsFocus && document.activeElement !== canvas && !e.ctrlKey) return;
    e.preventDefault();
    camera.zoom(Math.exp(0.0012 * e.deltaY));
    scene.draw();
  }, { passive: false });
  canvas.addEventListener("dblclick", () => { camera.reset(); scene.draw(); });
}
