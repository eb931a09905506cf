// The part of the side panel that lets the robot go, holds it, pushes it, or lets it follow a motion under a law.
"use strict";

const LONGEST_FRAME = 0.04;  // s of motion between two pictures
const PLAYED_RATE = 60;  // Hz, of simulated motions that are played
const PUSH_TIME = 0.1;  // s
const PUSHES_AT_MOST = 20;  // N for each kg of the largest payload: twice its weight
const STIFF = "This robot's friction is stiff: the page integrates it in smaller steps with implicit friction (of first order), and is less exact than for other robots.";
const NO_FRICTION = "No friction is added to robots with free or spherical joints, as chasles.Friction takes joints of one degree of freedom.";

class SimulationPanel {
  /** @param {ViewPage} page */
  constructor(page) {
    this.page = page;
    /** @type {ClosedLoop | null} */
    this.loop = null;
    this.next = 0;  // request for a frame
    /** @type {Reference[] | undefined} The page's motion at all calls. */
    this.planned = undefined;
    /** @type {Object<string, Float64Array[]>} Schedules along it, by law. */
    this.schedules = {};
    this.status = make("p", { class: "status", role: "status" });
    const { passive } = page.data;
    if (passive) {
      this.element = section("Simulate", false, make("p", { class: "quiet" }, passive));
      return;
    }
    const { laws, bandwidths, usual, known, notFollowed, steps } = page.data.simulation;
    /** @type {string} */
    this.law = laws[0]?.kind ?? "none";
    const slider = (label, title, unit, min, max, value, step, number, changed) => {
      const shown = make("output", {}, fixedNumber(number(value), 1));
      const range = make("input", { type: "range", min, max, value, step, "aria-label": label, oninput: () => {
        shown.textContent = fixedNumber(number(Number(range.value)), 1);
        changed();
      } });
      return { range, element: make("div", { class: "row wide", title }, make("span", { class: "name" }, label), shown, make("span", { class: "unit" }, unit), range) };
    };
    const again = () => { if (this.loop) this.restart(); };
    this.bandwidth = slider("bandwidth", "Natural frequency for which the gains are designed", "rad/s", 0, bandwidths.length - 1, bandwidths.indexOf(usual), 1, k => bandwidths[k], again);
    this.damping = slider("friction", "Viscous friction: rate at which a joint alone comes to rest", "1/s", 0, 10, 0, "any", x => x, again);
    const most = PUSHES_AT_MOST * page.data.payload.most;
    this.force = slider("push", "Force on the tool for a tenth of a second", "N", 0, most, most / 4, "any", x => x, () => {});
    this.way = choice("Push along", ["+x", "−x", "+y", "−y", "+z", "−z"].map((name, k) => [String(k), name]), () => {});
    this.limited = true;
    this.buttons = [["none", "Let go"], ["hold", "Hold"]].map(([kind, text]) =>
      make("button", { type: "button", class: kind === "none" ? "let-go" : "hold", "aria-pressed": "false", onclick: () => this.press(kind) }, text));
    this.pushButton = make("button", { type: "button", class: "push", disabled: true, title: "Push the tool for a tenth of a second while the robot is simulated", onclick: () => this.push() }, "Push");
    this.motion = page.data.simulation.tables.motion ? make("button", { type: "button", class: "follow", title: "Follow the motion of this page under the controller", onclick: () => this.followPage() }, "Follow the motion") : "";
    this.error = make("p", { class: "law" });
    document.querySelector(".stage").append(this.error);
    this.given = make("p", { class: "quiet" });
    this.element = section("Simulate", true,
      make("div", { class: "buttons" }, ...this.buttons, this.motion),
      ...(laws.length ? [choice("Controller", laws.map(({ kind, name }) => [kind, name]), law => this.choose(law)),
        this.bandwidth.element, this.given, make("p", { class: "quiet" }, `The controller's model carries ${shortNumber(known)} kg, whatever the payload is.`)] : []),
      this.status,
      steps[1] > 1 ? make("p", { class: "quiet" }, STIFF) : "",
      page.mechanism.quaternions.length ? make("p", { class: "quiet" }, NO_FRICTION) : this.damping.element,
      this.force.element, make("div", { class: "buttons" }, this.way, this.pushButton),
      page.data.velocities.some(({ free }) => free) ? make("p", { class: "quiet" }, "Nothing carries the free base: there is no contact with the ground, so it falls, and the camera follows.") : "",
      make("div", { class: "checks" }, checkbox("effort limits", true, on => { this.limited = on; if (this.loop) this.loop.limited = on; })),
      notFollowed ? make("p", { class: "quiet" }, `The controllers cannot follow this motion here: ${notFollowed}.`) : "");
    this.describe();
  }

  get options() {
    return { law: this.law, bandwidth: this.page.data.simulation.bandwidths[Number(this.bandwidth.range.value)], damping: Number(this.damping.range.value), mass: this.page.mass, limited: this.limited };
  }

  get holds() { return Boolean(this.loop) && this.loop.law !== "none"; }

  /** The law that is chosen. @returns {Law | undefined} */
  get chosen() { return this.page.data.simulation.laws.find(({ kind }) => kind === this.law); }

  /** @param {string} law */
  choose(law) {
    this.law = law;
    this.describe();
    if (this.loop) this.restart();
  }

  /** Says what is special about the law that is chosen. */
  describe() {
    const { chosen } = this, one = !chosen || chosen.gains.length === 1;
    this.bandwidth.element.hidden = one;
    this.given.textContent = !chosen || !one ? "" : chosen.schedule ?
      "Its values are computed beforehand: along this page's motion, if it has one, and for rest in the configuration it was opened with, where the law holds the robot." :
      "Its gains are those it was given in Python.";
  }

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
    this.status.textContent = "";
    if (before) this.loop.plant.set(before.plant);
    this.mark();
    if (before) return;
    const { period } = page.data.simulation;
    let last = null, rest = 0;
    const frame = now => {
      rest += last === null ? 0 : (now - last) / 1000;
      last = now;
      const wanted = Math.floor(Math.min(rest, LONGEST_FRAME) / period);
      rest = Math.min(rest - wanted * period, LONGEST_FRAME);
      this.advance(wanted);
      if (this.loop) this.next = requestAnimationFrame(frame);
    };
    this.next = requestAnimationFrame(frame);
  }

  restart() {
    const { loop } = this;
    this.start(loop.law === "none" ? "none" : this.law);
    if (loop.law !== "none" && !this.loop.schedule && !loop.schedule) this.loop.reference = loop.reference;
  }

  /** Gives the law that runs a goal. @param {Float64Array} q */
  aim(q) {
    const { loop, page: { mechanism: { n } } } = this;
    if (loop.schedule) {
      this.status.textContent = `The goal stays: the values of “${loop.name}” were computed for the configuration that this page was opened with. Choose another controller to move the goal.`;
      this.page.refresh();
      return;
    }
    loop.reference = { q, qd: new Float64Array(n), qdd: new Float64Array(n) };
  }

  /** Pushes the tool of the robot that is simulated. */
  push() {
    const k = Number(this.way.querySelector("select").value), force = [0, 0, 0];
    force[k >> 1] = (k % 2 ? -1 : 1) * Number(this.force.range.value);
    this.loop?.push(force, PUSH_TIME);
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
      const { name } = loop;
      this.stop();
      this.status.textContent = `The motion stopped under ${name}: its numbers are not finite any more.`;
      return;
    }
    page.show(loop.q.slice());
    this.error.textContent = this.words;
    if (before && page.scene) page.scene.camera.carry(Vector.minus(this.base, before));
  }

  /** Brings the camera back when a free body that it went after is where it began. */
  returnCamera() {
    const { base, page: { scene } } = this;
    if (!base || !scene) return;
    const { target, carried } = scene.camera, away = Vector.minus(base, target), back = Vector.plus(away, carried);
    if (Math.hypot(...back) < Math.hypot(...away)) scene.camera.carry(carried.map(x => -x));
  }

  /** Which law runs, how far the robot is from the goal, and whose torques are at their limits. */
  get words() {
    const { loop, page: { mechanism } } = this, { velocities } = mechanism.data;
    if (loop.law === "none") return "No controller: the robot moves by itself.";
    const tool = mechanism.poseError(mechanism.tool(loop.q).T, mechanism.tool(loop.reference.q).T), away = mechanism.difference(loop.q, loop.reference.q);
    let worst = -1;
    away.forEach((x, k) => { if (!velocities[k].free && (worst < 0 || Math.abs(x) > Math.abs(away[worst]))) worst = k; });
    const limited = loop.limited ? velocities.filter(({ effort }, k) => effort !== null && Math.abs(loop.applied[k]) >= effort).map(({ name }) => name) : [];
    return `Held by ${loop.name}. Error: ${fixedNumber(1000 * tool.distance, 1)} mm and ${fixedNumber(tool.angle / DEGREE, 2)}° at the tool` +
      (worst < 0 ? "." : `, at most ${jointAmount(velocities[worst], Math.abs(away[worst]))} in ${velocities[worst].name}.`) + (limited.length ? ` Torque at its limit: ${limited.join(", ")}.` : "");
  }

  stop() {
    if (!this.loop) return;
    cancelAnimationFrame(this.next);
    this.loop = null;
    this.status.textContent = this.error.textContent = "";
    this.mark();
    this.page.refresh();
  }

  mark() {
    this.buttons?.forEach((button, k) => {
      const on = Boolean(this.loop) && (k === 0) === (this.loop.law === "none");
      button.setAttribute("aria-pressed", String(on));
      button.textContent = on ? "Stop" : ["Let go", "Hold"][k];
    });
    this.pushButton.disabled = !this.loop;
    this.page.torques.title(this.loop ? (this.holds ? "Torques of the controller" : "Torques: none") : "Torques against gravity");
  }

  /**
   * The robot that follows a taught motion under the chosen controller.
   * @param {TaughtMotion} motion
   */
  follow(motion) {
    const { page } = this, { mechanism, data: { simulation: { period } } } = page;
    /** @type {Reference[]} */
    const planned = [];
    const count = Math.round(motion.duration / period), every = Math.max(1, Math.round(1 / PLAYED_RATE / period));
    for (let k = 0; k <= count; k++) planned.push(mechanism.onManifold(motion.at(k * period), planned[k - 1]?.q ?? motion.waypoints[0]));
    const kept = planned.map((_, k) => k).filter(k => k % every === 0 || k === count);
    return new ClosedLoop(mechanism, planned[0].q, this.options).follow(planned, kept);
  }

  /** Lets the robot follow the motion of the page, and plays what it did beside what was recorded. */
  async followPage() {
    const { page, options } = this, { mechanism, data: { recording, simulation: { period, begin, tables } } } = page, { n } = mechanism, nq = page.q.length;
    this.stop();
    this.planned ??= (await decodeTable(tables.motion)).map(row => ({ q: row.slice(0, nq), qd: row.slice(nq, nq + n), qdd: row.slice(nq + n) }));
    if (tables[options.law]) this.schedules[options.law] ??= await decodeTable(tables[options.law]);
    const rows = this.schedules[options.law], planned = rows ? this.planned.map((motion, k) => ({ ...motion, schedule: rows[k] })) : this.planned;
    const kept = recording.times.map(time => Math.min(planned.length - 1, Math.round((time - begin) / period)));
    const loop = new ClosedLoop(mechanism, planned[0].q, options), found = loop.follow(planned, kept), shown = found.times.length;
    page.playMotion({ times: recording.times.slice(0, shown), runs: [{ label: `under ${loop.name}`, q: found.q }, ...recording.runs.map(({ label, q }) => ({ label, q: q.slice(0, shown * nq) }))] });
    page.player.play();
    this.error.textContent = `Under ${loop.name}: ${this.outcome(found)}`;
    return found;
  }

  /** What came of a motion, in a sentence. @param {ReturnType<ClosedLoop["follow"]>} found */
  outcome(found) {
    const { error, joint, time } = found.worst, velocity = this.page.data.velocities[joint];
    if (!found.finite) return `The simulation stopped at ${found.time.toFixed(2)} s: its numbers are not finite any more.`;
    return `Largest error: ${jointAmount(velocity, error)} of ${velocity.name} at ${time.toFixed(2)} s.` + (found.saturated ? ` A torque was at its limit for ${found.saturated.toFixed(2)} s.` : "");
  }
}

/** A displacement of a joint as people read it. @param {{ unit: string }} velocity with the unit of its torque @param {number} x rad or m */
function jointAmount({ unit }, x) { return unit === "N·m" ? `${shortNumber(x / DEGREE)}°` : `${shortNumber(1000 * x)} mm`; }
