// Where the viewer of a scene stands.
"use strict";

/** Looks at a point of the scene, from a distance and a direction. */
class Camera {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {{ outline: number[][], size: number, camera: { azimuth: number, elevation: number, angle: number, room: number, nearest: number } }} scene
   *   Outermost points of what is to be seen, length of the robot, and where it is seen from; see CAMERA in chasles.visual.scene.
   */
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    /** Half of the picture's height at distance 1. */
    this.slope = Math.tan(scene.camera.angle / 2);
    this.azimuth = this.elevation = 0;
    /** How far the camera went along with what is to be seen. */
    this.carried = [0, 0, 0];
    this.reset();
  }

  /** Shows the whole scene from its usual side. */
  reset() {
    const { azimuth, elevation } = this.scene.camera;
    Object.assign(this, { azimuth, elevation });
    this.fit();
  }

  get aspect() { return this.canvas.clientWidth / this.canvas.clientHeight || 1; }

  /** Directions to the viewer, to the right and up in the picture. */
  get axes() {
    const [ca, sa, ce, se] = [Math.cos(this.azimuth), Math.sin(this.azimuth), Math.cos(this.elevation), Math.sin(this.elevation)];
    return { back: [ce * ca, ce * sa, se], right: [-sa, ca, 0], up: [-se * ca, -se * sa, ce] };
  }

  /** Place of the viewer. */
  get eye() { return Vector.plus(this.target, this.axes.back, this.distance); }

  /** Length at the point that is looked at, for a pixel of the page, m. */
  get pixel() { return 2 * this.slope * this.distance / (this.canvas.clientHeight || 1); }

  /** Matrix from the world to the picture. */
  get matrix() {
    const d = this.distance, { back, right, up } = this.axes, { eye } = this;
    const seen = new Float32Array([right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
      -Vector.dot(right, eye), -Vector.dot(up, eye), -Vector.dot(back, eye), 1]);
    return Matrix.multiply(Matrix.perspective(this.scene.camera.angle, this.aspect, 0.02 * d, 20 * d + 10 * this.scene.size), seen);
  }

  /** Goes to where the scene just fits into the picture, in the direction in which it is seen. */
  fit() {
    const { back, right, up } = this.axes, slope = this.slope / this.scene.camera.room, depths = this.scene.outline.map(p => Vector.dot(p, back));
    // Of a wedge that contains all points: where its edge is, across and along the direction of view.
    const wedge = (across, tangent) => {
      const sides = [1, -1].map(side => Math.max(...this.scene.outline.map((p, k) => depths[k] + side * Vector.dot(p, across) / tangent)));
      return { shift: tangent * (sides[0] - sides[1]) / 2, edge: (sides[0] + sides[1]) / 2 };
    };
    const wide = wedge(right, slope * this.aspect), high = wedge(up, slope), middle = (Math.min(...depths) + Math.max(...depths)) / 2;
    this.distance = Math.max(Math.max(wide.edge, high.edge) - middle, this.scene.camera.nearest * this.scene.size);
    this.target = this.carried.map((x, k) => x + middle * back[k] + wide.shift * right[k] + high.shift * up[k]);
  }

  /** Goes along with what is to be seen. @param {number[]} way */
  carry(way) { [this.target, this.carried] = [this.target, this.carried].map(point => Vector.plus(point, way)); }

  /** Place of a point of the world on the canvas, in pixels of the page. @param {number[]} p */
  project([x, y, z]) {
    const { matrix, canvas } = this, at = k => matrix[k] * x + matrix[4 + k] * y + matrix[8 + k] * z + matrix[12 + k], w = at(3);
    return [0.5 * canvas.clientWidth * (1 + at(0) / w), 0.5 * canvas.clientHeight * (1 - at(1) / w)];
  }

  /** Line of sight through a place on the canvas. @param {number} x @param {number} y */
  ray(x, y) {
    const { eye, axes: { back, right, up }, canvas, slope } = this, forward = back.map(a => -a);
    const across = slope * this.aspect * (2 * x / canvas.clientWidth - 1), above = slope * (1 - 2 * y / canvas.clientHeight);
    return { eye, direction: Vector.unit(Vector.plus(Vector.plus(forward, right, across), up, above)), forward };
  }

  /** @param {number} azimuth @param {number} elevation */
  turn(azimuth, elevation) {
    this.azimuth += azimuth;
    this.elevation = Math.min(1.55, Math.max(-0.3, this.elevation + elevation));
  }

  /** @param {number} factor of the distance */
  zoom(factor) { this.distance = Math.min(20 * this.scene.size, Math.max(0.15 * this.scene.size, this.distance * factor)); }

  /** Moves what is seen, by pixels of the page. @param {number} dx @param {number} dy */
  pan(dx, dy) {
    const { axes: { right, up }, pixel } = this;
    this.target = Vector.plus(Vector.plus(this.target, up, pixel * dy), right, -pixel * dx);
  }
}
