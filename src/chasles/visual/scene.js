// A robot of round shapes, drawn with WebGL: drag to turn, shift-drag to move, scroll to zoom.
"use strict";

/**
 * @typedef {{ link: number, form: string, color: number[], radius: number, length: number, placed: Float32Array, alpha?: number, texture?: WebGLTexture }} Part
 * @typedef {{ begin(event: PointerEvent): boolean, move(event: PointerEvent): void, end(event: PointerEvent): void }} Tool
 */

function decodeFloats(typed) {
  const bytes = Uint8Array.from(atob(typed.bdata), c => c.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

// 4x4 matrices are column-major, as WebGL has them.
const Matrix = {
  multiply(a, b) {
    const c = new Float32Array(16);
    for (let j = 0; j < 4; j++) for (let i = 0; i < 4; i++)
      for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
    return c;
  },
  /** @param {Iterable<number>} pose Position and quaternion x, y, z, w. */
  fromPose(pose) {
    const [px, py, pz, x, y, z, w] = pose;
    return new Float32Array([
      1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
      2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
      2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0,
      px, py, pz, 1]);
  },
  /** Of a pose whose matrix stands row by row, as NumPy has it. @param {ArrayLike<number>} T @param {number} at */
  fromRows(T, at = 0) {
    const columns = new Float32Array(16);
    for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) columns[4 * j + i] = T[at + 4 * i + j];
    return columns;
  },
  // Frame at `start` whose z axis points to `end`.
  along(start, end) {
    const z = Vector.unit(Vector.minus(end, start));
    const x = Vector.unit(Vector.cross(Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], z));
    const y = Vector.cross(z, x);
    return new Float32Array([...x, 0, ...y, 0, ...z, 0, ...start, 1]);
  },
  lookAt(eye, target) {
    const z = Vector.unit(Vector.minus(eye, target)), x = Vector.unit(Vector.cross([0, 0, 1], z)), y = Vector.cross(z, x);
    return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0,
      -Vector.dot(x, eye), -Vector.dot(y, eye), -Vector.dot(z, eye), 1]);
  },
  perspective(angle, aspect, near, far) {
    const f = 1 / Math.tan(angle / 2), d = 1 / (near - far);
    return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * d, -1, 0, 0, 2 * far * near * d, 0]);
  },
};
const Vector = {
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  plus: (a, b, scale = 1) => [a[0] + scale * b[0], a[1] + scale * b[1], a[2] + scale * b[2]],
  minus: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  unit(a) { const n = Math.hypot(...a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; },
};

/** Bytes of gzip-compressed base64 text. @param {string} text */
async function inflated(text) {
  const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// Vertices (offset in radii, end 0 or 1, normal) and triangles of a solid of revolution about z.
function solid(profile, segments = 28) {
  const vertices = [], corners = [], rows = profile.length;
  for (let s = 0; s < segments; s++) {
    const a = 2 * Math.PI * s / segments, next = (s + 1) % segments;
    for (const [r, z, end, nr, nz] of profile) vertices.push(r * Math.cos(a), r * Math.sin(a), z, end, nr * Math.cos(a), nr * Math.sin(a), nz);
    for (let k = 0; k + 1 < rows; k++) {
      const [p, q] = [s * rows + k, next * rows + k];
      corners.push(p, q, q + 1, p, q + 1, p + 1);
    }
  }
  return { vertices: new Float32Array(vertices), corners: new Uint16Array(corners) };
}
function capsuleProfile(steps = 6) {
  const profile = [];
  for (let k = 0; k <= 2 * steps + 1; k++) {
    const end = k <= steps ? 0 : 1, a = -Math.PI / 2 + Math.PI / 2 * (k - end) / steps;
    profile.push([Math.cos(a), Math.sin(a), end, Math.cos(a), Math.sin(a)]);
  }
  return profile;
}
/** @type {Object<string, number[][]>} */
const PROFILES = {
  capsule: capsuleProfile(),
  cylinder: [[0, 0, 0, 0, -1], [0.9, 0, 0, 0, -1], [0.9, 0, 0, 0.5, -0.8], [1, 0.1, 0, 0.9, -0.4], [1, 0.1, 0, 1, 0],
    [1, -0.1, 1, 1, 0], [1, -0.1, 1, 0.9, 0.4], [0.9, 0, 1, 0.5, 0.8], [0.9, 0, 1, 0, 1], [0, 0, 1, 0, 1]],
  sphere: [...Array(33).keys()].map(k => -Math.PI / 2 + Math.PI * k / 32).map(a => [Math.cos(a), Math.sin(a), 0, Math.cos(a), Math.sin(a)]),
  disc: [[0, 0, 0, 0, 1], [1, 0, 0, 0, 1]],
  cone: [[0, 0, 0, 0, -1], [1, 0, 0, 0, -1], [1, 0, 0, 0.95, 0.3], [0, 0, 1, 0.95, 0.3]],
};

const SOLID_VERTEX = `#version 300 es
layout(location=0) in vec3 offset; layout(location=1) in float end; layout(location=2) in vec3 normal; layout(location=3) in vec2 place;
uniform mat4 view, pose; uniform float radius, length_; uniform vec3 light; uniform float ground; uniform bool shadow;
out vec3 n, p; out vec2 uv;
void main() {
  uv = place;
  vec4 w = pose * vec4(radius * offset + vec3(0, 0, end * length_), 1);
  mat3 m = mat3(pose);
  n = mat3(cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])) * normal;  // right for stretched bodies too
  if (shadow) w.xyz -= light * ((w.z - ground) / light.z);
  p = w.xyz;
  gl_Position = view * w;
}`;
const SOLID_FRAGMENT = `#version 300 es
precision highp float;
in vec3 n, p; in vec2 uv; uniform sampler2D image; uniform vec3 color, light, eye; uniform vec4 shade; uniform float alpha; uniform bool shadow; out vec4 pixel;
void main() {
  if (shadow) { pixel = shade; return; }
  vec3 m = normalize(n), v = normalize(eye - p), h = normalize(light + v);
  if (dot(m, v) < 0.0) m = -m;  // the inside of open meshes
  float sky = 0.5 + 0.5 * m.z, sun = max(dot(m, light), 0.0), fill = max(dot(m, v), 0.0);
  vec3 c = color * texture(image, uv).rgb * (0.42 + 0.2 * sky + 0.38 * sun + 0.1 * fill) + vec3(0.16) * pow(max(dot(m, h), 0.0), 40.0);
  pixel = vec4(c, alpha);
}`;
const GROUND_VERTEX = `#version 300 es
layout(location=0) in vec2 corner; uniform mat4 view; uniform vec3 middle; uniform float reach; out vec2 p;
void main() { p = middle.xy + reach * corner; gl_Position = view * vec4(p, middle.z, 1); }`;
const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec2 p; uniform vec3 middle, plane, ink; uniform float reach, grid; out vec4 pixel;
float lines(float spacing, float width) {
  vec2 d = abs(fract(p / spacing - 0.5) - 0.5) * spacing, w = fwidth(p) * width;
  vec2 on = (1.0 - smoothstep(w * 0.5, w * 1.5, d)) * clamp(spacing / (8.0 * fwidth(p)), 0.0, 1.0);
  return max(on.x, on.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.35, 1.0, length(p - middle.xy) / reach);
  float line = max(0.5 * lines(grid, 0.8), lines(5.0 * grid, 1.0));
  pixel = vec4(mix(plane, ink, line), fade);
}`;
const TRACE_VERTEX = `#version 300 es
layout(location=0) in vec3 p; uniform mat4 view; uniform float size, now; out float past;
void main() { past = float(gl_VertexID) <= now ? 1.0 : 0.0; gl_Position = view * vec4(p, 1); gl_PointSize = size; }`;
const TRACE_FRAGMENT = `#version 300 es
precision highp float;
in float past; uniform vec3 color; out vec4 pixel;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  pixel = vec4(color, (1.0 - smoothstep(0.7, 1.0, r)) * mix(0.28, 0.9, past));
}`;

const COLORS = { link: [0.93, 0.935, 0.94], joint: [0.23, 0.47, 0.66], sleeve: [0.23, 0.47, 0.66], slide: [0.62, 0.66, 0.7], base: [0.5, 0.55, 0.6] };
const THEMES = {
  light: { background: [0.975, 0.98, 0.985], plane: [0.935, 0.947, 0.958], ink: [0.72, 0.765, 0.81], shade: [0.16, 0.2, 0.25, 0.16] },
  dark: { background: [0.075, 0.09, 0.105], plane: [0.1, 0.118, 0.136], ink: [0.26, 0.3, 0.34], shade: [0.0, 0.0, 0.0, 0.34] },
};
const AXES = [[[1, 0, 0], [0.85, 0.2, 0.2]], [[0, 1, 0], [0.15, 0.62, 0.3]], [[0, 0, 1], [0.15, 0.4, 0.9]]];
const OBSTACLE = [0.86, 0.56, 0.2];
const TRACE_COLOR = [0.06, 0.44, 0.71];
const HOME_VIEW = { azimuth: -0.85, elevation: 0.42 };
/** Pictures of something that moves: as when it rests, and on slow machines without soft edges, then at half the resolution. */
const COARSENESS = [{ soft: true, part: 1 }, { soft: false, part: 1 }, { soft: false, part: 0.5 }];
/** Time between two pictures, ms, that is too long: for graphics cards, which some devices slow down to 30 Hz, and for processors. */
const LATE = { card: 40, processor: 20 };
const LATE_PICTURES = 4;  // one after the other, until pictures become coarser
const PAUSE = 250;  // ms between two pictures of which the first is the last of a movement
const SHADOW_LIGHT = Vector.unit([0.35, -0.3, 0.9]);

/** What is drawn and from where; where the links are is the business of those who extend it. */
class RobotScene {
  /** @param {HTMLCanvasElement} canvas @param {any} scene Shapes of a robot, as Python writes them. */
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    /** @type {keyof typeof THEMES} */
    this.theme = "light";
    this.azimuth = this.elevation = 0;
    this.distance = 1;
    this.target = [0, 0, 0];
    /** @type {{ array: WebGLVertexArrayObject, count: number } | null} Points on the path of the tool. */
    this.trace = null;
    /** @type {{ array: WebGLVertexArrayObject, count: number, color: number[] }[]} */
    this.otherTraces = [];
    this.frame = 0;
    /** Index of `COARSENESS` while something moves; a movie keeps the first. */
    this.coarseness = this.lateness = this.painted = this.resting = 0;
    this.keepsFine = false;
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
    this.beside = [];
    this.notice = (/** @type {string} */ _text) => {};
    /** @type {Object<string, Float32Array[]>} Vertices of the bodies of each kind, as soon as they are unpacked. */
    this.surfaces = {};
    /** @type {Object<string, ImageBitmap[]>} Images of their textures. */
    this.images = {};
    /** @type {string} Kind of bodies that are shown. */
    this.kind = "visual";
    this.prepare();
    this.resetCamera();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.unpacked = this.unpack();
  }

  /** Unpacks the robot's own bodies; until then it is drawn by its kinematics. */
  async unpack() {
    for (const [kind, body] of Object.entries(this.scene.bodies)) {
      this.images[kind] = await decodedImages(body.images);
      this.surfaces[kind] = unpackedSurfaces(await inflated(body.data), body.surfaces);
    }
    if (this.gl.isContextLost()) return;
    this.prepare();
    this.restored();
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

  /** Makes what lives on the graphics card, at the start and after the card was lost. */
  prepare() {
    const gl = this.gl = this.canvas.getContext("webgl2", { antialias: false, stencil: true, preserveDrawingBuffer: false });
    if (!gl) throw new Error("this browser offers no WebGL 2");
    const named = gl.getExtension("WEBGL_debug_renderer_info"), renderer = named ? String(gl.getParameter(named.UNMASKED_RENDERER_WEBGL)) : "";
    this.late = /swiftshader|llvmpipe|software/i.test(renderer) ? LATE.processor : LATE.card;
    /** Where soft edges are painted. @type {{ frame: WebGLFramebuffer, width: number, height: number, buffers: WebGLRenderbuffer[] } | null} */
    this.soft = null;
    this.solids = Object.fromEntries(Object.entries(PROFILES).map(([name, profile]) => {
      const { vertices, corners } = solid(profile);
      return [name, this.mesh(vertices, [3, 1, 3], corners)];
    }));
    this.square = this.mesh(new Float32Array([-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1]), [2]);
    this.programs = {
      solid: this.program(SOLID_VERTEX, SOLID_FRAGMENT),
      ground: this.program(GROUND_VERTEX, GROUND_FRAGMENT),
      trace: this.program(TRACE_VERTEX, TRACE_FRAGMENT),
    };
    this.white = this.texture(new ImageData(new Uint8ClampedArray([255, 255, 255, 255]), 1));
    /** @type {Object<string, WebGLTexture[]>} */
    this.textures = {};
    for (const [kind, surfaces] of Object.entries(this.surfaces)) {
      const coats = this.scene.bodies[kind].surfaces.map(surface => surface[5]);
      surfaces.forEach((vertices, k) => { this.solids[`${kind} ${k}`] = this.mesh(vertices, coats[k] ? [3, 1, 3, 2] : [3, 1, 3]); });
      this.textures[kind] = this.images[kind].map(image => this.texture(image));
    }
    this.arrange();
  }

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
    const solid = [...shapes.map(s => this.part(s.link, s.form, COLORS[s.role], s.start, s.end, s.radius)), ...own.filter(part => part.alpha === undefined)];
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
    this.parts = [...solid, ...(own ? [] : this.base()), ...this.triad(), ...obstacles.filter(part => part.alpha === undefined)];
  }

  part(link, form, color, start, end, radius) {
    return { link, form, color, radius, length: Math.hypot(...Vector.minus(end, start)), placed: Matrix.along(start, end) };
  }

  // Plate and pedestal under the first link, in world coordinates.
  base() {
    const { size, ground, stands } = this.scene, [x, y, z] = this.rootPlace();
    if (!stands) return [];
    const parts = [this.part(-1, "cylinder", COLORS.base, [x, y, ground], [x, y, ground + 0.012 * size], 0.115 * size)];
    if (z > ground + 0.03 * size) parts.push(this.part(-1, "cylinder", COLORS.base, [x, y, ground], [x, y, z], 0.06 * size));
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

  resetCamera() {
    Object.assign(this, HOME_VIEW, { azimuth: this.scene.azimuth ?? HOME_VIEW.azimuth });
    this.target = [...this.scene.middle];
    this.distance = this.fitting();
  }

  /** Distance at which the box around the scene fits into the picture, with some room for what moves. */
  fitting() {
    const { half, size } = this.scene, room = Math.tan(0.3) / 1.35, aspect = this.canvas.clientWidth / this.canvas.clientHeight || 1;
    const [ca, sa, ce, se] = [Math.cos(this.azimuth), Math.sin(this.azimuth), Math.cos(this.elevation), Math.sin(this.elevation)];
    const [back, right, up] = [[ce * ca, ce * sa, se], [-sa, ca, 0], [-se * ca, -se * sa, ce]];
    const needed = [0, 1, 2, 3, 4, 5, 6, 7].map(k => half.map((h, j) => k >> j & 1 ? h : -h)).map(p =>
      Vector.dot(p, back) + Math.max(Math.abs(Vector.dot(p, right)) / aspect, Math.abs(Vector.dot(p, up))) / room);
    return Math.max(...needed, size);
  }

  draw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(now => {
      this.pending = false;
      if (this.gl.isContextLost()) return;
      this.pace(now);
      this.paint(this.keepsFine ? 0 : this.coarseness);
    });
  }

  /** Makes pictures coarser while they come too late, and fine again when nothing moves any more. @param {number} now */
  pace(now) {
    const gap = now - this.painted;
    this.painted = now;
    this.lateness = gap > this.late && gap < PAUSE ? this.lateness + 1 : 0;
    if (this.lateness === LATE_PICTURES && this.coarseness + 1 < COARSENESS.length) { this.coarseness++; this.lateness = 0; }
    clearTimeout(this.resting);
    if (this.coarseness) this.resting = setTimeout(() => { if (!this.gl.isContextLost()) this.paint(); }, PAUSE);
  }

  /** Takes a picture with soft edges, by four samples a pixel. @param {number} width @param {number} height */
  beginSoft(width, height) {
    const { gl } = this;
    if (this.soft?.width !== width || this.soft.height !== height) {
      this.soft?.buffers.forEach(buffer => gl.deleteRenderbuffer(buffer));
      this.soft = { frame: this.soft?.frame ?? gl.createFramebuffer(), width, height, buffers: [gl.createRenderbuffer(), gl.createRenderbuffer()] };
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.soft.frame);
      for (const [k, [format, attachment]] of [[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH24_STENCIL8, gl.DEPTH_STENCIL_ATTACHMENT]].entries()) {
        gl.bindRenderbuffer(gl.RENDERBUFFER, this.soft.buffers[k]);
        gl.renderbufferStorageMultisample(gl.RENDERBUFFER, Math.min(4, gl.getParameter(gl.MAX_SAMPLES)), format, width, height);
        gl.framebufferRenderbuffer(gl.FRAMEBUFFER, attachment, gl.RENDERBUFFER, this.soft.buffers[k]);
      }
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.soft.frame);
  }

  /** Shows the picture with soft edges. */
  endSoft() {
    const { gl } = this, { frame, width, height } = this.soft;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, frame);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** Where the viewer stands, and the matrix from the world to the picture. */
  camera() {
    const ce = Math.cos(this.elevation), d = this.distance, aspect = this.canvas.clientWidth / (this.canvas.clientHeight || 1);
    const eye = [this.target[0] + d * ce * Math.cos(this.azimuth), this.target[1] + d * ce * Math.sin(this.azimuth),
      this.target[2] + d * Math.sin(this.elevation)];
    const perspective = Matrix.perspective(0.6, aspect, 0.02 * d, 20 * d + 10 * this.scene.size);
    return { eye, view: Matrix.multiply(perspective, Matrix.lookAt(eye, this.target)) };
  }

  /** Place of a point of the world on the canvas, in pixels of the page. @param {number[]} p */
  project([x, y, z]) {
    const { view } = this.camera(), at = k => view[k] * x + view[4 + k] * y + view[8 + k] * z + view[12 + k], w = at(3);
    return [0.5 * this.canvas.clientWidth * (1 + at(0) / w), 0.5 * this.canvas.clientHeight * (1 - at(1) / w)];
  }

  /** Line of sight through a place on the canvas. @param {number} x @param {number} y */
  ray(x, y) {
    const { eye } = this.camera(), { clientWidth: width, clientHeight: height } = this.canvas, tangent = Math.tan(0.3);
    const forward = Vector.unit(Vector.minus(this.target, eye)), right = Vector.unit(Vector.cross(forward, [0, 0, 1])), up = Vector.cross(right, forward);
    const across = tangent * width / height * (2 * x / width - 1), above = tangent * (1 - 2 * y / height);
    return { eye, direction: Vector.unit(Vector.plus(Vector.plus(forward, right, across), up, above)), forward };
  }

  /** @param {number} coarseness Index of `COARSENESS`. */
  paint(coarseness = 0) {
    const { soft, part } = COARSENESS[coarseness];
    const { gl, canvas, scene } = this, ratio = part * (window.devicePixelRatio || 1), theme = THEMES[this.theme];
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (!width || !height) return;
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const { eye, view } = this.camera(), d = this.distance;
    const reach = 1.4 * Math.max(scene.extent, scene.size), middle = [scene.middle[0], scene.middle[1], scene.ground];
    if (soft) this.beginSoft(width, height);
    gl.viewport(0, 0, width, height);
    const [red, green, blue] = theme.background;
    gl.clearColor(red, green, blue, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);  // the picture stays opaque
    gl.depthMask(false);
    this.use("ground", { view, middle, reach, grid: this.gridSpacing(), plane: theme.plane, ink: theme.ink });
    this.drawMesh(this.square);
    const places = this.posesNow();
    const light = Vector.unit([eye[0] - this.target[0] + 0.3 * d, eye[1] - this.target[1] - 0.2 * d, Math.max(eye[2] - this.target[2], 0) + 0.9 * d]);
    if (eye[2] > scene.ground) {
      gl.disable(gl.DEPTH_TEST);
      gl.enable(gl.STENCIL_TEST);
      gl.stencilFunc(gl.EQUAL, 0, 255);
      gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      this.drawParts([...this.parts, ...this.clear], places, { view, light: SHADOW_LIGHT, eye, ground: scene.ground, shadow: true, shade: theme.shade });
      for (const other of this.beside) this.drawParts(other.parts, other.places, { shadow: true });
      gl.disable(gl.STENCIL_TEST);
      gl.enable(gl.DEPTH_TEST);
    }
    const lit = { view, light, eye, ground: scene.ground, shadow: false, alpha: 1 };
    gl.depthMask(true);
    this.drawParts(this.parts, places, lit);
    for (const other of this.beside) this.drawParts(other.parts, other.places, lit);
    this.drawParts(this.marks.filter(part => part.alpha === undefined), places, lit);
    gl.enable(gl.POLYGON_OFFSET_FILL);  // where a ghost is at the robot's own place, the robot is seen
    gl.polygonOffset(2, 16);
    for (const ghost of this.ghosts) {  // depth first, so that a ghost's own parts do not show through each other
      gl.colorMask(false, false, false, false);
      this.drawParts(this.carried, ghost.places, lit);
      gl.colorMask(true, true, true, true);
      gl.depthFunc(gl.LEQUAL);
      this.drawParts(this.carried.map(part => ({ ...part, color: ghost.color, alpha: ghost.alpha, texture: undefined })), ghost.places, lit);
      gl.depthFunc(gl.LESS);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.depthMask(false);
    gl.enable(gl.CULL_FACE);
    this.drawParts(this.clear, places, lit);
    this.drawParts(this.marks.filter(part => part.alpha !== undefined), places, lit);
    gl.disable(gl.CULL_FACE);
    this.drawParts(this.planes, places, lit);
    if (this.trace) {
      this.use("trace", { view, size: 3.2 * ratio, now: this.frame, color: TRACE_COLOR });
      this.drawMesh(this.trace, gl.POINTS);
    }
    for (const other of this.otherTraces) {
      this.use("trace", { view, size: 2.4 * ratio, now: -1, color: other.color });
      this.drawMesh(other, gl.POINTS);
    }
    gl.depthMask(true);
    if (this.overlay.length) {
      gl.clear(gl.DEPTH_BUFFER_BIT);
      this.drawParts(this.overlay, places, lit);
    }
    if (soft) this.endSoft();
  }

  gridSpacing() {
    const wanted = this.scene.size / 8, power = 10 ** Math.floor(Math.log10(wanted));
    return power * (wanted / power < 2 ? 1 : wanted / power < 5 ? 2 : 5);
  }

  /** @param {Part[]} parts @param {Float32Array[]} places @param {any} uniforms */
  drawParts(parts, places, uniforms) {
    this.use("solid", uniforms);
    for (const { link, form, placed, radius, length, color, alpha = 1, texture = this.white } of parts) {
      this.gl.bindTexture(this.gl.TEXTURE_2D, texture);
      const pose = link < 0 ? placed : Matrix.multiply(places[link], placed);
      this.set(this.programs.solid, { pose, radius, length_: length, color, alpha });
      this.drawMesh(this.solids[form]);
    }
  }

  /** @param {Float32Array} data @param {number[]} sizes @param {Uint16Array | null} corners of triangles, where vertices are shared */
  mesh(data, sizes, corners = null) {
    const { gl } = this, array = gl.createVertexArray(), stride = sizes.reduce((a, b) => a + b);
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    let offset = 0;
    sizes.forEach((size, k) => {
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, size, gl.FLOAT, false, 4 * stride, 4 * offset);
      offset += size;
    });
    if (corners) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    }
    gl.bindVertexArray(null);
    return { array, count: corners ? corners.length : data.length / stride, shared: Boolean(corners) };
  }

  /** An image that repeats beyond its edges. @param {TexImageSource} image */
  texture(image) {
    const { gl } = this, texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, image);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    gl.generateMipmap(gl.TEXTURE_2D);
    return texture;
  }

  /** @param {any} mesh @param {number} mode */
  drawMesh(mesh, mode = this.gl.TRIANGLES) {
    this.gl.bindVertexArray(mesh.array);
    if (mesh.shared) this.gl.drawElements(mode, mesh.count, this.gl.UNSIGNED_SHORT, 0);
    else this.gl.drawArrays(mode, 0, mesh.count);
  }

  program(vertex, fragment) {
    const { gl } = this, handle = gl.createProgram(), uniforms = {};
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(handle, shader);
    }
    gl.linkProgram(handle);
    if (!gl.getProgramParameter(handle, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error("the 3D view's shaders do not compile here");
    for (let k = 0; k < gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS); k++) {
      const { name, type } = gl.getActiveUniform(handle, k);
      uniforms[name] = { type, place: gl.getUniformLocation(handle, name) };
    }
    return { handle, uniforms };
  }

  use(name, values) {
    this.gl.useProgram(this.programs[name].handle);
    this.set(this.programs[name], values);
  }

  set({ uniforms }, values) {
    const { gl } = this;
    for (const [name, value] of Object.entries(values)) {
      if (!(name in uniforms)) continue;
      const { type, place } = uniforms[name];
      if (type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(place, false, value);
      else if (type === gl.FLOAT_VEC3) gl.uniform3fv(place, value);
      else if (type === gl.FLOAT_VEC4) gl.uniform4fv(place, value);
      else if (type === gl.BOOL) gl.uniform1i(place, value ? 1 : 0);
      else gl.uniform1f(place, value);
    }
  }

  listen() {
    const { canvas } = this, touches = new Map();
    /** @type {Map<number, Tool>} */
    const held = new Map();
    canvas.addEventListener("webglcontextlost", e => {
      e.preventDefault();
      this.notice("The graphics card was lost, so the 3D view stands still. It returns with the card; if not, reload this page.");
    });
    canvas.addEventListener("webglcontextrestored", () => { this.prepare(); this.restored(); this.notice(""); this.draw(); });
    canvas.addEventListener("contextmenu", e => e.preventDefault());
    canvas.addEventListener("pointerdown", e => {
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(e.pointerId);
      const tool = touches.size || e.shiftKey || e.button ? undefined : this.tools.find(candidate => candidate.begin(e));
      if (tool) held.set(e.pointerId, tool);
      else touches.set(e.pointerId, e);
    });
    for (const end of /** @type {const} */ (["pointerup", "pointercancel"])) canvas.addEventListener(end, e => {
      touches.delete(e.pointerId);
      held.get(e.pointerId)?.end(e);
      held.delete(e.pointerId);
    });
    canvas.addEventListener("pointermove", e => {
      const before = touches.get(e.pointerId);
      held.get(e.pointerId)?.move(e);
      if (!before) return;
      const dx = e.clientX - before.clientX, dy = e.clientY - before.clientY;
      const other = [...touches.values()].find(t => t.pointerId !== e.pointerId);
      if (other) {
        const gap = t => Math.hypot(t.clientX - other.clientX, t.clientY - other.clientY) || 1;
        this.zoom(gap(before) / gap(e));
        this.pan(dx / 2, dy / 2);
      } else if (e.shiftKey || e.buttons === 2 || e.buttons === 4) this.pan(dx, dy);
      else this.turn(-0.008 * dx, 0.008 * dy);
      touches.set(e.pointerId, e);
      this.draw();
    });
    canvas.addEventListener("wheel", e => {
      if (this.wheelNeedsFocus && document.activeElement !== canvas && !e.ctrlKey) return;
      e.preventDefault();
      this.zoom(Math.exp(0.0012 * e.deltaY));
      this.draw();
    }, { passive: false });
    canvas.addEventListener("dblclick", () => { this.resetCamera(); this.draw(); });
  }

  /** What must be made again on a graphics card that came back. */
  restored() {}

  turn(azimuth, elevation) {
    this.azimuth += azimuth;
    this.elevation = Math.min(1.55, Math.max(-0.3, this.elevation + elevation));
  }

  zoom(factor) { this.distance = Math.min(20 * this.scene.size, Math.max(0.15 * this.scene.size, this.distance * factor)); }

  pan(dx, dy) {
    const scale = 0.62 * this.distance / this.canvas.clientHeight, [ca, sa] = [Math.cos(this.azimuth), Math.sin(this.azimuth)];
    const [ce, se] = [Math.cos(this.elevation), Math.sin(this.elevation)];
    const right = [-sa, ca, 0], up = [-se * ca, -se * sa, ce];
    this.target = this.target.map((t, k) => t + scale * (dy * up[k] - dx * right[k]));
  }
}
