// Motions through waypoints: the same polynomials as HermiteSpline(times, waypoints, 0, 0) and CubicSpline in Python.
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
   * @param {number[]} times @param {Float64Array[]} waypoints
   * @param {"stops" | "through"} kind whether it rests at each waypoint, or at the ends alone
   */
  constructor(times, waypoints, kind) {
    this.times = times;
    this.waypoints = waypoints;
    this.kind = kind;
    this.n = waypoints[0].length;
    /** @type {number[][]} For each coordinate the velocities at the waypoints. */
    this.slopes = Array.from({ length: this.n }, (_, j) =>
      kind === "stops" ? times.map(() => 0) : clampedSlopes(times, waypoints.map(q => q[j])));
  }

  get duration() { return this.times[this.times.length - 1]; }

  /** Positions, velocities and accelerations at a time. @param {number} t */
  at(t) {
    const { times } = this;
    let k = 0;
    while (k + 2 < times.length && times[k + 1] <= t) k++;
    const h = times[k + 1] - times[k], u = Math.min(1, Math.max(0, (t - times[k]) / h));
    const [q, qd, qdd] = [0, 1, 2].map(() => new Float64Array(this.n));
    for (let j = 0; j < this.n; j++) {
      const from = this.waypoints[k][j], way = this.waypoints[k + 1][j] - from;
      if (this.kind === "stops") {
        q[j] = from + way * u ** 3 * (10 + u * (6 * u - 15));
        qd[j] = way / h * 30 * u ** 2 * (1 - u) ** 2;
        qdd[j] = way / h ** 2 * 60 * u * (1 - u) * (1 - 2 * u);
      } else {
        const a = h * this.slopes[j][k], b = h * this.slopes[j][k + 1];
        const [second, third] = [3 * way - 2 * a - b, a + b - 2 * way];
        q[j] = from + u * (a + u * (second + u * third));
        qd[j] = (a + u * (2 * second + 3 * u * third)) / h;
        qdd[j] = (2 * second + 6 * u * third) / h ** 2;
      }
    }
    return { q, qd, qdd };
  }

  /** The motion of a robot at the samples, each with its loops closed near the one before. @param {Mechanism} mechanism */
  along(mechanism) {
    let near = this.waypoints[0];
    return this.samples.map(t => {
      const motion = mechanism.onManifold(this.at(t), near);
      near = motion.q;
      return motion;
    });
  }

  /** Times at which a motion is examined or drawn. */
  get samples() { return Array.from({ length: CHECKED_TIMES + 1 }, (_, k) => this.duration * k / CHECKED_TIMES); }

  /**
   * The motion through waypoints as fast as a part of the velocity limits allows.
   * @param {Float64Array[]} waypoints @param {"stops" | "through"} kind @param {number[]} speeds largest of each coordinate
   */
  static within(waypoints, kind, speeds) {
    const times = [0];
    for (let k = 1; k < waypoints.length; k++) {
      const needed = Math.max(...speeds.map((speed, j) => 1.875 * Math.abs(waypoints[k][j] - waypoints[k - 1][j]) / speed));
      times.push(times[k - 1] + Math.max(needed, 0.01));
    }
    const first = new TaughtMotion(times, waypoints, kind);
    if (kind === "stops") return first;
    const largest = Math.max(...first.samples.map(t => Math.max(...first.at(t).qd.map((v, j) => Math.abs(v) / speeds[j]))));
    const stretch = largest * (1 + 1e-3) || 1;
    return new TaughtMotion(times.map(t => t * stretch), waypoints, kind);
  }

  /**
   * What it violates: the first worst of position limits and of torque limits, in sentences.
   * @param {Mechanism} mechanism @param {number} mass payload, kg
   */
  violations(mechanism, mass) {
    const { coordinates, data } = mechanism, worst = new Map();
    const note = (key, excess, t, text) => { if (excess > (worst.get(key)?.excess ?? 1e-9)) worst.set(key, { excess, t, text }); };
    for (const [k, motion] of this.along(mechanism).entries()) {
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
