// The teach pendant: steps in space, other configurations for the same pose, waypoints, and the motion through them.
"use strict";

const JOG_STEPS = [["small", "1 mm, 0.5°", 0.001, 0.5], ["medium", "10 mm, 5°", 0.01, 5], ["large", "50 mm, 15°", 0.05, 15]];
const BRANCH_STARTS = 48;
const SAME = 1e-3;  // rad or m, between configurations that count as one
const AT_REST = 1e-9;  // rad or m, between waypoints without a motion
const SAVED_DECIMALS = 12;

class Pendant {
  /** @param {ViewPage} page */
  constructor(page) {
    this.page = page;
    /** @type {Float64Array[]} */
    this.waypoints = [];
    /** @type {"stops" | "through"} */
    this.kind = "stops";
    this.step = JOG_STEPS[1];
    this.list = make("div", { class: "list" });
    this.report = make("p", { class: "status", role: "status" });
    this.found = make("p", { class: "quiet" });
    this.branch = choice("Chosen", [], value => page.move(this.branches[Number(value)]));
    this.branch.hidden = true;
    /** @type {Float64Array[]} */
    this.branches = [];
    this.speed = make("input", { type: "range", min: 5, max: 100, value: 50, "aria-label": "speed, % of the velocity limits" });
    this.playButton = make("button", { type: "button", class: "play-waypoints", onclick: () => this.play() }, "Play");
    this.saveButtons = [["TOML", "toml"], ["CSV", "csv"], ["Python", "py"]].map(([text, suffix]) =>
      make("button", { type: "button", class: `save-${suffix}`, onclick: () => this.save(suffix) }, text));
    this.simulateButton = make("button", { type: "button", class: "simulate", onclick: () => this.simulate() }, "Simulate");
    /** @type {any} Options and result of the last simulation of the motion. */
    this.simulated = null;
    const jog = page.mechanism.dragged ? [
      choice("Step", JOG_STEPS.map(([name, text]) => [String(name), String(text)]), value => { this.step = JOG_STEPS.find(([name]) => name === value); }),
      make("div", { class: "jog" }, ...["x", "y", "z"].flatMap((name, k) => [-1, 1].map(way => this.jogButton(name, k, way, false))),
        ...["x", "y", "z"].flatMap((name, k) => [-1, 1].map(way => this.jogButton(name, k, way, true)))),
      ...(page.mechanism.plain ? [
        make("div", { class: "buttons" }, make("button", { type: "button", class: "branches", onclick: () => this.findBranches() }, "Other configurations")),
        this.branch, this.found] : [make("p", { class: "quiet" }, "Other configurations for the tool's pose are found for robots whose coordinates are independent: not with loops, free or spherical joints.")]),
    ] : [];
    this.element = section("Teach", true, ...jog, make("h3", { title: "Joint positions in ° and mm" }, "Waypoints"),
      make("div", { class: "buttons" }, make("button", { type: "button", class: "record", onclick: () => this.record() }, "Record"), this.playButton, page.data.passive ? "" : this.simulateButton),
      this.list,
      choice("Motion", [["stops", "stops at each waypoint"], ["through", "passes through waypoints"]], kind => { this.kind = kind === "stops" ? "stops" : "through"; }),
      make("label", { class: "choice" }, make("span", {}, "Speed"), this.speed),
      this.report,
      make("div", { class: "buttons" }, make("span", { class: "quiet" }, "Save as"), ...this.saveButtons));
    this.showList();
    const step = this.element.querySelector('select[aria-label="Step"]');
    if (step) step.value = "medium";
  }

  jogButton(name, axis, way, turns) {
    const sign = way > 0 ? "+" : "−", label = turns ? `turn ${sign} about ${name}` : `move ${sign} along ${name}`;
    return make("button", { type: "button", title: label, "aria-label": label, onclick: () => this.jog(axis, way, turns) }, `${turns ? "⟳" : ""}${name}${sign}`);
  }

  /** Moves the tool by a step along or about an axis of the handles. */
  jog(axis, way, turns) {
    const { gizmo } = this.page, goal = [...this.page.handlePose()];
    const a = this.page.handleAxes(axis);
    if (turns) {
      const R = Rotation.times(Rotation.about(a, way * Number(this.step[3]) * DEGREE), [0, 1, 2].flatMap(i => goal.slice(4 * i, 4 * i + 3)));
      for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) goal[4 * i + j] = R[3 * i + j];
    } else if (!gizmo.shifts) {
      this.page.tool.status.textContent = "A spherical joint only turns.";
      return;
    } else for (let i = 0; i < 3; i++) goal[4 * i + 3] += way * Number(this.step[2]) * a[i];
    this.page.drag(goal);
  }

  /** Looks for other configurations with the same pose of the tool, from starts spread over the limits. */
  findBranches() {
    const { mechanism, q, gizmo } = this.page, goal = mechanism.tool(q).T, { first, span, direction } = mechanism.data.reach;
    const found = [q];
    for (let k = 1; k < BRANCH_STARTS; k++) {
      const start = q.map((x, j) => span[j] ? first[j] + span[j] * ((k * direction[j] + 0.5) % 1) : x);
      const other = mechanism.reachAnyhow(start, goal, gizmo.turns, 60);
      const known = found.some(own => own.every((x, j) => Math.abs(Math.sin((x - other.q[j]) / 2)) < SAME));
      if (other.reached && !known) found.push(Float64Array.from(other.q));
    }
    this.branches = found;
    this.page.branchGhosts = found.slice(1, 9);
    this.branch.hidden = found.length < 2;
    const select = this.branch.querySelector("select");
    select.replaceChildren(...found.map((_, k) => make("option", { value: k }, k ? `configuration ${k + 1}` : "this one")));
    const held = gizmo.turns ? 6 : mechanism.ellipsoid(mechanism.tool(q).J).lengths.filter(length => length > 1e-9).length;
    this.found.textContent = found.length < 2 ? "No other configuration was found." :
      `${found.length} configurations were found${mechanism.n > held ? ", of infinitely many" : ""}.`;
    this.page.refresh();
  }

  /** Takes the other configurations out of the picture. */
  forgetBranches() {
    if (!this.branches.length) return;
    this.branches = this.page.branchGhosts = [];
    this.branch.hidden = true;
    this.found.textContent = "";
  }

  /** Waypoints of the motion: those where the robot already is are left out. */
  get distinct() {
    return this.waypoints.filter((q, k) => k === 0 || q.some((x, j) => Math.abs(x - this.waypoints[k - 1][j]) > AT_REST));
  }

  record() {
    this.waypoints.push(Float64Array.from(this.page.q));
    this.showList();
    this.page.move(this.page.q);
  }

  showList() {
    this.list.replaceChildren(...this.waypoints.map((q, k) => {
      const { coordinates } = this.page.mechanism, shown = { rad: [1 / DEGREE, 1], m: [1000, 0], "": [1, 2] };
      const text = Array.from(q, (x, j) => { const [scale, decimals] = shown[coordinates[j].unit]; return fixedNumber(scale * x, decimals); }).join(", ");
      const button = (label, title, act) => make("button", { type: "button", title, "aria-label": `${title} ${k + 1}`, onclick: act }, label);
      return make("div", { class: "waypoints" }, make("span", { class: "quiet", title: text }, `${k + 1}: ${text}`),
        button("go", "Go to waypoint", () => this.page.move(Float64Array.from(q))),
        button("set", "Replace waypoint", () => { this.waypoints[k] = Float64Array.from(this.page.q); this.changed(); }),
        button("×", "Delete waypoint", () => { this.waypoints.splice(k, 1); this.changed(); }));
    }));
    const { distinct, waypoints } = this;
    this.simulated = null;
    for (const button of [this.playButton, this.simulateButton, ...this.saveButtons]) button.disabled = distinct.length < 2;
    const repeated = waypoints.findIndex(q => !distinct.includes(q)) + 1;
    this.report.textContent = repeated ? `Waypoint ${repeated} is where waypoint ${repeated - 1} is: the motion leaves it out.` : "";
  }

  changed() {
    this.showList();
    this.page.move(this.page.q);
  }

  /** The motion through the waypoints. */
  motion() {
    const { velocities, coordinates } = this.page.mechanism.data, part = Number(this.speed.value) / 100;
    const plain = velocities.length === coordinates.length;
    const speeds = coordinates.map((_, k) => part * ((plain && velocities[k].speed) || 1));
    return TaughtMotion.within(this.page.mechanism, this.page.mechanism.continuous(this.distinct), this.kind, speeds);
  }

  play() {
    const motion = this.motion(), times = motion.samples, { page } = this;
    const problems = motion.violations(page.mass);
    this.report.textContent = problems.length ? problems.slice(0, 4).join(" ") : "";
    const path = motion.along().map(({ q }) => q), closed = path.findIndex(q => !q.every(Number.isFinite));
    const count = closed < 0 ? path.length : closed;
    if (count < 2) return;
    page.playMotion({ times: times.slice(0, count), runs: [{ label: "taught", q: path.slice(0, count).flatMap(q => [...q]) }] });
    page.player.play();
  }

  /** Lets the robot follow the motion under the controller that is chosen, and plays what it did. */
  simulate() {
    const motion = this.motion(), { page } = this;
    page.simulation.stop();
    const { chosen } = page.simulation;
    if (chosen?.schedule) {
      this.report.textContent = `“${chosen.name}” computes values along a motion beforehand, in Python: it follows the motion that a page was made of, chasles.view(robot, motion, laws=…), and no taught one. Choose another controller.`;
      return;
    }
    const found = page.simulation.follow(motion);
    this.simulated = { ...page.simulation.options, loop: found.loop };
    this.report.textContent = page.simulation.outcome(found);
    page.playMotion({ times: found.times, runs: [{ label: "simulated", q: found.q }, { label: "planned", q: found.wanted }] });
    page.player.play();
  }

  /** Lines of Python that repeat the last simulation of the motion. */
  get simulationText() {
    if (!this.simulated) return "";
    const { law, bandwidth, mass, limited, loop } = this.simulated, list = values => `[${Array.from(values, String).join(", ")}]`;
    const { period, laws, steps, tunedFor } = this.page.data.simulation, catalogued = law === "none" || laws.find(({ kind }) => kind === law).gains.length > 1;
    return `    loaded = arm.with_payload(${mass})  # kg\n    moderate = ch.PointToPoint(arm.home, ${list(tunedFor)}, 1.0)  # for which gains are tuned\n` +
      (law === "none" ? "    law = None\n" : !catalogued ? `    law = ...  # ${JSON.stringify(law)}, as the page was given it\n` : `    law = ch.control.laws()[${JSON.stringify(law)}].tuned(arm, moderate, ${period}, frequency=${bandwidth})  # the model without that payload\n`) +
      `    plant = ch.Plant(loaded${loop.viscous?.some(Boolean) ? `, friction=ch.Friction(loaded, viscous=${list(loop.viscous)})` : ""}${limited ? "" : ", effort_limits=False"})\n` +
      `    run = ch.simulate(plant, law, motion, integrator=ch.integrators.Steps("${steps[0]}", ${steps[1]}))\n    print(run.metrics())\n`;
  }

  /** Text of a file that reproduces the motion. @param {string} suffix */
  text(suffix) {
    const { times, waypoints, kind } = this.motion(), { name, source, coordinates } = this.page.data;
    const rows = waypoints.map(q => Array.from(q, x => Number(x.toFixed(SAVED_DECIMALS)) || 0)), numbers = row => `[${row.map(String).map(x => /[.e]/.test(x) ? x : `${x}.0`).join(", ")}]`;
    const quoted = JSON.stringify;
    const units = coordinates.map(({ unit }) => unit || "1"), names = coordinates.map(coordinate => coordinate.name);
    if (suffix === "csv") {
      const cell = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      return [["time", ...names].map(cell).join(","), ...rows.map((row, k) => [times[k], ...row].join(","))].join("\n") + "\n";
    }
    if (suffix === "toml") {
      return `# Waypoints that were taught on a page of Chasles; s, rad and m.\nrobot = ${quoted(name)}\nmotion = ${quoted(kind)}\n` +
        `coordinates = [${names.map(x => quoted(x)).join(", ")}]\nunits = [${units.map(x => quoted(x)).join(", ")}]\n` +
        `times = ${numbers(times)}\nwaypoints = [\n${rows.map(row => `    ${numbers(row)},\n`).join("")}]\n` +
        (this.simulated ? `\n[simulation]\ncontroller = ${quoted(this.simulated.law)}\nbandwidth = ${numbers([this.simulated.bandwidth]).slice(1, -1)}\n` +
          `friction = ${numbers([this.simulated.damping]).slice(1, -1)}\npayload = ${numbers([this.simulated.mass]).slice(1, -1)}\n` : "");
    }
    const call = kind === "stops" ? "ch.HermiteSpline(times, waypoints, 0.0, 0.0)  # rests at each waypoint" : "ch.CubicSpline(times, waypoints)  # rests at both ends";
    return `"""Motion of robot ${quoted(name).slice(1, -1).replaceAll('"', "'")}, taught on a page of Chasles."""\n\nimport chasles as ch\n\n` +
      `arm = ch.load(${quoted(source)})${source.endsWith(".toml") ? "  # the robot of the page, written by arm.save" : ""}\n` +
      `times = ${numbers(times)}  # s\nwaypoints = [  # ${names.map(x => quoted(x).slice(1, -1)).join(", ")}; rad, m\n${rows.map(row => `    ${numbers(row)},\n`).join("")}]\n` +
      `motion = ${call}\n\nif __name__ == "__main__":\n    print(motion.check(arm))\n${this.simulationText}`;
  }

  /** @param {string} suffix */
  save(suffix) {
    const link = make("a", { href: URL.createObjectURL(new Blob([this.text(suffix)], { type: "text/plain" })), download: `waypoints.${suffix}` });
    link.click();
    URL.revokeObjectURL(link.href);
  }
}
