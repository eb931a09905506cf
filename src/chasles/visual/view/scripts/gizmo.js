// Handles at the tool: arrows move it along an axis, rings turn it, the ball moves it in the plane of the picture.
"use strict";

const GIZMO_PIXELS = 88;
const RING_POINTS = 40;
const AXIS_COLORS = AXES.map(([, color]) => color);
class Gizmo {
  /**
   * @param {RobotScene} scene
   * @param {(goal: number[]) => void} moved Told each pose (4, 4), row by row, to which the tool shall go.
   * @param {() => void} released
   */
  constructor(scene, moved, released) {
    this.scene = scene;
    this.moved = moved;
    this.released = released;
    this.shown = true;
    this.turns = true;
    /** Whether it moves along its axes. */
    this.shifts = true;
    /** @type {(k: number) => number[]} Axes along which the handles stand. */
    this.axes = k => [0, 1, 2].map(j => Number(j === k));
    /** @type {number[]} */
    this.T = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
    /** @type {{ kind: string, axis: number } | null} */
    this.held = null;
  }

  get origin() { return [this.T[3], this.T[7], this.T[11]]; }

  /** Direction of a handle's axis in the world. @param {number} k */
  axis(k) { return this.held ? this.heldAxes[k] : this.axes(k); }

  get length() { return GIZMO_PIXELS * this.scene.camera.pixel; }

  /** Solids that show the handles. @returns {Part[]} */
  parts() {
    if (!this.shown) return [];
    const { scene, origin, length } = this, lit = (kind, axis, color) =>
      this.held?.kind === kind && this.held.axis === axis ? [1, 0.72, 0.1] : color;
    const parts = this.shifts ? [scene.part(-1, "sphere", lit("ball", 0, [0.55, 0.6, 0.66]), origin, Vector.plus(origin, [0, 0, 1], 1e-6), 0.085 * length)] : [];
    for (let k = 0; k < 3; k++) {
      const at = f => Vector.plus(origin, this.axis(k), f * length), color = lit("arrow", k, AXIS_COLORS[k]);
      if (this.shifts) parts.push(scene.part(-1, "cylinder", color, at(0.12), at(0.86), 0.024 * length), scene.part(-1, "cone", color, at(0.84), at(1.08), 0.075 * length));
      if (this.turns) {
        const ring = scene.part(-1, "ring", lit("ring", k, AXIS_COLORS[k]), origin, Vector.plus(origin, this.axis(k)), 0.7 * length);
        parts.push({ ...ring, length: 0 });
      }
    }
    return parts;
  }

  /** Points on the canvas that stand for each handle. */
  handles() {
    const { origin, length } = this, found = this.shifts ? [{ kind: "ball", axis: 0, points: [this.scene.camera.project(origin)] }] : [];
    for (let k = 0; k < 3; k++) {
      const a = this.axis(k), points = [0.35, 0.5, 0.65, 0.8, 0.95, 1.05].map(f => this.scene.camera.project(Vector.plus(origin, a, f * length)));
      if (this.shifts) found.push({ kind: "arrow", axis: k, points });
      if (!this.turns) continue;
      const u = Vector.unit(Vector.cross(Math.abs(a[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], a)), v = Vector.cross(a, u);
      found.push({ kind: "ring", axis: k, points: [...Array(RING_POINTS).keys()].map(j => {
        const angle = 2 * Math.PI * j / RING_POINTS;
        return this.scene.camera.project(Vector.plus(Vector.plus(origin, u, 0.7 * length * Math.cos(angle)), v, 0.7 * length * Math.sin(angle)));
      }) });
    }
    return found;
  }

  /** Place of a pointer on the canvas. @param {PointerEvent} event */
  place(event) {
    const { left, top } = this.scene.canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  /** @param {PointerEvent} event */
  begin(event) {
    if (!this.shown) return false;
    const [x, y] = this.place(event), within = event.pointerType === "touch" ? 24 : 11;
    let nearest = within, found = null;
    for (const { kind, axis, points } of this.handles()) {
      const distance = Math.min(...points.map(p => Math.hypot(p[0] - x, p[1] - y))) - (kind === "ball" ? 4 : 0);
      if (distance < nearest) { nearest = distance; found = { kind, axis }; }
    }
    if (!found) return false;
    this.heldAxes = [0, 1, 2].map(k => this.axes(k));
    this.held = found;
    this.start = [...this.T];
    /** @type {any} Where the handle was taken: a number or a point. */
    this.grip = this.held.kind === "ball" ? this.inPlane(x, y) : this.held.kind === "arrow" ? this.along(x, y) : this.around(x, y);
    /** @type {any} */
    this.before = this.grip;
    this.turned = 0;
    return true;
  }

  /** @param {PointerEvent} event */
  move(event) {
    const [x, y] = this.place(event), goal = [...this.start], { kind, axis } = this.held;
    if (kind === "ring") {
      const now = this.around(x, y);
      if (now === null || this.before === null) return;
      const step = now - this.before;
      this.turned += step - 2 * Math.PI * Math.round(step / (2 * Math.PI));
      this.before = now;
      const R = Rotation.times(Rotation.about(this.axis(axis), this.turned), [0, 1, 2].flatMap(i => this.start.slice(4 * i, 4 * i + 3)));
      for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) goal[4 * i + j] = R[3 * i + j];
    } else {
      /** @type {any} */
      const now = kind === "ball" ? this.inPlane(x, y) : this.along(x, y);
      if (now === null || this.grip === null) return;
      const shift = kind === "ball" ? Vector.minus(now, this.grip) : this.axis(axis).map(a => (now - this.grip) * a);
      for (let i = 0; i < 3; i++) goal[4 * i + 3] += shift[i];
    }
    this.T = goal;
    this.moved(goal);
  }

  end() { this.held = null; this.released(); }

  get home() { return [this.start[3], this.start[7], this.start[11]]; }

  /** Point in the plane through the tool that faces the viewer. */
  inPlane(x, y) {
    const { eye, direction, forward } = this.scene.camera.ray(x, y);
    const t = Vector.dot(Vector.minus(this.home, eye), forward) / Vector.dot(direction, forward);
    return Vector.plus(eye, direction, t);
  }

  /** Place along the arrow that is nearest to the line of sight; null where that looks along the arrow. */
  along(x, y) {
    const { eye, direction } = this.scene.camera.ray(x, y), a = this.axis(this.held.axis), b = Vector.dot(a, direction), across = 1 - b * b;
    if (across < 1e-3) return null;
    const w = Vector.minus(this.home, eye);
    return (b * Vector.dot(direction, w) - Vector.dot(a, w)) / across;
  }

  /** Angle about the ring's axis: in its plane, or on the picture where the ring is seen from its edge. */
  around(x, y) {
    const { eye, direction } = this.scene.camera.ray(x, y), a = this.axis(this.held.axis), slope = Vector.dot(direction, a);
    if (Math.abs(slope) < 0.2) {
      const [px, py] = this.scene.camera.project(this.home), [qx, qy] = this.scene.camera.project(Vector.plus(this.home, a, 0.1 * this.length));
      const size = Math.hypot(qx - px, qy - py) || 1;
      return ((x - px) * (qy - py) - (y - py) * (qx - px)) / size / (0.7 * GIZMO_PIXELS) * (slope > 0 ? -1 : 1);
    }
    const p = Vector.minus(Vector.plus(eye, direction, Vector.dot(Vector.minus(this.home, eye), a) / slope), this.home);
    const u = Vector.unit(Vector.cross(Math.abs(a[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], a)), v = Vector.cross(a, u);
    return Math.atan2(Vector.dot(p, v), Vector.dot(p, u));
  }
}
