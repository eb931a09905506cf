// The page: a robot, what moves it, and what is shown of it.
"use strict";

const GHOST_COLORS = [[0.06, 0.44, 0.71], [0.88, 0.48, 0], [0.12, 0.62, 0.42], [0.69, 0.27, 0.56], [0.76, 0.25, 0.18], [0.48, 0.41, 0.79]];
const ELLIPSOID_COLOR = [0.95, 0.6, 0.1];
/** Azimuth and elevation of cameras. */
const CAMERAS = { Front: [0, 0.05], Side: [-Math.PI / 2, 0.05], Top: [-Math.PI / 2, 1.55] };

/** @type {Object<string, string>} */
const BODIES = { visual: "Bodies", collision: "Collision bodies", drawn: "Kinematics" };

/** The 3D picture of a robot whose poses are handed over. */
class LiveScene extends RobotScene {
  /** @param {HTMLCanvasElement} canvas @param {any} scene @param {Float32Array[]} places Poses of the links at the start. */
  constructor(canvas, scene, places) {
    super(canvas, scene);
    this.wheelNeedsFocus = false;
    /** @type {() => Part[]} */
    this.handles = () => [];
    this.places = places;
    /** Place of the fixed link. */
    this.root = places[0].slice(12, 15);
    /** @type {Float32Array} */
    this.points = new Float32Array(0);
    /** @type {{ points: Float32Array, color: number[] }[]} */
    this.others = [];
    this.open();
  }

  prepare() {
    super.prepare();
    this.setTrace(this.points);
    this.setOtherTraces(this.others);
  }

  /** Points of the tool's path. @param {Float32Array} points */
  setTrace(points) {
    this.points = points;
    this.trace = points.length ? this.graphics.mesh(points, [3]) : null;
  }

  /** Paths of other motions, each in its color. @param {{ points: Float32Array, color: number[] }[]} traces */
  setOtherTraces(traces) {
    this.others = traces;
    this.otherTraces = traces.map(({ points, color }) => ({ ...this.graphics.mesh(points, [3]), color }));
  }

  posesNow() { return this.places; }

  /** @param {number} link */
  triad(link = this.scene.tool, length = 0.06 * this.scene.size) { return super.triad(link, length); }

  /** Handles keep their size while the camera moves, so they are made for each picture. */
  paint(coarseness = 0) {
    this.overlay = this.handles();
    super.paint(coarseness);
  }

  rootPlace() { return this.root; }
}

class ViewPage {
  /** @param {any} data @param {Mechanism} mechanism @param {ChaslesProgram[]} companions */
  constructor(data, mechanism, companions = []) {
    this.data = data;
    /** @type {ChaslesProgram[]} Kernels of further robots. */
    this.companions = companions;
    this.sideBySide = true;
    this.mechanism = mechanism;
    /** @type {string} Frame along whose axes the handles stand: world, tool or the number of a frame. */
    this.frame = "world";
    this.options = { frames: false, ellipsoid: false };
    /** @type {Ball | null} Joint that the handles move in place of the tool. */
    this.ball = null;
    /** @type {Part[]} */
    this.frameParts = [];
    this.mass = data.payload.mass;
    /** @type {Float64Array} */
    this.q = Float64Array.from(data.q);
    /** @type {Float64Array[]} Other configurations for the pose of the tool. */
    this.branchGhosts = [];
    /** @type {SimulationPanel} */
    this.simulation = null;
    this.noticeText = document.querySelector(".notice");
    /** @type {((q: Float64Array) => void)[]} */
    this.listeners = [];
    this.openScene();
    this.joints = new JointPanel(mechanism, q => this.move(q));
    this.torques = new TorquePanel(mechanism, mass => { this.mass = mass; this.refresh(); });
    this.tool = new ToolPanel(this);
    this.pendant = new Pendant(this);
    this.simulation = new SimulationPanel(this);
    /** @type {Player | null} */
    this.player = null;
    document.querySelector(".panels").append(this.joints.element, this.tool.element, this.torques.element, this.simulation.element, this.pendant.element);
    if (data.notes.length) document.querySelector(".panels").append(make("p", { class: "quiet missing" }, data.notes.join(". ") + "."));
    this.addCameras();
    this.chooseTheme();
    this.show(this.q);
    if (data.ghosts.length) document.querySelector(".panels").prepend(this.configurations());
    this.scene?.unpacked.then(() => this.refresh());
    if (companions.length) document.querySelector(".panels").prepend(section("Robots", true,
      make("p", { class: "quiet" }, [data.name, ...data.companions.map(other => other.name)].join(", ")),
      checkbox("side by side", true, on => { this.sideBySide = on; this.refresh(); })));
    if (data.recording) this.playMotion(data.recording);
    if (data.live) this.link = new LiveLink(this);
    if (data.framed && window.parent !== window) this.link = new FrameLink(this);
  }

  /** The picture, or one sentence in its place. */
  openScene() {
    const canvas = document.querySelector("canvas");
    /** @type {Gizmo} */
    this.gizmo = /** @type {any} */ ({ turns: true, axes: () => [], axis: k => this.handleAxes(k), shown: true, T: [], parts: () => [] });
    try {
      const nowhere = Matrix.fromPose([0, 0, 0, 0, 0, 0, 1]), places = this.mechanism.places(this.q) ?? this.data.frames.map(() => nowhere);
      this.scene = new LiveScene(canvas, this.data.scene, places);
    } catch (error) {
      this.scene = null;
      canvas.remove();
      document.querySelector(".hint").remove();
      this.notice(`The robot cannot be drawn here: ${/** @type {Error} */ (error).message}. Sliders and numbers work all the same.`);
      return;
    }
    this.scene.notice = text => this.notice(text);
    const { upright } = this.data.scene, R = [0, 1, 2].flatMap(i => upright.slice(4 * i, 4 * i + 3)), inverse = Pose.inverse(upright);
    this.gizmo = new Gizmo(this.scene, goal => this.drag(Pose.times(inverse, goal)), () => this.refresh());
    this.gizmo.axes = k => { const axis = this.handleAxes(k); return [0, 1, 2].map(i => Vector.dot(R.slice(3 * i, 3 * i + 3), axis)); };
    this.gizmo.shown = this.mechanism.dragged;
    this.scene.handles = () => [...this.frameParts, ...this.gizmo.parts()];
    if (this.mechanism.dragged) this.scene.tools.push(this.gizmo);
    canvas.addEventListener("keydown", event => this.key(event));
  }

  /** @param {string} text */
  notice(text) { this.noticeText.textContent = text; }

  /** Goes to a configuration that was chosen here. @param {Float64Array} q @param {boolean} byHand whether a motion that plays ends */
  move(q, byHand = true) {
    if (byHand) this.player?.pause();
    if (byHand && !this.pendant.branches.includes(q)) this.pendant.forgetBranches();
    if (byHand && this.simulation.holds) {  // the robot follows by its own motion
      this.simulation.aim(q);
      return;
    }
    if (byHand) this.simulation.stop();
    this.show(q);
    if (byHand) this.simulation.returnCamera();
    for (const listener of this.listeners) listener(q);
  }

  /** Goes to a configuration. @param {Float64Array} q */
  show(q) {
    this.q = q;
    this.tool.status.textContent = "";
    this.refresh();
  }

  /** The configurations that the page was opened with. */
  configurations() {
    const all = [{ label: this.data.first, q: this.data.q }, ...this.data.ghosts];
    return section("Configurations", true, choice("Go to", all.map(({ label }, k) => [String(k), label]),
      value => this.move(Float64Array.from(all[Number(value)].q))));
  }

  /** Offers a motion to be played. @param {any} recording */
  playMotion(recording) {
    this.player?.pause();
    this.player?.element.remove();
    this.player = new Player(this, recording);
    document.querySelector(".panels").prepend(this.player.element);
    this.player.seek(recording.times[0]);
  }

  /** Axis of the frame that was chosen for the handles, in the world. @param {number} k */
  handleAxes(k) {
    if (this.frame === "world") return [0, 1, 2].map(j => Number(j === k));
    const T = this.frame === "tool" ? this.mechanism.tool(this.q).T : this.mechanism.frames(this.q).subarray(16 * Number(this.frame));
    return [T[k], T[4 + k], T[8 + k]];
  }

  /** Chooses what the handles move: the tool's pose or position, or the number of a joint with a quaternion. @param {string} what */
  handle(what) {
    this.ball = this.mechanism.data.balls[Number(what)] ?? null;
    this.gizmo.turns = what !== "position";
    this.gizmo.shifts = !this.ball || this.ball.free;
    this.refresh();
  }

  /** Pose of what the handles move, row by row. */
  handlePose() { return this.ball ? this.mechanism.ballPose(this.q, this.ball) : this.mechanism.tool(this.q).T; }

  /** Follows the handles. @param {number[]} goal */
  drag(goal) {
    const from = this.simulation.holds ? this.simulation.loop.reference.q : this.q;
    if (this.ball) {
      this.move(this.mechanism.ballMoved(from, this.ball, goal));
      return;
    }
    this.reach(goal, this.gizmo.turns);
  }

  /** Moves the tool towards a pose, as far as the limits let it. @param {number[]} goal @param {boolean} turns whether its orientation counts */
  reach(goal, turns) {
    const from = this.simulation.holds ? this.simulation.loop.reference.q : this.q;
    const found = this.mechanism.reach(from, goal, turns);
    if (!found.q.every(Number.isFinite)) return;
    this.move(found.q);
    const rest = [found.distance > 1e-6 ? `${shortNumber(1000 * found.distance)} mm` : "", turns && found.angle > 1e-6 ? `${shortNumber(found.angle / DEGREE)}°` : ""];
    this.tool.status.textContent = found.reached ? "" : `Not reached from here within the limits: ${rest.filter(Boolean).join(" and ") || "a little"} away.`;
  }

  /** Configurations that are drawn translucent. */
  get ghostConfigurations() {
    if (this.simulation?.loop) return this.simulation.holds ? [this.simulation.loop.reference.q] : [];
    return [...this.data.ghosts.map(ghost => ghost.q), ...this.branchGhosts, ...(this.player?.ghosts ?? [])];
  }

  /** Computes and shows everything anew. */
  refresh() {
    const { mechanism, q, scene } = this, places = mechanism.places(q);
    this.joints.show(q);
    if (!places) {
      this.notice("These joint positions have no pose: the results are not finite. The picture keeps the last one.");
      return;
    }
    const { T, J } = mechanism.tool(q), ellipsoid = mechanism.ellipsoid(J);
    this.tool.show(T, ellipsoid);
    this.torques.show(this.simulation?.loop?.applied ?? mechanism.gravity(q, this.mass), this.mass);
    if (!scene) return;
    this.notice("");
    scene.places = places;
    if (!this.gizmo.held) this.gizmo.T = Pose.times(this.data.scene.upright, this.handlePose());
    scene.marks = this.options.ellipsoid ? [this.ellipsoidMark(T, ellipsoid)] : [];
    this.frameParts = this.options.frames ? this.frameMarks(q) : [];
    scene.ghosts = this.ghostConfigurations.map((other, k) =>
      ({ places: mechanism.places(other) ?? places, color: GHOST_COLORS[k % GHOST_COLORS.length], alpha: 0.28 }));
    scene.companions = this.companions.map((program, k) => this.companionPlaces(program, k)).filter(Boolean);
    scene.draw();
  }

  /** Solids and poses of a further robot: at its own configuration, or that of its motion at the time that is played. @param {ChaslesProgram} program @param {number} k */
  companionPlaces(program, k) {
    const other = this.data.companions[k], { q, nq, frames, shift, shapes, upright } = other, count = q.length / nq, { player, scene } = this;
    const share = player && player.time !== undefined ? player.share : 0, at = Math.round(share * (count - 1));
    const T = program.run("frames", { q: q.slice(at * nq, (at + 1) * nq) }).T_world_frames;
    if (!T.every(Number.isFinite)) return null;
    const places = frames.map(frame => {
      const place = Matrix.multiply(Matrix.fromRows(upright), Matrix.fromRows(T, 16 * frame));
      if (this.sideBySide) for (let i = 0; i < 3; i++) place[12 + i] += shift[i];
      return place;
    });
    const { solid, clear } = scene.solidsOf(shapes, `companion ${k}`);
    return { parts: [...solid, ...clear, ...scene.base(other, places[0].subarray(12, 15))], places };
  }

  /** @param {ArrayLike<number>} T */
  ellipsoidMark(T, { lengths, axes }) {
    const { size } = this.data.scene, scale = 0.15 * size / (lengths[0] || 1), thin = 0.004 * size;
    const placed = new Float32Array([...axes.flatMap((axis, k) => [...axis.map(a => a * Math.max(scale * lengths[k], thin)), 0]), T[3], T[7], T[11], 1]);
    return { link: -1, form: "sphere", color: ELLIPSOID_COLOR, radius: 1, length: 0, placed: Matrix.multiply(Matrix.fromRows(this.data.scene.upright), placed), alpha: 0.4 };
  }

  frameMarks(q) {
    const T = this.mechanism.frames(q), { size } = this.data.scene;
    return this.data.frames.flatMap(k => this.scene.triad(-1, 0.07 * size).map(part =>
      ({ ...part, placed: Matrix.multiply(this.mechanism.upright(T, 16 * k), part.placed) })));
  }

  addCameras() {
    if (!this.scene) return;
    const look = (azimuth, elevation) => { Object.assign(this.scene.camera, { azimuth, elevation }); this.refresh(); };
    const buttons = Object.entries(CAMERAS).map(([name, [azimuth, elevation]]) =>
      make("button", { type: "button", onclick: () => look(azimuth, elevation) }, name));
    const whole = make("button", { type: "button", title: "The first view", onclick: () => { this.scene.camera.reset(); this.refresh(); } }, "Whole");
    const picture = make("button", { type: "button", class: "picture", title: "Save a picture (PNG)", onclick: () => this.savePicture() }, "Save picture");
    const kinds = Object.keys(this.data.scene.bodies).filter(kind => kind in BODIES), bodies = choice("Bodies", [...kinds, "drawn"].map(kind => [kind, BODIES[kind]]), kind => this.scene.show(kind));
    if (!kinds.includes("visual")) bodies.querySelector("select").value = "drawn";
    document.querySelector(".cameras").append(...buttons, whole, picture, ...(kinds.length ? [bodies] : []));
  }

  savePicture() {
    const { shown } = this.gizmo;
    this.gizmo.shown = false;
    this.scene.paint();
    this.scene.canvas.toBlob(blob => {
      const link = make("a", { href: URL.createObjectURL(blob), download: `${this.data.name}.png` });
      link.click();
      URL.revokeObjectURL(link.href);
    });
    this.gizmo.shown = shown;
    this.scene.draw();
  }

  chooseTheme() {
    const wish = window.matchMedia("(prefers-color-scheme: dark)");
    const set = dark => {
      document.documentElement.dataset.theme = dark ? "dark" : "light";
      document.querySelector(".theme").textContent = dark ? "◐ Light" : "◐ Dark";
      if (this.scene) { this.scene.theme = dark ? "dark" : "light"; this.scene.draw(); }
    };
    set(wish.matches);
    wish.addEventListener("change", event => set(event.matches));
    document.querySelector(".theme").addEventListener("click", () => set(document.documentElement.dataset.theme !== "dark"));
  }

  /** Keys on the picture: arrows turn it, + and - zoom. @param {KeyboardEvent} event */
  key(event) {
    const { camera } = this.scene;
    const act = { ArrowLeft: () => camera.turn(-0.08, 0), ArrowRight: () => camera.turn(0.08, 0), ArrowUp: () => camera.turn(0, 0.08),
      ArrowDown: () => camera.turn(0, -0.08), "+": () => camera.zoom(0.9), "-": () => camera.zoom(1 / 0.9), Home: () => camera.reset() }[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
    this.scene.draw();
  }
}

/** Opens the page; whatever goes wrong is said in a sentence. */
async function openPage() {
  const notice = document.querySelector(".notice");
  try {
    const data = JSON.parse(document.getElementById("data").textContent);
    const program = await ChaslesProgram.load(await inflated(data.module));
    const companions = await Promise.all(data.companions.map(async other => ChaslesProgram.load(await inflated(other.module))));
    return new ViewPage(data, new Mechanism(data, program), companions);
  } catch (error) {
    notice.textContent = `This page cannot show its robot: ${/** @type {Error} */ (error).message}. It needs a browser of 2023 or later with WebAssembly.`;
    throw error;
  }
}

const chaslesView = openPage();
