// Numbers as people read them, poses and rotations.
"use strict";

const DEGREE = Math.PI / 180;

/** A number with some significant digits and no tail of zeros. @param {number} x @param {number} digits */
function shortNumber(x, digits = 3) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "not a number" : x > 0 ? "∞" : "−∞";
  const rounded = Math.abs(x) < 1e-12 ? 0 : Number(x.toPrecision(digits));
  return String(rounded).replace("-", "−");
}

/** A number with fixed decimals and a true minus sign. @param {number} x @param {number} decimals */
function fixedNumber(x, decimals) {
  if (!Number.isFinite(x)) return shortNumber(x);
  const text = x.toFixed(decimals);
  return (Number(text) === 0 ? (0).toFixed(decimals) : text).replace("-", "−");
}

/** Poses (4, 4), row by row. */
const Pose = {
  /** @param {ArrayLike<number>} a @param {ArrayLike<number>} b @returns {number[]} */
  times(a, b) { return Array.from({ length: 16 }, (_, k) => [0, 1, 2, 3].reduce((sum, j) => sum + a[4 * Math.floor(k / 4) + j] * b[4 * j + k % 4], 0)); },
  /** @param {ArrayLike<number>} T @returns {number[]} */
  inverse(T) {
    const shift = [0, 1, 2].map(i => -[0, 1, 2].reduce((sum, j) => sum + T[4 * j + i] * T[4 * j + 3], 0));
    return [...[0, 1, 2].flatMap(i => [T[i], T[4 + i], T[8 + i], shift[i]]), 0, 0, 0, 1];
  },
};

const Rotation = {
  /** Rotation about a unit axis, row by row. @param {number[]} axis @param {number} angle */
  about([x, y, z], angle) {
    const c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
    return [c + x * x * d, x * y * d - z * s, x * z * d + y * s, y * x * d + z * s, c + y * y * d, y * z * d - x * s,
      z * x * d - y * s, z * y * d + x * s, c + z * z * d];
  },
  /** @param {number[]} a @param {number[]} b */
  times(a, b) {
    return a.map((_, k) => [0, 1, 2].reduce((sum, j) => sum + a[3 * Math.floor(k / 3) + j] * b[3 * j + k % 3], 0));
  },
  /** Roll, pitch and yaw, rad, with R = Rz(yaw) Ry(pitch) Rx(roll). @param {number[]} R */
  toRollPitchYaw(R) {
    const across = Math.hypot(R[0], R[3]);
    if (across < 1e-9) return [Math.atan2(-R[5], R[4]), Math.atan2(-R[6], across), 0];
    return [Math.atan2(R[7], R[8]), Math.atan2(-R[6], across), Math.atan2(R[3], R[0])];
  },
  /** @param {number[]} angles roll, pitch, yaw */
  fromRollPitchYaw([roll, pitch, yaw]) {
    const turn = Rotation.times(Rotation.about([0, 0, 1], yaw), Rotation.about([0, 1, 0], pitch));
    return Rotation.times(turn, Rotation.about([1, 0, 0], roll));
  },
  /** @param {number[]} quaternion w, x, y, z, of any length but zero */
  fromQuaternion([w, x, y, z]) {
    const s = 2 / (w * w + x * x + y * y + z * z);
    return [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y), s * (x * y + w * z), 1 - s * (x * x + z * z),
      s * (y * z - w * x), s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)];
  },
  /** Unit quaternion w, x, y, z of a rotation, by its largest element (Shepperd). @param {number[]} R @returns {number[]} */
  toQuaternion(R) {
    const squares = [1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8], 1 - R[0] - R[4] + R[8]];
    const largest = squares.indexOf(Math.max(...squares)), s = 2 * Math.sqrt(squares[largest]);
    const [a, b, c] = [R[7] - R[5], R[2] - R[6], R[3] - R[1]], [d, e, f] = [R[1] + R[3], R[2] + R[6], R[5] + R[7]];
    return [[s * s / 4, a, b, c], [a, s * s / 4, d, e], [b, d, s * s / 4, f], [c, e, f, s * s / 4]][largest].map(x => x / s);
  },
  /** @param {number[]} angles roll, pitch, yaw @returns {number[]} w, x, y, z */
  quaternion([roll, pitch, yaw]) {
    const [cr, sr, cp, sp, cy, sy] = [roll, pitch, yaw].flatMap(a => [Math.cos(a / 2), Math.sin(a / 2)]);
    return [cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy];
  },
};
