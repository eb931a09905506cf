// Motions through waypoints: HermiteSpline(times, waypoints, 0, 0) and CubicSpline of Python, piece by piece.
"use strict";

const CHECKED_TIMES = 400;

/** Velocities at the knots of the cubic spline that rests at both ends. @param {number[]} times @param {number[]} values */
function clampedSlopes(times, values) {
  const last = times.length - 1, h = times.slice(1).map((t, k) => t - times[k]);
  const slopes = new Array(last + 1).fill(0), ratio = new Array(last + 1).fill(0);
  // Continuous accelerations: s[k-1] / h[k-1] + 2 s[k] (1/h[k-1] + 1/h[k]) + s[k+1] / h[k] = 3 (d[k-1] / h[k-1]² + d[k] / h[k]²).
  for (let k = 1; k < last; k++) {
    const [a, b] = [1 / h[k - 1], 1 / h[k]], right = 3 * ((values[k] - values[k - 1]) * a * a + (values[k + 1] - values[k]) * b * b);
    const pivot = 2 * (a + b) - a * ratio[k - 1];
    ratio[k] = b / pivot;
    slopes[k] = (right - a * slopes[k - 1]) / pivot;
  }
  for (let k = last - 1; k > 0; k--) slopes[k] -= ratio[k] * slopes[k + 1];
  return slopes;
}

class TaughtMotion {
  /**
   * @param {Mechanism} mechanism @param {number[]} times @param {Float64Array[]} waypoints
   * @param {"stops" | "through"} kind whether it rests at each waypoint, or at the ends alone
   */
  constructor(mechanism, times, waypoints, kind) {
    this.mechanism = mechanism;
    this.times = times;
    this.waypoints = waypoints;
    this.kind = kind;
    const slopes = kind === "stops" ? [] : Array.from(waypoints[0], (_, j) => clampedSlopes(times, waypoints.map(q => q[j])));
    /** @type {number[][]} Of each waypoint, by coordinates, position and velocity, and acceleration where it stops. */
    this.ends = waypoints.map((q, k) => Array.from(q).flatMap((x, j) => kind === "stops" ? [x, 0, 0] : [x, slopes[j][k]]));
  }

  get duration() { return this.times[this.times.length - 1]; }

  /** Positions, velocities and accelerations at a time. @param {number} t @returns {MotionState} */
  at(t) {
    const { times, ends } = this;
    let k = 0;
    while (k + 2 < times.length && times[k + 1] <= t) k++;
    const h = times[k + 1] - times[k], u = Math.min(h, Math.max(0, t - times[k]));
    const motion = this.mechanism.program.run(this.kind === "stops" ? "quintic_piece" : "cubic_piece", { u, h, start: ends[k], end: ends[k + 1] });
    const [q, qd, qdd] = [motion.q, motion.qd, motion.qdd].map(part => Float64Array.from(ChaslesProgram.flatten(part)));
    return { q, qd, qdd };
  }

  /** The motion of a robot at the samples, each with its loops closed near the one before. */
  along() {
    let near = this.waypoints[0];
    return this.samples.map(t => {
      const motion = this.mechanism.onManifold(this.at(t), near);
      near = motion.q;
      return motion;
    });
  }

  /** Times at which a motion is examined or drawn. */
  get samples() { return Array.from({ length: CHECKED_TIMES + 1 }, (_, k) => this.duration * k / CHECKED_TIMES); }

  /**
   * The motion through waypoints as fast as a part of the velocity limits allows.
   * @param {Mechanism} mechanism @param {Float64Array[]} waypoints @param {"stops" | "through"} kind @param {number[]} speeds largest of each coordinate
   */
  static within(mechanism, waypoints, kind, speeds) {
    const times = [0];
    for (let k = 1; k < waypoints.length; k++) {
      const needed = Math.max(...speeds.map((speed, j) => 1.875 * Math.abs(waypoints[k][j] - waypoints[k - 1][j]) / speed));
      times.push(times[k - 1] + Math.max(needed, 0.01));
    }
    const first = new TaughtMotion(mechanism, times, waypoints, kind);
    if (kind === "stops") return first;
    const largest = Math.max(...first.samples.map(t => Math.max(...first.at(t).qd.map((v, j) => Math.abs(v) / speeds[j]))));
    const stretch = largest * (1 + 1e-3) || 1;
    return new TaughtMotion(mechanism, times.map(t => t * stretch), waypoints, kind);
  }

  /**
   * What it violates: the first worst of position limits and of torque limits, in sentences.
   * @param {number} mass payload, kg
   */
  violations(mass) {
    const { mechanism } = this, { coordinates, data } = mechanism, worst = new Map();
    const note = (key, excess, t, text) => { if (excess > (worst.get(key)?.excess ?? 1e-9)) worst.set(key, { excess, t, text }); };
    for (const [k, motion] of this.along().entries()) {
      const t = this.samples[k];
      if (!motion.q.every(Number.isFinite)) return [`The loops cannot be kept closed beyond ${t.toFixed(2)} s.`];
      coordinates.forEach(({ name, unit, low, high }, j) => {
        const beyond = Math.max(motion.q[j] - (high ?? Infinity), (low ?? -Infinity) - motion.q[j]);
        const amount = unit === "rad" ? `${shortNumber(beyond / DEGREE)}°` : `${shortNumber(1000 * beyond)} mm`;
        note(`position ${name}`, beyond, t, `${name} passes its limit by ${amount}`);
      });
      mechanism.torque(motion, mass).forEach((tau, j) => {
        const { name, unit, effort } = data.velocities[j];
        if (effort === null) return;
        note(`torque ${name}`, Math.abs(tau) / effort - 1, t, `${name} needs ${shortNumber(Math.abs(tau))} ${unit} of ${shortNumber(effort)}`);
      });
    }
    return [...worst.values()].map(({ text, t }) => `${text} at ${t.toFixed(2)} s.`);
  }
}
