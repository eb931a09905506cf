// The robot and its law: the loop of chasles.simulate in steps of fixed length, from the module.
"use strict";

/**
 * Motion at one call of a law, and the call's row of the law's schedule.
 * @typedef {{ q: Float64Array, qd: Float64Array, qdd: Float64Array, schedule?: Float64Array }} Reference
 * @typedef {{ kind: string, name: string, states: number[][], gains: number[][], schedule: number[] | null }} Law
 */

/**
 * Rows of a table that Python packed: repeated differences of the numbers' bits, as bytes sorted by their significance.
 * @param {{ count: number, size: number, order: number, text: string }} table
 * @returns {Promise<Float64Array[]>}
 */
async function decodeTable({ count, size, order, text }) {
  const planes = new Uint8Array(await inflated(text)), total = count * size, bytes = new Uint8Array(8 * total);
  for (let plane = 0; plane < 8; plane++) for (let k = 0; k < total; k++) bytes[8 * k + plane] = planes[plane * total + k];
  const folded = new BigUint64Array(bytes.buffer), bits = new BigInt64Array(bytes.buffer), values = new Float64Array(bytes.buffer);
  for (let k = 0; k < total; k++) bits[k] = BigInt.asIntN(64, (folded[k] >> 1n) ^ -(folded[k] & 1n));
  for (let sum = 0; sum < order; sum++) for (let k = 0; k < total; k++) if (k % count) bits[k] += bits[k - 1];
  return Array.from({ length: count }, (_, row) => Float64Array.from({ length: size }, (_, column) => values[column * count + row]));
}

/** A robot and its law, whose torque is held for each period. */
class ClosedLoop {
  /**
   * @param {Mechanism} mechanism @param {ArrayLike<number>} q
   * @param {{ law: string, bandwidth: number, damping: number, mass: number, limited: boolean }} options
   *   Kind of the law, or "none"; its bandwidth, rad/s; viscous friction as a rate of decay, 1/s; payload, kg; whether effort limits hold.
   */
  constructor(mechanism, q, { law, bandwidth, damping, mass, limited }) {
    const { simulation, velocities } = mechanism.data;
    /** @type {Law | undefined} */
    const own = simulation.laws.find(({ kind }) => kind === law);
    this.mechanism = mechanism;
    this.law = law;
    this.name = own ? own.name : "no controller";
    this.mass = mass;
    this.limited = limited;
    /** Whether joints stop at their limits, inelastically, which those of simulations in Python do not. */
    this.stops = false;
    const design = own && own.gains.length > 1 ? simulation.bandwidths.indexOf(bandwidth) : 0;
    this.gains = Float64Array.from(own ? own.gains[design] : []);
    /** @type {Float64Array} */
    this.state = Float64Array.from(own ? own.states[design] ?? own.states[0] : simulation.free);
    const part = ([first, last]) => this.state.subarray(first, last);
    this.plant = part(simulation.plant);
    this.q = part(simulation.q);
    this.qd = part(simulation.qd);
    this.q.set(q);
    this.viscous = simulation.friction ? mechanism.inertia(q, mass).map((m, k) => velocities[k].free ? 0 : damping * m) : null;
    this.calls = 0;
    /** Row of the law's schedule along rest where the page was opened; the law holds there alone. */
    this.schedule = own && own.schedule ? Float64Array.from(own.schedule) : null;
    const rest = new Float64Array(mechanism.n);
    /** @type {Reference} */
    this.reference = { q: this.schedule ? Float64Array.from(simulation.start) : this.q.slice(), qd: rest, qdd: rest };
    this.applied = rest;
    /** Moment and force on the tool in world axes, N·m and N, and the call at which they end. */
    this.wrench = [0, 0, 0, 0, 0, 0];
    this.pushedUntil = 0;
  }

  /** Pushes the tool for a while. @param {number[]} force in world axes, N @param {number} duration s */
  push(force, duration) {
    this.wrench = [0, 0, 0, ...force];
    this.pushedUntil = this.calls + Math.round(duration / this.mechanism.data.simulation.period);
  }

  /**
   * Computes a period for each of some references.
   * @param {Reference[]} references
   * @returns {{ q: Float64Array, tau: Float64Array }} of each period, at its begin
   */
  run(references) {
    const { mechanism, schedule, q: { length: nq } } = this, { n, data, program } = mechanism;
    const motion = 1 + nq + 2 * n, size = motion + 12 + (schedule?.length ?? 0), given = new Float64Array(size * references.length);
    references.forEach(({ q, qd, qdd, schedule: own = schedule }, k) => {
      const row = given.subarray(size * k, size * (k + 1)), call = this.calls + k;
      row[0] = data.simulation.begin + call * data.simulation.period;
      row.set(q, 1);
      row.set(qd, 1 + nq);
      row.set(qdd, 1 + nq + n);
      if (call < this.pushedUntil) row.set([...this.wrench, ...this.wrench], motion);  // at the begin and the end of the period
      if (own) row.set(own, motion + 12);
    });
    const plant = this.viscous ? [this.mass, ...this.viscous] : [this.mass];
    const { state_next, q, tau } = program.run(`loop ${this.law}`,
      { state: this.state, given, limited: Number(this.limited), stops: Number(this.stops), plant, gains: this.gains });
    this.state.set(state_next);
    this.calls += references.length;
    this.applied = tau.slice(-n);
    return { q, tau };
  }

  get finite() { return this.state.every(Number.isFinite); }

  /**
   * Follows a motion from its start, and returns what came of it at some of its calls.
   * @param {Reference[]} planned @param {number[]} kept numbers of the calls
   */
  follow(planned, kept) {
    this.q.set(planned[0].q);
    this.qd.set(planned[0].qd);
    const { mechanism } = this, { velocities, simulation: { period, begin } } = mechanism.data, nq = this.q.length;
    const found = this.run(planned), worst = { error: 0, joint: 0, time: begin };
    const actual = k => found.q.subarray(nq * k, nq * (k + 1)), torque = k => found.tau.subarray(mechanism.n * k, mechanism.n * (k + 1));
    const broken = planned.findIndex(({ q }, k) => !actual(k).every(Number.isFinite) || !q.every(Number.isFinite));
    const count = broken < 0 ? planned.length : broken, frames = kept.filter(k => k < count);
    let saturated = 0;
    for (let k = 0; k < count; k++) {
      mechanism.difference(actual(k), planned[k].q).forEach((x, joint) => {
        if (!velocities[joint].free && Math.abs(x) > worst.error) Object.assign(worst, { error: Math.abs(x), joint, time: begin + k * period });
      });
      saturated += Number(k + 1 < planned.length && torque(k).some((x, j) => Math.abs(x) === velocities[j].effort));
    }
    return { finite: broken < 0, time: begin + count * period, loop: this, times: frames.map(k => begin + k * period), q: frames.flatMap(k => [...actual(k)]),
      wanted: frames.flatMap(k => [...planned[k].q]), worst, saturated: saturated * period };
  }
}
