// Simulation of the robot, free or under a law: the loop of chasles.simulate(…, integrator="rk4", substeps=1), from the module.
"use strict";

const LONGEST_FRAME = 0.04;  // s of motion between two pictures
const PLAYED_RATE = 60;  // Hz, of simulated motions that are played
const USUAL_BANDWIDTH = 8;  // rad/s
const NO_FRICTION = "No friction is added to robots with free or spherical joints, as chasles.Friction takes joints of one degree of freedom.";

/**
 * @typedef {{ q: Float64Array, qd: Float64Array, qdd: Float64Array }} Reference
 */

/** A robot and its law, whose torque is held for each period. */
class ClosedLoop {
  /**
   * @param {Mechanism} mechanism @param {ArrayLike<number>} q
   * @param {{ law: string, bandwidth: number, damping: number, mass: number, limited: boolean }} options
   *   Kind of the law, or "none"; its bandwidth, rad/s; viscous friction as a rate of decay, 1/s; payload, kg; whether effort limits hold.
   */
  constructor(mechanism, q, { law, bandwidth, damping, mass, limited }) {
    const { simulation, velocities } = mechanism.data, own = simulation.laws.find(({ kind }) => kind === law);
    this.mechanism = mechanism;
    this.law = law;
    this.mass = mass;
    this.limited = limited;
    /** Whether joints stop at their limits, inelastically, which those of simulations in Python do not. */
    this.stops = false;
    const design = simulation.bandwidths.indexOf(bandwidth);
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
    const rest = new Float64Array(mechanism.n);
    /** @type {Reference} */
    this.reference = { q: this.q.slice(), qd: rest, qdd: rest };
    this.applied = rest;
  }

  /**
   * Computes a period for each of some references.
   * @param {Reference[]} references
   * @returns {{ q: Float64Array, tau: Float64Array }} of each period, at its begin
   */
  run(references) {
    const { mechanism, q: { length: nq } } = this, { n, data, program } = mechanism, size = 1 + nq + 2 * n;
    const given = new Float64Array(size * references.length);
    references.forEach(({ q, qd, qdd }, k) => {
      const row = given.subarray(size * k, size * (k + 1));
      row[0] = (this.calls + k) * data.simulation.period;
      row.set(q, 1);
      row.set(qd, 1 + nq);
      row.set(qdd, 1 + nq + n);
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
}

/** The part of the side panel that lets the robot go or holds it. */
class SimulationPanel {
  /** @param {ViewPage} page */
  constructor(page) {
    this.page = page;
    /** @type {ClosedLoop | null} */
    this.loop = null;
    this.status = make("p", { class: "status", role: "status" });
    const { passive } = page.data;
    if (passive) {
      this.element = section("Simulate", false, make("p", { class: "quiet" }, passive));
      return;
    }
    const { laws, bandwidths, known } = page.data.simulation;
    /** @type {string} */
    this.law = laws[0]?.kind ?? "none";
    const slider = (label, title, min, max, value, step, number) => {
      const shown = make("output", {}, fixedNumber(number(value), 1));
      const range = make("input", { type: "range", min, max, value, step, "aria-label": label, oninput: () => {
        shown.textContent = fixedNumber(number(Number(range.value)), 1);
        if (this.loop) this.restart();
      } });
      const unit = label === "bandwidth" ? "rad/s" : "1/s";
      return { range, element: make("div", { class: "row wide", title }, make("span", { class: "name" }, label), shown, make("span", { class: "unit" }, unit), range) };
    };
    this.bandwidth = slider("bandwidth", "Natural frequency for which the gains are designed", 0, bandwidths.length - 1, bandwidths.indexOf(USUAL_BANDWIDTH), 1, k => bandwidths[k]);
    this.damping = slider("friction", "Viscous friction: rate at which a joint alone comes to rest", 0, 10, 0, "any", x => x);
    this.limited = true;
    this.buttons = [["none", "Let go"], ["hold", "Hold"]].map(([kind, text]) =>
      make("button", { type: "button", class: kind === "none" ? "let-go" : "hold", "aria-pressed": "false", onclick: () => this.press(kind) }, text));
    this.element = section("Simulate", true,
      make("div", { class: "buttons" }, ...this.buttons),
      ...(laws.length ? [choice("Controller", laws.map(({ kind, name }) => [kind, name]), law => { this.law = law; if (this.loop) this.restart(); }),
        this.bandwidth.element, make("p", { class: "quiet" }, `The controller's model carries ${shortNumber(known)} kg, whatever the payload is.`)] : []),
      page.mechanism.quaternions.length ? make("p", { class: "quiet" }, NO_FRICTION) : this.damping.element,
      page.data.velocities.some(({ free }) => free) ? make("p", { class: "quiet" }, "Nothing carries the free base: there is no contact with the ground, so it falls, and the camera follows.") : "",
      make("div", { class: "checks" }, checkbox("effort limits", true, on => { this.limited = on; if (this.loop) this.loop.limited = on; })),
      this.status);
  }

  get options() {
    return { law: this.law, bandwidth: this.page.data.simulation.bandwidths[Number(this.bandwidth.range.value)], damping: Number(this.damping.range.value), mass: this.page.mass, limited: this.limited };
  }

  get holds() { return Boolean(this.loop) && this.loop.law !== "none"; }

  /** @param {string} kind */
  press(kind) {
    const same = this.loop && (kind === "none") === (this.loop.law === "none");
    if (same) this.stop();
    else this.start(kind === "none" ? "none" : this.law);
  }

  /** Lets the robot move from where it is, at the speed that it has. @param {string} law */
  start(law) {
    const { page } = this, before = this.loop;
    page.player?.pause();
    if (law === "none") page.pendant.forgetBranches();
    this.loop = new ClosedLoop(page.mechanism, page.q, { ...this.options, law });
    this.loop.stops = true;
    if (before) this.loop.plant.set(before.plant);
    this.mark();
    if (before) return;
    const { period } = page.data.simulation;
    let last = null, rest = 0;
    const frame = now => {
      if (!this.loop) return;
      rest += last === null ? 0 : (now - last) / 1000;
      last = now;
      const wanted = Math.floor(Math.min(rest, LONGEST_FRAME) / period);
      rest = Math.min(rest - wanted * period, LONGEST_FRAME);
      this.advance(wanted);
      if (this.loop) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  restart() {
    const { loop } = this;
    this.start(loop.law === "none" ? "none" : this.law);
    if (loop.law !== "none") this.loop.reference = loop.reference;
  }

  /** Place in the picture of the first free body, which the camera follows. */
  get base() {
    const { mechanism, q } = this.page, ball = mechanism.data.balls.find(({ free }) => free);
    return ball && [...mechanism.upright(mechanism.ballPose(q, ball)).subarray(12, 15)];
  }

  /** Computes periods and shows the last. @param {number} steps */
  advance(steps) {
    const { loop, page } = this;
    loop.mass = page.mass;
    if (!steps) return;
    const before = this.base;
    loop.run(new Array(steps).fill(loop.reference));
    if (!loop.finite) {
      this.stop();
      this.status.textContent = "The motion stopped: its numbers are not finite any more.";
      return;
    }
    page.show(loop.q.slice());
    if (before && page.scene) page.scene.camera.target = Vector.plus(page.scene.camera.target, Vector.minus(this.base, before));
  }

  stop() {
    if (!this.loop) return;
    this.loop = null;
    this.status.textContent = "";
    this.mark();
    this.page.refresh();
  }

  mark() {
    this.buttons?.forEach((button, k) => {
      const on = Boolean(this.loop) && (k === 0) === (this.loop.law === "none");
      button.setAttribute("aria-pressed", String(on));
      button.textContent = on ? "Stop" : ["Let go", "Hold"][k];
    });
    this.page.torques.title(this.loop ? (this.holds ? "Torques of the controller" : "Torques: none") : "Torques against gravity");
  }

  /**
   * The robot that follows a motion under the chosen controller.
   * @param {TaughtMotion} motion
   */
  follow(motion) {
    const { page } = this, { mechanism, data: { velocities, simulation: { period } } } = page;
    /** @type {Reference[]} */
    const planned = [];
    const count = Math.round(motion.duration / period), every = Math.max(1, Math.round(1 / PLAYED_RATE / period));
    for (let k = 0; k <= count; k++) planned.push(mechanism.onManifold(motion.at(k * period), planned[k - 1]?.q ?? motion.waypoints[0]));
    const loop = new ClosedLoop(mechanism, planned[0].q, this.options), found = loop.run(planned), nq = loop.q.length, times = [], q = [], wanted = [];
    const worst = { error: 0, joint: 0, time: 0 };
    let saturated = 0, finite = true, time = motion.duration;
    for (let k = 0; k <= count; k++) {
      const own = found.q.subarray(nq * k, nq * (k + 1)), tau = found.tau.subarray(mechanism.n * k, mechanism.n * (k + 1));
      if (!own.every(Number.isFinite) || !planned[k].q.every(Number.isFinite)) {
        [finite, time] = [false, k * period];
        break;
      }
      if (k % every === 0 || k === count) {
        times.push(k * period);
        q.push(...own);
        wanted.push(...planned[k].q);
      }
      mechanism.difference(own, planned[k].q).forEach((x, joint) => {
        if (!velocities[joint].free && Math.abs(x) > worst.error) Object.assign(worst, { error: Math.abs(x), joint, time: k * period });
      });
      saturated += Number(k < count && tau.some((x, j) => Math.abs(x) === velocities[j].effort));
    }
    return { finite, time, loop, times, q, wanted, worst, saturated: saturated * period };
  }
}
