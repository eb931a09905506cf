// The recorded motion of a robot: the scene of a report's run.
"use strict";

class RobotView extends RobotScene {
  constructor(canvas, scene) {
    super(canvas, scene);
    this.times = decodeFloats(scene.times);
    this.poses = decodeFloats(scene.poses);
    this.run = 0;
    this.time = this.times[0];
    this.open();
  }

  prepare() {
    super.prepare();
    this.selectRun(this.run);
  }

  rootPlace() { return this.pose(0, 0, 0); }

  pose(frame, link, run = this.run) {
    const at = 7 * (link + this.scene.links.length * (frame + this.times.length * run));
    return this.poses.subarray(at, at + 7);
  }

  // Poses of all links between two frames of the motion.
  posesNow() {
    const { times } = this, last = times.length - 1;
    let low = 0, high = last;
    while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= this.time) low = middle; else high = middle; }
    const span = times[high] - times[low], f = span > 0 ? Math.min(1, Math.max(0, (this.time - times[low]) / span)) : 0;
    this.frame = low + f;
    return this.scene.links.map((_, link) => {
      const a = this.pose(low, link), b = this.pose(high, link);
      const turn = a[3] * b[3] + a[4] * b[4] + a[5] * b[5] + a[6] * b[6] < 0 ? -1 : 1;
      const mixed = Array.from(a, (v, k) => v + f * ((k < 3 ? 1 : turn) * b[k] - v));
      const norm = Math.hypot(mixed[3], mixed[4], mixed[5], mixed[6]) || 1;
      return Matrix.fromPose(mixed.map((v, k) => k < 3 ? v : v / norm));
    });
  }

  setTime(time) { this.time = time; this.draw(); }

  selectRun(run) {
    this.run = run;
    const trace = new Float32Array(3 * this.times.length);
    for (let k = 0; k < this.times.length; k++) trace.set(this.pose(k, this.scene.tool).subarray(0, 3), 3 * k);
    this.trace = this.graphics.mesh(trace, [3]);
    this.draw();
  }
}
