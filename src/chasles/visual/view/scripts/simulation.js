// Simulation of the robot, free or under a controller: the same laws and steps as chasles.simulate(…, integrator="rk4").
"use strict";

const PERIOD = 1e-3;  // s, of the controller and of the steps
const LONGEST_FRAME = 0.04;  // s of motion between two pictures
const PLAYED_RATE = 60;  // Hz, of simulated motions that are played
const NO_FRICTION = "No friction is added to robots with free or spherical joints, as chasles.Friction takes joints of one degree of freedom.";

/**
 * @typedef {"none" | "pd" | "computed torque"} Law
 * @typedef {{ q: Float64Array, qd: Float64Array, qdd: Float64Array }} Reference
 */

/** A robot and its controller, whose torque is held for each period. */
class ClosedLoop {
  /**
   * @param {Mechanism} mechanism @param {ArrayLike<number>} q
   * @param {{ law: Law, bandwidth: number, damping: number, mass: number, limited: boolean }} options
   *   Bandwidth of the controller, rad/s; viscous friction as a rate of decay, 1/s; payload, kg; whether effort limits hold.
   */
  constructor(mechanism, q, { law, bandwidth, damping, mass, limited }) {
    this.mechanism = mechanism;
    /** @type {Float64Array} */
    this.q = Float64Array.from(q);
    /** @type {Float64Array} */
    this.qd = new Float64Array(mechanism.n);
    this.time = 0;
    this.law = law;
    this.bandwidth = bandwidth;
    this.mass = mass;
    this.limited = limited;
    const inertia = mechanism.inertia(q, mass);
    const { velocities } = mechanism.data;
    this.kp = inertia.map((m, k) => velocities[k].free ? 0 : bandwidth ** 2 * m);
    this.kd = inertia.map((m, k) => velocities[k].free ? 0 : 2 * bandwidth * m);
    this.viscous = inertia.map((m, k) => velocities[k].free ? 0 : damping * m);
    /** @type {Reference} */
    this.reference = { q: this.q.slice(), qd: this.qd.slice(), qdd: this.qd.slice() };
    this.applied = new Float64Array(mechanism.n);
  }

  /** Torques of the controller in the present state. */
  torque() {
    const { mechanism, q, qd, reference, law, bandwidth, mass } = this, { velocities } = mechanism.data;
    if (law === "none") return new Float64Array(mechanism.n);
    const error = mechanism.trackingError(q, qd, reference);
    /** @type {Float64Array} */
    let tau;
    if (law === "computed torque") {
      const feedback = k => velocities[k].free ? 0 : bandwidth ** 2 * error.position[k] + 2 * bandwidth * error.velocity[k];
      tau = mechanism.withoutBase(q, mechanism.torque({ q, qd, qdd: qd.map((_, k) => error.acceleration[k] + feedback(k)) }, mass), mass);
      const planned = mechanism.friction(q, reference.qd), present = planned && mechanism.friction(q, qd);
      if (planned) tau = tau.map((x, k) => x + planned[k] - present[k]);
    } else {
      const weight = mechanism.withoutBase(q, mechanism.gravity(q, mass), mass);
      tau = weight.map((g, k) => g + this.kp[k] * error.position[k] + this.kd[k] * error.velocity[k]);
    }
    return tau.map((x, k) => {
      const { effort, free } = velocities[k], most = this.limited && effort !== null ? effort : Infinity;
      return free ? 0 : Math.min(most, Math.max(-most, x));
    });
  }

  /** Rates of the state under torques that are held. @param {Float64Array} q @param {Float64Array} qd @param {Float64Array} tau */
  rates(q, qd, tau) {
    const { mechanism, viscous, mass } = this;
    return { q: mechanism.rate(q, qd), qd: mechanism.acceleration(q, qd, tau.map((x, k) => x - viscous[k] * qd[k]), mass) };
  }

  /** One period: the classical method of Runge and Kutta. */
  step(h = PERIOD) {
    const { q, qd } = this, tau = this.applied = this.torque();
    const moved = (x, rate, part) => x.map((value, k) => value + part * rate[k]);
    const a = this.rates(q, qd, tau);
    const b = this.rates(moved(q, a.q, h / 2), moved(qd, a.qd, h / 2), tau);
    const c = this.rates(moved(q, b.q, h / 2), moved(qd, b.qd, h / 2), tau);
    const d = this.rates(moved(q, c.q, h), moved(qd, c.qd, h), tau);
    const sum = part => a[part].map((x, k) => h / 6 * (x + 2 * b[part][k] + 2 * c[part][k] + d[part][k]));
    const [dq, dqd] = [sum("q"), sum("qd")];
    this.q = this.mechanism.normalized(q.map((x, k) => x + dq[k]));
    this.qd = qd.map((x, k) => x + dqd[k]);
    this.time += h;
  }

  /** Keeps joints that reached a limit there, at rest: inelastic stops, which simulations in Python do not have. */
  rest() {
    const { mechanism } = this, { coordinates } = mechanism, q = this.q.slice();
    let stopped = false;
    mechanism.data.velocities.forEach(({ coordinate }, k) => {
      if (coordinate === null) return;
      const { low, high } = coordinates[coordinate], x = q[coordinate];
      const inside = Math.min(high ?? Infinity, Math.max(low ?? -Infinity, x));
      if (inside === x) return;
      q[coordinate] = inside;
      if (this.qd[k] * (x - inside) > 0) this.qd[k] = 0;
      stopped = true;
    });
    const closed = stopped ? mechanism.normalized(q) : q;
    if (closed.every(Number.isFinite)) this.q = closed;
  }

  get finite() { return this.q.every(Number.isFinite) && this.qd.every(Number.isFinite); }
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
    const laws = [["pd", "PD and gravity"], ["computed torque", "computed torque"]];
    /** @type {Law} */
    this.law = "pd";
    const slider = (label, title, min, max, value) => {
      const shown = make("output", {}, String(value));
      const range = make("input", { type: "range", min, max, value, step: "any", "aria-label": label, oninput: () => {
        shown.textContent = fixedNumber(Number(range.value), 1);
        if (this.loop) this.restart();
      } });
      const unit = label === "bandwidth" ? "rad/s" : "1/s";
      return { range, element: make("div", { class: "row wide", title }, make("span", { class: "name" }, label), shown, make("span", { class: "unit" }, unit), range) };
    };
    this.bandwidth = slider("bandwidth", "Bandwidth of the controller", 1, 30, 8);
    this.damping = slider("friction", "Viscous friction: rate at which a joint alone comes to rest", 0, 10, 0);
    this.limited = true;
    this.buttons = [["none", "Let go"], ["hold", "Hold"]].map(([kind, text]) =>
      make("button", { type: "button", class: kind === "none" ? "let-go" : "hold", "aria-pressed": "false", onclick: () => this.press(kind) }, text));
    this.element = section("Simulate", true,
      make("div", { class: "buttons" }, ...this.buttons),
      choice("Controller", laws, law => { this.law = /** @type {Law} */ (law); if (this.loop) this.restart(); }),
      this.bandwidth.element, page.mechanism.quaternions.length ? make("p", { class: "quiet" }, NO_FRICTION) : this.damping.element,
      page.data.velocities.some(({ free }) => free) ? make("p", { class: "quiet" }, "Nothing carries the free base: there is no contact with the ground, so it falls, and the camera follows.") : "",
      make("div", { class: "checks" }, checkbox("effort limits", true, on => { this.limited = on; if (this.loop) this.loop.limited = on; })),
      this.status);
  }

  get options() {
    return { law: this.law, bandwidth: Number(this.bandwidth.range.value), damping: Number(this.damping.range.value), mass: this.page.mass, limited: this.limited };
  }

  get holds() { return Boolean(this.loop) && this.loop.law !== "none"; }

  /** @param {string} kind */
  press(kind) {
    const same = this.loop && (kind === "none") === (this.loop.law === "none");
    if (same) this.stop();
    else this.start(kind === "none" ? "none" : this.law);
  }

  /** Lets the robot move from where it is, at the speed that it has. @param {Law} law */
  start(law) {
    const { page } = this, before = this.loop;
    page.player?.pause();
    if (law === "none") page.pendant.forgetBranches();
    this.loop = new ClosedLoop(page.mechanism, page.q, { ...this.options, law });
    if (before) this.loop.qd = before.qd;
    this.mark();
    if (before) return;
    let last = null, rest = 0;
    const frame = now => {
      if (!this.loop) return;
      rest += last === null ? 0 : (now - last) / 1000;
      last = now;
      const wanted = Math.floor(Math.min(rest, LONGEST_FRAME) / PERIOD);
      rest = Math.min(rest - wanted * PERIOD, LONGEST_FRAME);
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
    const before = this.base;
    for (let k = 0; k < steps; k++) {
      const { q } = loop;
      loop.step();
      if (loop.finite) { loop.rest(); continue; }
      loop.q = q;
      this.stop();
      this.status.textContent = "The motion stopped: its numbers are not finite any more.";
      return;
    }
    if (!steps) return;
    page.show(loop.q);
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
    const { page } = this, { mechanism } = page, start = mechanism.onManifold(motion.at(0), motion.waypoints[0]);
    const loop = new ClosedLoop(mechanism, start.q, this.options), times = [], q = [], wanted = [];
    loop.reference = start;
    const count = Math.round(motion.duration / PERIOD), every = Math.max(1, Math.round(1 / PLAYED_RATE / PERIOD));
    let worst = { error: 0, joint: 0, time: 0 }, saturated = 0;
    for (let k = 0; k <= count; k++) {
      loop.reference = mechanism.onManifold(motion.at(k * PERIOD), loop.reference.q);
      if (k % every === 0 || k === count) {
        times.push(k * PERIOD);
        q.push(...loop.q);
        wanted.push(...Array.from(loop.reference.q));
      }
      mechanism.difference(loop.q, loop.reference.q).forEach((x, joint) => {
        if (!page.data.velocities[joint].free && Math.abs(x) > worst.error) worst = { error: Math.abs(x), joint, time: k * PERIOD };
      });
      if (k === count) break;
      loop.step();
      if (!loop.finite) return { finite: false, time: k * PERIOD, loop, times, q, wanted, worst, saturated };
      saturated += Number(loop.applied.some((x, j) => Math.abs(x) === page.data.velocities[j].effort));
    }
    return { finite: true, time: motion.duration, loop, times, q, wanted, worst, saturated: saturated * PERIOD };
  }
}
