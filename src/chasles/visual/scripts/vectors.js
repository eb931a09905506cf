// Vectors, matrices of graphics cards, and numbers that Python packed.
"use strict";

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

