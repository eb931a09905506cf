// A robot that the page computes: poses, Jacobian, torques and inverse kinematics from its WebAssembly module.
"use strict";

/**
 * @typedef {{ name: string, unit: string, low: number | null, high: number | null, first: number, last: number, follows: boolean }} Coordinate
 * @typedef {{ q: Float64Array, qd: Float64Array, qdd: Float64Array }} MotionState
 * @typedef {{ name: string, free: boolean, first: number, frame: number, T_joint_child: number[] }} Ball
 * @typedef {{ q: Float64Array, reached: boolean, distance: number, angle: number }} Reached
 */

const FAR = 1e9;  // squared error before the first step; see SearchState.at in chasles.inverse_kinematics.iteration
const TOLERANCE = [1e-9, 1e-9];
const DRAG_STEPS = 60;
const SLIGHT = 1e-9;  // rad or m, beyond limits
const SHORTEST_CLOSING_STEP = 1e-4;
const CLOSING_STEP = 0.05;  // rad or m, between configurations whose loops are closed one after the other

class Mechanism {
  /** @param {any} data @param {ChaslesProgram} program */
  constructor(data, program) {
    this.data = data;
    this.program = program;
    /** @type {Coordinate[]} */
    this.coordinates = data.coordinates;
    this.n = data.velocities.length;
    /** Whether velocities are the rates of the coordinates. */
    this.plain = !program.kernels.has("unit");
    /** Whether dragging leaves a floating base where it is. */
    this.pinned = true;
    /** Where quaternions begin among the coordinates. @type {number[]} */
    this.quaternions = [];
    for (let k = 0; k < this.coordinates.length; k++) if (this.coordinates[k].unit === "") { this.quaternions.push(k); k += 3; }
  }

  /** Poses of all frames, row by row. @param {ArrayLike<number>} q @returns {Float64Array} */
  frames(q) { return this.program.run("frames", { q }).T_world_frames; }

  /** Poses of the drawn links in the picture; null where one is not finite. @param {ArrayLike<number>} q */
  places(q) {
    const T = this.frames(q);
    return T.every(Number.isFinite) ? this.data.frames.map(k => this.upright(T, 16 * k)) : null;
  }

  /** Placement in the picture, where gravity points down, of a pose in the world. @param {ArrayLike<number>} T row by row @param {number} at */
  upright(T, at = 0) { return Matrix.multiply(Matrix.fromRows(this.data.scene.upright), Matrix.fromRows(T, at)); }

  /** Pose (4, 4) and world-aligned Jacobian (6, n) of the tool. @param {ArrayLike<number>} q */
  tool(q) {
    const [T, J] = Object.values(this.program.run("tool", { q }));
    return { T: /** @type {Float64Array} */ (T), J: /** @type {Float64Array} */ (J) };
  }

  /** Torques that hold the robot and its payload, N·m or N. @param {ArrayLike<number>} q @param {number} mass */
  gravity(q, mass) {
    return /** @type {Float64Array} */ (Object.values(this.program.run("gravity", { q, "payload.mass": mass }))[0]);
  }

  /** Torques of a motion. @param {MotionState} motion @param {number} mass @returns {Float64Array} */
  torque({ q, qd, qdd }, mass) { return this.program.run("torque", { q, qd, qdd, "payload.mass": mass }).tau; }

  /**
   * Motion in velocities along a curve of the coordinates: quaternions have unit length, loops are closed near a configuration.
   * @param {MotionState} curve @param {ArrayLike<number>} near
   * @returns {MotionState}
   */
  onManifold(curve, near) {
    if (this.plain) return curve;
    const c = curve.q.map((x, k) => this.coordinates[k].follows ? near[k] : x);
    const [q, qd, qdd] = Object.values(this.program.run("tangent", { c, dc: curve.qd, ddc: curve.qdd }));
    return { q, qd, qdd };
  }

  /**
   * Pose in the world, row by row, of a joint with a quaternion, where it holds its child.
   * @param {ArrayLike<number>} q @param {Ball} ball
   */
  ballPose(q, ball) { return Pose.times([...this.frames(q).subarray(16 * ball.frame, 16 * ball.frame + 16)], Pose.inverse(ball.T_joint_child)); }

  /**
   * Configuration in which a joint with a quaternion holds its child at a pose; a spherical joint only turns.
   * @param {Float64Array} q @param {Ball} ball @param {number[]} goal
   */
  ballMoved(q, ball, goal) {
    const { first, free } = ball, next = q.slice(), moved = Pose.times(Pose.inverse(this.ballPose(q, ball)), goal);
    const R = Rotation.fromQuaternion([...q.slice(first, first + 4)]), p = free ? [...q.slice(first + 4, first + 7)] : [0, 0, 0];
    const T = Pose.times([...R.slice(0, 3), p[0], ...R.slice(3, 6), p[1], ...R.slice(6, 9), p[2], 0, 0, 0, 1], moved);
    next.set(Rotation.toQuaternion([0, 1, 2].flatMap(i => T.slice(4 * i, 4 * i + 3))), first);
    if (free) next.set([T[3], T[7], T[11]], first + 4);
    return this.closedTowards(q, next).q;
  }

  /** Half axes of the ellipsoid of tool velocities at unit joint rates, longest first. @param {ArrayLike<number>} J */
  ellipsoid(J) {
    const { lengths, axes } = this.program.run("ellipsoid", { J });
    return { lengths: [...lengths], axes: [0, 3, 6].map(k => [...axes.subarray(k, k + 3)]) };
  }

  /** Angle, rad, and distance, m, between two poses, row by row. @param {ArrayLike<number>} T @param {ArrayLike<number>} goal @returns {{ angle: number, distance: number }} */
  poseError(T, goal) { return /** @type {any} */ (this.program.run("error", { T, T_goal: goal })); }

  /** Moves by a displacement of the velocities. @param {ArrayLike<number>} q @param {ArrayLike<number>} v */
  moved(q, v) { return this.clamped(this.program.run("integrate", { q, v }).q_next); }

  /** The nearest configuration within the limits. @param {ArrayLike<number>} q */
  clamped(q) {
    const inside = Float64Array.from(q, (x, k) => this.coordinates[k].follows ? x :
      Math.min(this.coordinates[k].high ?? Infinity, Math.max(this.coordinates[k].low ?? -Infinity, x)));
    return this.data.loops && inside.some((x, k) => x !== q[k]) ? this.normalized(inside) : inside;
  }

  /** The same with quaternions of unit length and closed loops. @param {Float64Array} q @returns {Float64Array} */
  normalized(q) { return this.plain ? q : this.program.run("unit", { q }).q_unit; }

  /**
   * The configuration on the way to another one whose independent coordinates are as near to it as its loops let them, and whether these are reached.
   * @param {Float64Array} from closed @param {Float64Array} to @param {boolean} limited whether coordinates that follow stop at their limits
   */
  closedTowards(from, to, limited = false) {
    if (!this.data.loops || (limited && this.excess(to) <= SLIGHT)) return { q: to, reached: true };
    const way = to.map((x, k) => this.coordinates[k].follows ? 0 : x - from[k]);
    const length = Math.max(...way.map(Math.abs));
    let q = from, done = 0, step = Math.min(1, CLOSING_STEP / length);
    while (done < 1) {
      const part = Math.min(1, done + step);
      const next = this.normalized(q.map((x, j) => this.coordinates[j].follows ? x : from[j] + way[j] * part));
      if (next.every(Number.isFinite) && (!limited || this.excess(next) <= Math.max(SLIGHT, this.excess(q)))) {
        q = next;
        done = part;
      } else if (step * length < SHORTEST_CLOSING_STEP) return { q, reached: false };
      else step /= 2;  // the loops follow by a few steps of Newton's alone
    }
    return { q, reached: true };
  }

  /** Displacement from one configuration to another, in velocities. @param {ArrayLike<number>} q0 @param {ArrayLike<number>} q1 @returns {Float64Array} */
  difference(q0, q1) {
    return this.plain ? Float64Array.from(q0, (x, k) => q1[k] - x) : this.program.run("difference", { q0, q1 }).v;
  }

  /** Configurations in order, whose quaternions have the sign that is nearer to that before. @param {Float64Array[]} waypoints */
  continuous(waypoints) {
    const found = waypoints.map(q => q.slice());
    for (const first of this.quaternions) for (let k = 1; k < found.length; k++) {
      const [before, own] = [found[k - 1], found[k]].map(q => q.subarray(first, first + 4));
      if (own.reduce((sum, x, j) => sum + x * before[j], 0) < 0) own.forEach((x, j) => { own[j] = -x; });
    }
    return found;
  }

  /** Diagonal of the mass matrix. @param {ArrayLike<number>} q @param {number} mass */
  inertia(q, mass) {
    const M = this.program.run("mass", { q, "payload.mass": mass }).M;
    return Float64Array.from({ length: this.n }, (_, k) => M[k * this.n + k]);
  }

  get dragged() { return this.n > 0; }

  /** Number of velocities with which dragging moves the tool. @param {ArrayLike<number>} q */
  draggedJoints(q) {
    const { J } = this.tool(q), { n } = this;
    return this.data.velocities.filter(({ free }, k) => !(free && this.pinned) && [0, 1, 2, 3, 4, 5].some(i => J[i * n + k] !== 0)).length;
  }

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
      moving: this.data.velocities.map(({ free }) => Number(!(free && this.pinned))),
    });
    const done = found.done > 0, wanted = found.state_next.slice(done ? 0 : n, done ? n : 2 * n);
    // Coordinates that follow have limits, too, of which the search knows nothing.
    const within = this.closedTowards(Float64Array.from(q), wanted, true), next = within.q;
    const { distance, angle } = this.poseError(this.tool(next).T, goal);
    return { q: next, reached: done && within.reached, distance, angle };
  }

  /** Amount by which coordinates that follow others pass their limits. @param {ArrayLike<number>} q */
  excess(q) {
    return this.coordinates.reduce((sum, { low, high, follows }, k) =>
      follows ? sum + Math.max(0, q[k] - (high ?? Infinity), (low ?? -Infinity) - q[k]) : sum, 0);
  }
}
