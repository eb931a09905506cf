// A robot that the page computes: poses, Jacobian, torques and inverse kinematics from its WebAssembly module.
"use strict";

/**
 * @typedef {{ name: string, unit: string, low: number | null, high: number | null, first: number, last: number }} Coordinate
 * @typedef {{ q: Float64Array, reached: boolean, distance: number, angle: number }} Reached
 */

const FAR = 1e9;  // squared error before the first step; see State.at in chasles.inverse_kinematics.iteration
const TOLERANCE = [1e-9, 1e-9];
const DRAG_STEPS = 60;

class Mechanism {
  /** @param {any} data @param {ChaslesProgram} program */
  constructor(data, program) {
    this.data = data;
    this.program = program;
    /** @type {Coordinate[]} */
    this.coordinates = data.coordinates;
    this.n = data.velocities.length;
    /** Where quaternions begin among the coordinates. @type {number[]} */
    this.quaternions = [];
    for (let k = 0; k < this.coordinates.length; k++) if (this.coordinates[k].unit === "") { this.quaternions.push(k); k += 3; }
  }

  /** Poses of all frames, row by row. @param {ArrayLike<number>} q @returns {Float64Array} */
  frames(q) { return this.program.run("frames", { q }).T_world_frames; }

  /** Poses of the drawn links, for the scene; null where one is not finite. @param {ArrayLike<number>} q */
  places(q) {
    const T = this.frames(q);
    return T.every(Number.isFinite) ? this.data.frames.map(k => Matrix.fromRows(T, 16 * k)) : null;
  }

  /** Pose (4, 4) and world-aligned Jacobian (6, n) of the tool. @param {ArrayLike<number>} q */
  tool(q) {
    const [T, J] = Object.values(this.program.run("tool", { q }));
    return { T: /** @type {Float64Array} */ (T), J: /** @type {Float64Array} */ (J) };
  }

  /** Torques that hold the robot and its payload, N·m or N. @param {ArrayLike<number>} q @param {number} mass */
  gravity(q, mass) {
    return /** @type {Float64Array} */ (Object.values(this.program.run("gravity", { q, "payload.mass": mass }))[0]);
  }

  /**
   * Torques of a motion; null for robots whose velocities are not the rates of their coordinates.
   * @param {{ q: Float64Array, qd: Float64Array, qdd: Float64Array }} motion @param {number} mass
   * @returns {Float64Array | null}
   */
  torque(motion, mass) {
    if (this.quaternions.length) return null;
    return this.program.run("torque", { ...motion, "payload.mass": mass }).tau;
  }

  /** Half axes of the ellipsoid of tool velocities at unit joint rates, longest first. @param {ArrayLike<number>} J */
  ellipsoid(J) {
    const n = this.n, A = [];
    for (let i = 3; i < 6; i++) for (let j = 3; j < 6; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += J[i * n + k] * J[j * n + k];
      A.push(sum);
    }
    const { values, vectors } = symmetricEigen(A);
    return { lengths: values.map(x => Math.sqrt(Math.max(x, 0))), axes: vectors };
  }

  /** Moves by a displacement of the velocities. @param {ArrayLike<number>} q @param {ArrayLike<number>} v */
  moved(q, v) { return this.clamped(this.program.run("integrate", { q, v }).q_next); }

  /** The nearest configuration within the limits. @param {ArrayLike<number>} q */
  clamped(q) {
    return Float64Array.from(q, (x, k) => Math.min(this.coordinates[k].high ?? Infinity, Math.max(this.coordinates[k].low ?? -Infinity, x)));
  }

  /** The same with quaternions of unit length. @param {Float64Array} q */
  normalized(q) {
    for (const k of this.quaternions) {
      const size = Math.hypot(q[k], q[k + 1], q[k + 2], q[k + 3]) || 1;
      for (let j = 0; j < 4; j++) q[k + j] /= size;
    }
    return q;
  }

  get dragged() { return Boolean(this.data.reach); }

  /**
   * Configuration near q that brings the tool to a pose, or as near to it as steps from q lead.
   * @param {ArrayLike<number>} q @param {ArrayLike<number>} goal (4, 4), row by row @param {boolean} turns whether the orientation counts
   * @returns {Reached}
   */
  reach(q, goal, turns) {
    // No joint range to start anew in: a search that is stuck starts again from q, and does not jump elsewhere.
    return this.search(q, goal, turns, DRAG_STEPS, Array.from(q), Array.from(q, () => 0));
  }

  /** The same from anywhere: searches that are stuck start again elsewhere within the limits. */
  reachAnyhow(q, goal, turns, steps = 1000) {
    const { first, span } = this.data.reach;
    return this.search(q, goal, turns, steps, first, span);
  }

  /** @returns {Reached} */
  search(q, goal, turns, steps, first, span) {
    const { lower, upper } = this.data.reach, n = q.length, start = Array.from(q);
    const found = this.program.run(turns ? "reach_pose" : "reach_position", {
      state: [...start, ...start, FAR, FAR, 0, 0], T_world_goal: goal, tolerance: TOLERANCE,
      lower: lower.map(x => x ?? -Infinity), upper: upper.map(x => x ?? Infinity), first, span,
      shift: start.map(() => 0.5), posture: start, max_iterations: steps,
    });
    const done = found.done > 0, next = found.state_next.slice(done ? 0 : n, done ? n : 2 * n);
    const T = this.tool(next).T, R = [0, 1, 2].flatMap(i => [0, 1, 2].map(j => [0, 1, 2].reduce((s, k) => s + T[4 * k + i] * goal[4 * k + j], 0)));
    const sine = 0.5 * Math.hypot(R[7] - R[5], R[2] - R[6], R[3] - R[1]);
    return { q: next, reached: done, distance: Math.hypot(T[3] - goal[3], T[7] - goal[7], T[11] - goal[11]),
      angle: Math.atan2(sine, 0.5 * (R[0] + R[4] + R[8] - 1)) };
  }
}
