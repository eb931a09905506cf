// A robot on level ground, with what stands around it.
"use strict";

/**
 * A solid on a link, or at a place in the world where the link is -1.
 * @typedef {{ link: number, form: string, color: number[], radius: number, length: number, placed: Float32Array, alpha?: number, texture?: WebGLTexture }} Part
 * Solids of one form, to be drawn at once.
 * @typedef {{ form: string, texture?: WebGLTexture, instances: Float32Array }} Batch
 */

const AXES = [[[1, 0, 0], [0.85, 0.2, 0.2]], [[0, 1, 0], [0.15, 0.62, 0.3]], [[0, 0, 1], [0.15, 0.4, 0.9]]];
const OBSTACLE = [0.86, 0.56, 0.2];
const TRACE_COLOR = [0.06, 0.44, 0.71];
/** Pictures of something that moves: as when it rests, and on slow machines without soft edges, then at half the resolution, then without shadows. */
const COARSENESS = [{ soft: true, part: 1, shadows: true }, { soft: false, part: 1, shadows: true }, { soft: false, part: 0.5, shadows: true },
  { soft: false, part: 0.5, shadows: false }];
/** Time between two pictures, ms, that is too long: for graphics cards, which some devices slow down to 30 Hz, and for processors. */
const LATE = { card: 40, processor: 20 };
const LATE_PICTURES = 4;  // one after the other, until pictures become coarser
const PAUSE = 250;  // ms between two pictures of which the first is the last of a movement

/** What is drawn; where the links are is the business of those who extend it, and who call `open`. */
class RobotScene {
  /** @param {HTMLCanvasElement} canvas @param {any} scene Shapes of a robot, as Python writes them. */
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.camera = new Camera(canvas, scene);
    /** @type {"light" | "dark"} */
    this.theme = "light";
    /** @type {Mesh | null} Points on the path of the tool. */
    this.trace = null;
    /** @type {(Mesh & { color: number[] })[]} */
    this.otherTraces = [];
    this.frame = 0;
    this.lateness = this.painted = this.resting = 0;
    this.keepsFine = false;  // for a movie
    this.wheelNeedsFocus = true;  // else the page cannot be scrolled past the view
    /** @type {Tool[]} What a press of the pointer may take hold of, before it turns the view. */
    this.tools = [];
    /** @type {Part[]} Solids in world coordinates that the robot does not carry. */
    this.marks = [];
    /** @type {Part[]} Marks that nothing hides. */
    this.overlay = [];
    /** @type {{ places: Float32Array[], color: number[], alpha: number }[]} The robot in other configurations. */
    this.ghosts = [];
    /** @type {{ parts: Part[], places: Float32Array[] }[]} Further robots. */
    this.companions = [];
    this.notice = (/** @type {string} */ _text) => {};
    /** @type {Object<string, Float32Array[]>} Vertices of the bodies of each kind, as soon as they are unpacked. */
    this.surfaces = {};
    /** @type {Object<string, ImageBitmap[]>} Images of their textures. */
    this.images = {};
    /** @type {string} Kind of bodies that are shown. */
    this.kind = "visual";
  }

  /** Begins to draw. */
  open() {
    const { canvas } = this;
    this.prepare();
    /** Index of `COARSENESS` while something moves. */
    this.coarseness = this.graphics.software ? 1 : 0;
    canvas.addEventListener("webglcontextlost", e => {
      e.preventDefault();
      this.notice("The graphics card was lost, so the 3D view stands still. It returns with the card; if not, reload this page.");
    });
    canvas.addEventListener("webglcontextrestored", () => { this.prepare(); this.notice(""); this.draw(); });
    moveByPointers(canvas, this.camera, this);
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.unpacked = this.unpack();
  }

  /** Makes what lives on the graphics card, at the start and after the card was lost. */
  prepare() {
    this.graphics = new Graphics(this.canvas);
    /** @type {Object<string, Mesh>} */
    this.solids = Object.fromEntries(Object.entries(PROFILES).map(([name, profile]) => {
      const { vertices, corners } = solid(profile);
      return [name, this.graphics.solid(vertices, [3, 1, 3], corners)];
    }));
    this.square = this.graphics.mesh(new Float32Array([-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1]), [2]);
    /** @type {Object<string, WebGLTexture[]>} */
    this.textures = {};
    for (const kind of Object.keys(this.surfaces)) this.load(kind);
    this.arrange();
  }

  /** Hands bodies of a kind to the graphics card. @param {string} kind */
  load(kind) {
    this.textures[kind] = this.images[kind].map(image => this.graphics.texture(image));
    for (const [k, vertices] of this.surfaces[kind].entries()) {
      const textured = this.scene.bodies[kind].surfaces[k][5];
      this.solids[`${kind} ${k}`] = this.graphics.solid(vertices, textured ? [3, 1, 3, 2] : [3, 1, 3]);
    }
  }

  /** Unpacks the robot's own bodies; until then it is drawn by its kinematics. */
  async unpack() {
    for (const [kind, body] of Object.entries(this.scene.bodies)) {
      const images = await decodedImages(body.images), surfaces = unpackedSurfaces(await inflated(body.data), body.surfaces);
      this.images[kind] = images;
      this.surfaces[kind] = surfaces;
      if (!this.graphics.gl.isContextLost()) this.load(kind);
    }
    if (this.graphics.gl.isContextLost()) return;
    this.arrange();
    this.draw();
  }

  /** Shows the bodies of a kind: visual, collision or drawn. @param {string} kind */
  show(kind) {
    this.kind = kind;
    this.arrange();
    this.draw();
  }

  /** Poses of the links in the world, column by column. @returns {Float32Array[]} */
  posesNow() { throw new Error("posesNow is not defined"); }

  /** Place of the fixed link in the world. @returns {Iterable<number>} */
  rootPlace() { return [0, 0, 0]; }

  /**
   * Solids of a robot: drawn shapes, and in place of those that have them the bodies of a kind.
   * @param {any[]} drawn @param {string} kind
   */
  solidsOf(drawn, kind) {
    const body = this.surfaces[kind] && this.scene.bodies[kind];
    const shapes = drawn.filter(s => !body || body.drawn.includes(s.link));
    const image = (surface, textured) => textured && body.surfaces[surface][5] ? this.textures[kind][body.surfaces[surface][5][0]] : undefined;
    /** @type {Part[]} */
    const own = (body?.parts ?? []).map(({ link, surface, T, rgba, textured }) => {
      const texture = image(surface, textured);
      return { link, form: `${kind} ${surface}`, color: texture ? [1, 1, 1] : rgba.slice(0, 3), texture,
        radius: 1, length: 0, placed: new Float32Array(T), alpha: rgba[3] < 1 ? rgba[3] : undefined };
    });
    const solid = [...shapes.map(s => this.part(s.link, s.form, this.scene.colors[s.role], s.start, s.end, s.radius)), ...own.filter(part => part.alpha === undefined)];
    return { solid, clear: own.filter(part => part.alpha !== undefined), own: Boolean(body) };
  }

  /** Chooses the solids that the robot carries. */
  arrange() {
    const { solid, clear, own } = this.solidsOf(this.scene.shapes, this.kind);
    this.carried = solid;
    /** Bodies that let light through. */
    this.clear = clear;
    const obstacles = (this.scene.obstacles ?? []).map(({ form, start, end, radius, alpha }) =>
      ({ ...this.part(-1, form, OBSTACLE, start, end, radius), alpha: alpha ?? undefined }));
    /** Planes of half-spaces, which have no shadow. */
    this.planes = obstacles.filter(part => part.alpha !== undefined);
    this.parts = [...solid, ...(own ? [] : this.base(this.scene, this.rootPlace())), ...this.triad(), ...obstacles.filter(part => part.alpha === undefined)];
  }

  /** @returns {Part} */
  part(link, form, color, start, end, radius) {
    return { link, form, color, radius, length: Math.hypot(...Vector.minus(end, start)), placed: Matrix.along(start, end) };
  }

  /**
   * Plate and pedestal under the first link of a robot, in world coordinates.
   * @param {{ size: number, stands: boolean }} robot @param {Iterable<number>} root Place of its first link.
   */
  base({ size, stands }, root) {
    const { ground, colors } = this.scene, [x, y, z] = root;
    if (!stands) return [];
    const parts = [this.part(-1, "cylinder", colors.base, [x, y, ground], [x, y, ground + 0.012 * size], 0.115 * size)];
    if (z > ground + 0.03 * size) parts.push(this.part(-1, "cylinder", colors.base, [x, y, ground], [x, y, z], 0.06 * size));
    return parts;
  }

  /** Axes of a link's frame. */
  triad(link = this.scene.tool, length = 0.1 * this.scene.size) {
    const thin = 0.06 * length;
    return AXES.flatMap(([axis, color]) => {
      const at = f => axis.map(a => a * f * length);
      return [this.part(link, "cylinder", color, [0, 0, 0], at(0.8), thin),
        this.part(link, "cone", color, at(0.78), at(1.1), 2.4 * thin)];
    });
  }

  /** Asks for a picture, if none is asked for. */
  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(now => {
      this.pending = false;
      if (this.graphics.gl.isContextLost()) return;
      this.pace(now);
      this.paint(this.keepsFine ? 0 : this.coarseness);
    });
  }

  /** Makes pictures coarser while they come too late, and fine again when nothing moves any more. @param {number} now */
  pace(now) {
    const gap = now - this.painted, late = this.graphics.software ? LATE.processor : LATE.card;
    this.painted = now;
    this.lateness = gap > late && gap < PAUSE ? this.lateness + 1 : 0;
    if (this.lateness === LATE_PICTURES && this.coarseness + 1 < COARSENESS.length) { this.coarseness++; this.lateness = 0; }
    clearTimeout(this.resting);
    if (this.coarseness) this.resting = setTimeout(() => { if (!this.graphics.gl.isContextLost()) this.paint(); }, PAUSE);
  }

  /** Paints the picture now. @param {number} coarseness Index of `COARSENESS`. */
  paint(coarseness = 0) {
    const { soft, part, shadows } = COARSENESS[coarseness];
    const { canvas, scene, graphics, camera, marks } = this, { gl } = graphics, ratio = part * (window.devicePixelRatio || 1), theme = scene.themes[this.theme];
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const { eye, matrix: view } = camera, places = this.posesNow();
    const { back } = camera.axes, light = Vector.unit(Vector.plus(scene.light.sun, [back[0], back[1], Math.max(back[2], 0)]));
    const lit = { view, light, eye, ...scene.shading };
    const robots = [this.batches(this.parts, places), ...this.companions.map(other => this.batches(other.parts, other.places))];
    const solids = [...robots, this.batches(marks.filter(mark => mark.alpha === undefined), places)], clear = this.batches(this.clear, places);
    const [near, far] = [true, false].map(before => this.batches(this.planes.filter(plane => before === isBefore(plane, eye)), places));
    if (soft) graphics.beginSoft(width, height);
    gl.viewport(0, 0, width, height);
    gl.clearColor(theme.background[0], theme.background[1], theme.background[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST);
    gl.depthMask(false);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);  // the picture stays opaque
    const middle = [scene.middle[0], scene.middle[1], scene.ground];
    graphics.use("ground", { view, middle, reach: 1.4 * Math.max(scene.extent, scene.size), grid: scene.grid, plane: theme.plane, ink: theme.ink });
    graphics.draw(this.square);
    if (shadows && eye[2] > scene.ground) this.paintShadows([...robots, clear], { view, light: scene.light.shadow, ground: scene.ground, shade: theme.shade });
    this.paintSolids(near, lit);
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    for (const batches of solids) this.paintSolids(batches, lit);
    gl.enable(gl.BLEND);
    this.paintGhosts(lit);
    gl.depthMask(false);
    this.paintSolids(clear, lit, true);
    this.paintSolids(this.batches(marks.filter(mark => mark.alpha !== undefined), places), lit, true);
    this.paintSolids(far, lit);
    this.paintTraces(view, ratio);
    gl.depthMask(true);
    if (this.overlay.length) {
      gl.clear(gl.DEPTH_BUFFER_BIT);
      this.paintSolids(this.batches(this.overlay, places), lit);
    }
    if (soft) graphics.endSoft();
  }

  /** @param {Batch[][]} solids @param {any} uniforms */
  paintShadows(solids, uniforms) {
    const { graphics } = this, { gl } = graphics;
    gl.enable(gl.STENCIL_TEST);  // each place is darkened once
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    graphics.use("shadow", uniforms);
    for (const { form, instances } of solids.flat()) {
      this.cull(CLOSED.has(form));
      graphics.drawAll(this.solids[form], instances);
    }
    gl.disable(gl.STENCIL_TEST);
  }

  /** Leaves out the faces that are seen from behind. @param {boolean} on */
  cull(on) {
    const { gl } = this.graphics;
    if (on) gl.enable(gl.CULL_FACE); else gl.disable(gl.CULL_FACE);
  }

  /** @param {Batch[]} batches @param {any} uniforms @param {boolean} outside whether the inside of open meshes is left out */
  paintSolids(batches, uniforms, outside = false) {
    const { graphics } = this, { gl } = graphics;
    for (const [program, own] of /** @type {[string, Batch[]][]} */ ([["solid", batches.filter(b => !b.texture)], ["textured", batches.filter(b => b.texture)]])) {
      if (own.length) graphics.use(program, uniforms);
      for (const { form, texture, instances } of own) {
        if (texture) gl.bindTexture(gl.TEXTURE_2D, texture);
        this.cull(outside || CLOSED.has(form));
        graphics.drawAll(this.solids[form], instances);
      }
    }
  }

  /** The robot in other configurations: depth first, so that its own parts do not show through each other. @param {any} uniforms */
  paintGhosts(uniforms) {
    const { gl } = this.graphics;
    gl.enable(gl.POLYGON_OFFSET_FILL);  // where a ghost is at the robot's own place, the robot is seen
    gl.polygonOffset(2, 16);
    for (const { places, color, alpha } of this.ghosts) {
      const batches = this.batches(this.carried.map(part => ({ ...part, color, alpha, texture: undefined })), places);
      gl.colorMask(false, false, false, false);
      this.paintSolids(batches, uniforms);
      gl.colorMask(true, true, true, true);
      gl.depthFunc(gl.LEQUAL);
      this.paintSolids(batches, uniforms);
      gl.depthFunc(gl.LESS);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  /** @param {Float32Array} view @param {number} ratio pixels of the picture in one of the page */
  paintTraces(view, ratio) {
    const { graphics } = this, { POINTS } = graphics.gl;
    if (this.trace) {
      graphics.use("trace", { view, size: 3.2 * ratio, now: this.frame, color: TRACE_COLOR });
      graphics.draw(this.trace, POINTS);
    }
    for (const other of this.otherTraces) {
      graphics.use("trace", { view, size: 2.4 * ratio, now: -1, color: other.color });
      graphics.draw(other, POINTS);
    }
  }

  /** Parts by their form, each where its link is. @param {Part[]} parts @param {Float32Array[]} places @returns {Batch[]} */
  batches(parts, places) {
    /** @type {Map<string, Part[]>} */
    const groups = new Map();
    for (const part of parts) {
      const key = part.texture ? `${part.form} textured` : part.form, group = groups.get(key);
      if (group) group.push(part); else groups.set(key, [part]);
    }
    return [...groups.values()].map(group => {
      const instances = new Float32Array(INSTANCE_SIZE * group.length), { form, texture } = group[0];
      for (const [k, { link, placed, radius, length, color, alpha = 1 }] of group.entries()) {
        const T = link < 0 ? placed : Matrix.multiply(places[link], placed);
        instances.set([T[0], T[1], T[2], T[4], T[5], T[6], T[8], T[9], T[10], T[12], T[13], T[14], radius, length, ...color, alpha], INSTANCE_SIZE * k);
      }
      return { form, texture, instances };
    });
  }
}

/** Whether a plane stands between the viewer and its free side, which it would cover. @param {Part} plane @param {number[]} eye */
function isBefore({ placed }, eye) {
  return Vector.dot(Vector.minus(eye, placed.subarray(12, 15)), placed.subarray(8, 11)) < 0;
}
