// The graphics card by WebGL 2: shaders, meshes, textures, and pictures with soft edges.
"use strict";

/** @typedef {{ array: WebGLVertexArrayObject, instances?: WebGLBuffer, count: number, indices: number }} Mesh */

const SOLID_VERTEX = `
layout(location=0) in vec3 offset; layout(location=1) in float end; layout(location=2) in vec3 normal; layout(location=3) in vec2 place;
layout(location=4) in vec3 x; layout(location=5) in vec3 y; layout(location=6) in vec3 z; layout(location=7) in vec3 origin;
layout(location=8) in vec2 sizes; layout(location=9) in vec4 tint;
uniform mat4 view; uniform vec3 light; uniform float ground;
out vec3 n, p; out vec2 uv; out vec4 color;
void main() {
  uv = place;
  color = tint;
  mat3 m = mat3(x, y, z);
  p = m * (sizes.x * offset + vec3(0, 0, end * sizes.y)) + origin;
#ifdef SHADOW
  p -= light * ((p.z - ground) / light.z);
#else
  n = mat3(cross(y, z), cross(z, x), cross(x, y)) * normal;  // right for stretched bodies too
#endif
  gl_Position = view * vec4(p, 1);
}`;
const SOLID_FRAGMENT = `
precision highp float;
in vec3 n, p; in vec2 uv; in vec4 color; uniform sampler2D image; uniform vec3 light, eye; out vec4 pixel;
uniform float ambient, sky, sun, fill, gloss, shininess;
void main() {
  vec3 m = normalize(n), v = normalize(eye - p), h = normalize(light + v);
  if (dot(m, v) < 0.0) m = -m;  // the inside of open meshes
  float diffuse = ambient + sky * (0.5 + 0.5 * m.z) + sun * max(dot(m, light), 0.0) + fill * max(dot(m, v), 0.0);
  vec3 own = color.rgb;
#ifdef TEXTURED
  own *= texture(image, uv).rgb;
#endif
  pixel = vec4(own * diffuse + gloss * pow(max(dot(m, h), 0.0), shininess), color.a);
}`;
const SHADOW_FRAGMENT = `
precision highp float;
uniform vec4 shade; out vec4 pixel;
void main() { pixel = shade; }`;
const GROUND_VERTEX = `
layout(location=0) in vec2 corner; uniform mat4 view; uniform vec3 middle; uniform float reach; out vec2 p;
void main() { p = middle.xy + reach * corner; gl_Position = view * vec4(p, middle.z, 1); }`;
const GROUND_FRAGMENT = `
precision highp float;
in vec2 p; uniform vec3 middle, plane, ink; uniform float reach, grid; out vec4 pixel;
float lines(float spacing, float width, vec2 step) {
  vec2 d = abs(fract(p / spacing - 0.5) - 0.5) * spacing, w = step * width;
  vec2 on = (1.0 - smoothstep(w * 0.5, w * 1.5, d)) * clamp(spacing / (8.0 * step), 0.0, 1.0);
  return max(on.x, on.y);
}
void main() {
  vec2 step = fwidth(p);
  float fade = 1.0 - smoothstep(0.35, 1.0, length(p - middle.xy) / reach);
  float line = max(0.5 * lines(grid, 0.8, step), lines(5.0 * grid, 1.0, step));
  pixel = vec4(mix(plane, ink, line), fade);
}`;
const TRACE_VERTEX = `
layout(location=0) in vec3 p; uniform mat4 view; uniform float size, now; out float past;
void main() { past = float(gl_VertexID) <= now ? 1.0 : 0.0; gl_Position = view * vec4(p, 1); gl_PointSize = size; }`;
const TRACE_FRAGMENT = `
precision highp float;
in float past; uniform vec3 color; out vec4 pixel;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  pixel = vec4(color, (1.0 - smoothstep(0.7, 1.0, r)) * mix(0.28, 0.9, past));
}`;

/** Where each solid stands: numbers of its attributes from the fourth on, for all vertices of an instance. */
const INSTANCE = [3, 3, 3, 3, 2, 4];
const INSTANCE_SIZE = INSTANCE.reduce((a, b) => a + b);

/** Draws meshes on a canvas. Everything it made is lost with the graphics card. */
class Graphics {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    const gl = this.gl = canvas.getContext("webgl2", { antialias: false, stencil: true, preserveDrawingBuffer: false });
    if (!gl) throw new Error("this browser offers no WebGL 2");
    const named = gl.getExtension("WEBGL_debug_renderer_info"), renderer = named ? String(gl.getParameter(named.UNMASKED_RENDERER_WEBGL)) : "";
    /** Whether a processor does the work of a graphics card. */
    this.software = /swiftshader|llvmpipe|software/i.test(renderer);
    /** Where soft edges are painted. @type {{ frame: WebGLFramebuffer, width: number, height: number, buffers: WebGLRenderbuffer[] } | null} */
    this.soft = null;
    this.programs = {
      solid: this.program(SOLID_VERTEX, SOLID_FRAGMENT),
      textured: this.program(SOLID_VERTEX, SOLID_FRAGMENT, "#define TEXTURED"),
      shadow: this.program(SOLID_VERTEX, SHADOW_FRAGMENT, "#define SHADOW"),
      ground: this.program(GROUND_VERTEX, GROUND_FRAGMENT),
      trace: this.program(TRACE_VERTEX, TRACE_FRAGMENT),
    };
  }

  /** @param {string} vertex @param {string} fragment @param {string} define */
  program(vertex, fragment, define = "") {
    const { gl } = this, handle = gl.createProgram(), uniforms = {};
    for (const [kind, text] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]])) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, `#version 300 es\n${define}\n${text}`);
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

  /** Chooses a program and sets those of the values that it has. @param {string} name @param {Object<string, any>} values */
  use(name, values) {
    const { gl } = this, { handle, uniforms } = this.programs[name];
    gl.useProgram(handle);
    for (const [key, value] of Object.entries(values)) {
      if (!(key in uniforms)) continue;
      const { type, place } = uniforms[key];
      if (type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(place, false, value);
      else if (type === gl.FLOAT_VEC3) gl.uniform3fv(place, value);
      else if (type === gl.FLOAT_VEC4) gl.uniform4fv(place, value);
      else gl.uniform1f(place, value);
    }
  }

  /** @param {Float32Array} data @param {number[]} sizes of the attributes of a vertex @param {Uint16Array | null} corners of triangles, where vertices are shared */
  mesh(data, sizes, corners = null) {
    const { gl } = this, array = gl.createVertexArray(), stride = sizes.reduce((a, b) => a + b);
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    this.attributes(0, sizes);
    if (corners) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    }
    return { array, count: data.length / stride, indices: corners?.length ?? 0 };
  }

  /** A mesh of which many are drawn at a time. @param {Float32Array} data @param {number[]} sizes @param {Uint16Array | null} corners @returns {Mesh} */
  solid(data, sizes, corners = null) {
    const { gl } = this, mesh = this.mesh(data, sizes, corners), instances = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, instances);
    this.attributes(4, INSTANCE);
    for (let k = 0; k < INSTANCE.length; k++) gl.vertexAttribDivisor(4 + k, 1);
    return { ...mesh, instances };
  }

  /** Describes the buffer that is bound. @param {number} first @param {number[]} sizes */
  attributes(first, sizes) {
    const { gl } = this, stride = sizes.reduce((a, b) => a + b);
    let offset = 0;
    for (const [k, size] of sizes.entries()) {
      gl.enableVertexAttribArray(first + k);
      gl.vertexAttribPointer(first + k, size, gl.FLOAT, false, 4 * stride, 4 * offset);
      offset += size;
    }
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

  /** @param {Mesh} mesh @param {number} mode */
  draw(mesh, mode = this.gl.TRIANGLES) {
    this.gl.bindVertexArray(mesh.array);
    this.gl.drawArrays(mode, 0, mesh.count);
  }

  /** @param {Mesh} mesh @param {Float32Array} instances */
  drawAll(mesh, instances) {
    const { gl } = this, count = instances.length / INSTANCE_SIZE;
    gl.bindVertexArray(mesh.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.instances);
    gl.bufferData(gl.ARRAY_BUFFER, instances, gl.STREAM_DRAW);
    if (mesh.indices) gl.drawElementsInstanced(gl.TRIANGLES, mesh.indices, gl.UNSIGNED_SHORT, 0, count);
    else gl.drawArraysInstanced(gl.TRIANGLES, 0, mesh.count, count);
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
}
