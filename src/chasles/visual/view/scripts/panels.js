// What stands beside the picture: sliders of the joints, the tool's pose, torques as bars.
"use strict";

/**
 * An element with attributes, listeners (`onclick`) and content.
 * @param {string} tag @param {Object<string, any>} attributes @param {...(Node | string)} content
 * @returns {any}
 */
function make(tag, attributes = {}, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...content);
  return element;
}

/** A part of the side panel that folds. @param {string} title @param {boolean} open @param {...(Node | string)} content */
function section(title, open, ...content) {
  return make("details", { open }, make("summary", {}, title), make("div", { class: "body" }, ...content));
}

/** @param {string} label @param {boolean} on @param {(on: boolean) => void} changed */
function checkbox(label, on, changed) {
  const box = make("input", { type: "checkbox", onchange: () => changed(box.checked) });
  box.checked = on;
  return make("label", { class: "check" }, box, label);
}

/** @param {string} label @param {string[][]} options value and text @param {(value: string) => void} changed */
function choice(label, options, changed) {
  const select = make("select", { "aria-label": label, onchange: () => changed(select.value) },
    ...options.map(([value, text]) => make("option", { value }, text)));
  return make("label", { class: "choice" }, make("span", {}, label), select);
}

/** Names without the beginning and the end that all of them share, cut at punctuation. @param {string[]} names */
function shortNames(names) {
  if (names.length < 2) return names;
  const words = names.map(name => name.split(/(?<=[_:/])/));
  const fewest = Math.min(...words.map(parts => parts.length)), shared = (/** @type {(parts: string[]) => string} */ at) => words.every(parts => at(parts) === at(words[0]));
  let start = 0, end = 0;
  while (start + 1 < fewest && shared(parts => parts[start])) start++;
  while (start + end + 1 < fewest && shared(parts => parts[parts.length - 1 - end])) end++;
  return words.map(parts => parts.slice(start, parts.length - end).join("").replace(end ? /_$/ : "", ""));
}

const LONG_NAME = 12;  // letters from which on the names of a list are written small
const FEW_ROWS = 12;

/** The class of a list of names, all of which have one size. @param {string[]} names */
function listClass(names) { return names.some(name => name.length > LONG_NAME) ? "names long" : "names"; }

/**
 * A field above a long list that leaves the rows whose names contain what is typed.
 * @param {string} label @param {string[]} names @param {HTMLElement[]} rows
 */
function rowFilter(label, names, rows) {
  if (rows.length <= FEW_ROWS) return "";
  const field = make("input", { type: "search", class: "filter", placeholder: `Find one of ${rows.length}`, "aria-label": label, oninput: () => {
    const wanted = field.value.trim().toLowerCase();
    rows.forEach((row, k) => { row.hidden = !names[k].toLowerCase().includes(wanted); });
  } });
  return field;
}

/** A name that may be broken after its underscores. @param {string} name */
function nameLabel(name) {
  return make("span", { class: "name" }, ...name.split(/(?<=[_.])/).flatMap(part => [part, make("wbr")]));
}

/** One degree of freedom as people move it: a coordinate, or an angle of a quaternion. */
class Control {
  /**
   * @param {string} name @param {string} unit @param {number} first @param {number} last
   * @param {{ low: number, high: number, follows: boolean }} limits Limits, and whether loops move it.
   * @param {(q: Float64Array) => number} get @param {(q: Float64Array, value: number) => void} set
   */
  constructor(name, unit, first, last, limits, get, set) {
    this.name = name;
    this.unit = unit;
    this.first = first;
    this.last = last;
    this.limits = limits;
    this.get = get;
    this.set = set;
  }

  /** Factor from SI units to those shown. */
  get scale() { return this.unit === "°" ? 1 / DEGREE : this.unit === "mm" ? 1000 : 1; }

  get step() { return this.unit === "°" ? 0.1 : this.unit === "mm" ? 0.1 : 0.001; }

  get decimals() { return this.unit === "rad" || this.unit === "m" ? 4 : 1; }

  /** Controls for all coordinates of a robot. @param {Coordinate[]} coordinates @returns {Control[]} */
  static all(coordinates) {
    const controls = [];
    for (let k = 0; k < coordinates.length; k++) {
      const { name, unit, first, last, low, high, follows } = coordinates[k], index = k;
      if (unit !== "") {
        controls.push(new Control(name, unit === "rad" ? "°" : "mm", first, last, { low: low ?? -Infinity, high: high ?? Infinity, follows },
          q => q[index], (q, value) => { q[index] = value; }));
        continue;
      }
      const joint = name.replace(/\.?qw$/, "");
      ["roll", "pitch", "yaw"].forEach((turn, j) => controls.push(new Control(`${joint} ${turn}`, "°", j === 1 ? -Math.PI / 2 : -Math.PI,
        j === 1 ? Math.PI / 2 : Math.PI, { low: -Infinity, high: Infinity, follows },
        q => Rotation.toRollPitchYaw(Rotation.fromQuaternion([...q.slice(index, index + 4)]))[j],
        (q, value) => {
          const angles = Rotation.toRollPitchYaw(Rotation.fromQuaternion([...q.slice(index, index + 4)]));
          angles[j] = value;
          q.set(Rotation.quaternion(angles), index);
        })));
      k += 3;
    }
    return controls;
  }
}

class JointPanel {
  /** @param {Mechanism} mechanism @param {(q: Float64Array) => void} changed */
  constructor(mechanism, changed) {
    this.controls = Control.all(mechanism.coordinates);
    this.mechanism = mechanism;
    this.move = changed;
    /** @type {Float64Array} */
    this.q = Float64Array.from(mechanism.data.q);
    this.status = make("p", { class: "joint-status", role: "status" });
    const names = shortNames(this.controls.map(control => control.name));
    this.rows = this.controls.map((control, k) => this.row(control, names[k]));
    const none = make("p", { class: "quiet" }, "This robot has no joints that move.");
    const rows = this.rows.map(row => row.element);
    this.element = section("Joints", true, this.buttons(), rowFilter("Find joints", this.controls.map(control => control.name), rows), this.status,
      rows.length ? make("div", { class: listClass(names) }, ...rows) : none);
  }

  buttons() {
    const button = (name, title, act) => make("button", { type: "button", class: `go-${name.toLowerCase()}`, title, onclick: act }, name);
    return make("div", { class: "buttons" },
      button("Home", "The robot's default configuration", () => this.arrive(Float64Array.from(this.mechanism.data.home))),
      button("Zero", "All joints at zero; with loops, all joints that move the others", () => this.goToZero()),
      button("Random", "A random configuration within the limits", () => this.goToRandom()));
  }

  /** Goes to a configuration whose loops are closed. @param {Float64Array} q */
  arrive(q, text = "") {
    this.move(q);
    const beyond = this.mechanism.coordinates.filter(({ low, high }, k) => q[k] > (high ?? Infinity) + 1e-9 || q[k] < (low ?? -Infinity) - 1e-9);
    this.status.textContent = text || (beyond.length ? `Beyond the limits of ${beyond.map(({ name }) => name).join(", ")}.` : "");
  }

  /** Follows a control, as far as the loops let it. @param {Float64Array} wanted */
  follow(wanted) {
    const { q, reached } = this.mechanism.closedTowards(this.q, wanted);
    this.arrive(q, reached ? "" : "The loops cannot be closed there, so the joints stopped on the way.");
  }

  goToZero() {
    const { data } = this.mechanism, { q, reached } = this.mechanism.closedTowards(Float64Array.from(data.home), Float64Array.from(data.neutral));
    if (reached) this.arrive(q);
    else this.status.textContent = "Zero is not reached: the loops cannot be closed with the joints that move the others at zero.";
  }

  /** A random configuration; with loops, nearer to home until these are closed within the limits. */
  goToRandom() {
    const home = Float64Array.from(this.mechanism.data.home);
    for (let part = 1; part > 1e-3; part *= 0.7) {
      const wanted = this.mechanism.data.loops ? home.slice() : this.q.slice();
      for (const control of this.controls.filter(({ limits }) => !limits.follows)) {
        const value = control.first + Math.random() * (control.last - control.first);
        control.set(wanted, this.mechanism.data.loops ? control.get(home) + part * (value - control.get(home)) : value);
      }
      const { q, reached } = this.mechanism.closedTowards(home, wanted);
      if (!reached || this.mechanism.excess(q) > SLIGHT) continue;
      this.arrive(q);
      return;
    }
    this.status.textContent = "No random configuration was found near home whose loops are closed within the limits.";
  }

  /** @param {Control} control @param {string} shown */
  row(control, shown) {
    const { name, first, last, limits, unit, scale, step } = control;
    const set = value => {
      const q = this.q.slice();
      control.set(q, Math.min(limits.high, Math.max(limits.low, value)));
      this.follow(q);
    };
    const range = make("input", { type: "range", min: first * scale, max: last * scale, step: "any", "aria-label": name, disabled: limits.follows,
      oninput: () => set(Number(range.value) / scale) });
    // Steps by keys, as the slider's own are too coarse.
    range.addEventListener("keydown", event => {
      const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (!way) return;
      event.preventDefault();
      set(control.get(this.q) + way * (event.shiftKey ? 50 : 10) * step / scale);
    });
    const number = make("input", { type: "number", step, "aria-label": `${name} in ${unit}`, disabled: limits.follows, onchange: () => {
      const value = Number(number.value);
      if (number.value.trim() !== "" && Number.isFinite(value)) set(value / scale);
      else this.show(this.q);
    } });
    const limit = x => Number.isFinite(x) ? fixedNumber(x * scale, control.decimals) : "none";
    const title = limits.follows ? `${name} follows the joints that move it` : `${name}: from ${limit(limits.low)} to ${limit(limits.high)} ${unit}`;
    const element = make("div", { class: "row", title }, nameLabel(shown), number, make("span", { class: "unit" }, unit), range);
    return { element, range, number, control };
  }

  /** @param {Float64Array} q */
  show(q) {
    this.q = q;
    for (const { element, range, number, control } of this.rows) {
      const value = control.get(q), { low, high } = control.limits;
      const finite = Number.isFinite(value);
      if (finite) range.value = String(value * control.scale);
      if (document.activeElement !== number) number.value = finite ? fixedNumber(value * control.scale, control.decimals).replace("−", "-") : "";
      element.classList.toggle("at-limit", value <= low + 1e-9 || value >= high - 1e-9);
    }
  }
}

const MOST_FRAMES = 100;

/** What the fields of the tool's pose show: name, unit, decimals and number of SI units in one of theirs. */
const POSE_FIELDS = [["x", "m", 4, 1], ["y", "m", 4, 1], ["z", "m", 4, 1], ["roll", "°", 2, DEGREE], ["pitch", "°", 2, DEGREE], ["yaw", "°", 2, DEGREE]]
  .map(([name, unit, decimals, scale]) => ({ name: String(name), unit: String(unit), decimals: Number(decimals), scale: Number(scale) }));

/** Position, m, and roll, pitch and yaw, rad, of a pose. @param {ArrayLike<number>} T row by row */
function poseNumbers(T) {
  return [T[3], T[7], T[11], ...Rotation.toRollPitchYaw([0, 1, 2].flatMap(i => [T[4 * i], T[4 * i + 1], T[4 * i + 2]]))];
}

class ToolPanel {
  /** @param {ViewPage} page */
  constructor(page) {
    const { mechanism, gizmo } = page;
    this.n = mechanism.n;
    this.space = mechanism.data.toolSpace;
    const redraw = () => page.refresh();
    this.values = POSE_FIELDS.map(({ name, unit }, k) => make("input", { type: "number", step: "any", readonly: !mechanism.dragged, title: `${name} of the tool in the world`,
      "aria-label": `${name} of the tool in ${unit}`, onchange: () => this.typed(page, k) }));
    const table = make("div", { class: "pose" }, ...this.values.map((value, k) =>
      make("label", {}, make("span", { class: "quiet" }, POSE_FIELDS[k].name), value, make("span", { class: "unit" }, POSE_FIELDS[k].unit))));
    this.dexterity = make("p", { class: "quiet dexterity" });
    this.status = make("p", { class: "status", role: "status" });
    const dragging = mechanism.dragged ? [
      choice("Drag", [["pose", "position and orientation"], ["position", "position only"],
        ...mechanism.data.balls.map(({ name, free }, k) => [String(k), `${free ? "free" : "spherical"} joint ${name}`])], value => page.handle(value)),
      choice("Handles", [["world", "along the world's axes"], ["tool", "along the tool's axes"],
        ...mechanism.data.frameNames.slice(0, MOST_FRAMES).map((name, k) => [String(k), `along the axes of ${name}`])],
      value => { page.frame = value; redraw(); }),
    ] : [make("p", { class: "quiet" }, mechanism.data.refusal)];
    this.element = section("Tool", true, table, this.status, ...dragging,
      make("div", { class: "checks" },
        mechanism.dragged ? checkbox("handles", true, on => { gizmo.shown = on; redraw(); }) : "",
        mechanism.data.velocities.some(({ free }) => free) && mechanism.data.velocities.some(({ free }) => !free) ?
          checkbox("base stays", true, on => { mechanism.pinned = on; redraw(); }) : "",
        checkbox("frames", false, on => { page.options.frames = on; redraw(); }),
        checkbox("velocity ellipsoid", false, on => { page.options.ellipsoid = on; redraw(); })),
      this.dexterity);
    const drag = this.element.querySelector("select");
    if (mechanism.data.velocities.every(({ free }) => free)) mechanism.pinned = false;
    if (drag && (mechanism.plain ? mechanism.data.reach.span.filter(Boolean).length : mechanism.draggedJoints(page.q)) < 6) { drag.value = "position"; gizmo.turns = false; }
  }

  /** Moves the tool to where one of the numbers of its pose is the one typed. @param {ViewPage} page @param {number} k */
  typed(page, k) {
    const { T } = page.mechanism.tool(page.q), numbers = poseNumbers(T), value = Number(this.values[k].value), goal = [...T];
    this.values[k].blur();
    if (this.values[k].value.trim() === "" || !Number.isFinite(value)) { page.refresh(); return; }
    numbers[k] = value * POSE_FIELDS[k].scale;
    const R = k < 3 ? [] : Rotation.fromRollPitchYaw(numbers.slice(3));
    for (let i = 0; i < 3; i++) goal[4 * i + 3] = numbers[i];
    R.forEach((r, j) => { goal[4 * Math.floor(j / 3) + j % 3] = r; });
    page.reach(goal, k < 3 ? page.gizmo.turns : true);
  }

  /** @param {ArrayLike<number>} T @param {{ lengths: number[] }} ellipsoid */
  show(T, ellipsoid) {
    poseNumbers(T).forEach((x, k) => {
      const { decimals, scale } = POSE_FIELDS[k];
      if (document.activeElement !== this.values[k]) this.values[k].value = fixedNumber(x / scale, decimals).replace("−", "-");
    });
    const lengths = ellipsoid.lengths.map(x => shortNumber(x)).join(", ");
    this.dexterity.textContent = this.n === 0 ? "" : `Tool speed at unit joint rates, along the ellipsoid's axes: ${lengths} m/s. ` +
      `Manipulability of position${this.space.words}: ${shortNumber(ellipsoid.lengths.slice(0, this.space.dimensions).reduce((a, b) => a * b, 1))}.`;
  }
}

class TorquePanel {
  /** @param {Mechanism} mechanism @param {(mass: number) => void} changed */
  constructor(mechanism, changed) {
    const { velocities, payload, massless } = mechanism.data;
    this.velocities = velocities;
    const names = shortNames(velocities.map(velocity => velocity.name));
    this.rows = velocities.map(({ name, effort, unit }, k) => {
      const bar = make("span", { class: "fill" }), value = make("output", {});
      const limit = effort === null ? "no limit" : `limit ${shortNumber(effort, 4)} ${unit}`;
      return { bar, value, element: make("div", { class: "torque", title: `${name}: ${limit}` },
        nameLabel(names[k]), make("span", { class: "bar" }, bar), value) };
    });
    this.mass = make("output", {});
    const range = make("input", { type: "range", min: 0, max: payload.most, step: "any", "aria-label": "payload",
      oninput: () => changed(Number(range.value)) });
    this.range = range;
    const note = massless ? "The links have no masses: only the payload counts." : "";
    this.element = section("Torques against gravity", true, make("div", { class: "row wide" }, make("span", { class: "name" }, "payload"), this.mass, make("span", { class: "unit" }, "kg"), range),
      note ? make("p", { class: "quiet" }, note) : "", rowFilter("Find torques", velocities.map(({ name }) => name), this.rows.map(row => row.element)),
      make("div", { class: listClass(names) }, ...this.rows.map(row => row.element)));
  }

  /** @param {string} text */
  title(text) { this.element.querySelector("summary").textContent = text; }

  /** @param {ArrayLike<number>} tau @param {number} mass */
  show(tau, mass) {
    this.mass.textContent = fixedNumber(mass, 2);
    this.range.value = String(mass);
    const largest = Math.max(...Array.from(tau, Math.abs).filter(Number.isFinite), 1e-9);
    this.rows.forEach(({ bar, value, element }, k) => {
      const { effort, unit } = this.velocities[k], share = Math.abs(tau[k]) / (effort || largest);
      bar.style.width = `${50 * Math.min(1, share || 0)}%`;
      bar.style.left = tau[k] < 0 ? `${50 - 50 * Math.min(1, share || 0)}%` : "50%";
      const level = effort === null ? "unlimited" : share > 1 ? "over" : share > 0.8 ? "near" : "within";
      element.dataset.level = level;
      value.textContent = `${fixedNumber(tau[k], 2)} ${unit}`;
    });
  }
}
