// Solids of revolution: what robots without bodies of their own are drawn with, and handles and axes.
"use strict";

/** Vertices (offset in radii, end 0 or 1, normal) and triangles of a solid about z. @param {number[][]} profile rows of radius, height, end and normal */
function solid(profile, segments = 28) {
  const vertices = [], corners = [], rows = profile.length;
  for (let s = 0; s < segments; s++) {
    const a = 2 * Math.PI * s / segments, next = (s + 1) % segments;
    for (const [r, z, end, nr, nz] of profile) vertices.push(r * Math.cos(a), r * Math.sin(a), z, end, nr * Math.cos(a), nr * Math.sin(a), nz);
    for (let k = 0; k + 1 < rows; k++) {
      const [p, q] = [s * rows + k, next * rows + k];
      if (profile[k][0]) corners.push(p, q, q + 1);
      if (profile[k + 1][0]) corners.push(p, q + 1, p + 1);
    }
  }
  return { vertices: new Float32Array(vertices), corners: new Uint16Array(corners) };
}

/** Half a circle from one pole to the other, whose two halves stand at the ends of the solid. */
function capsuleProfile(steps = 5) {
  const profile = [];
  for (let k = 0; k <= 2 * steps + 1; k++) {
    const end = k <= steps ? 0 : 1, pole = k % (2 * steps + 1) === 0, a = -Math.PI / 2 + Math.PI / 2 * (k - end) / steps;
    profile.push([pole ? 0 : Math.cos(a), Math.sin(a), end, pole ? 0 : Math.cos(a), Math.sin(a)]);
  }
  return profile;
}

const CAPSULE = capsuleProfile();
const SPHERE = capsuleProfile(8).map(([r, z, , nr, nz]) => [r, z, 0, nr, nz]);
SPHERE.splice(8, 1);  // the halves meet in one equator
/** @type {Object<string, number[][]>} */
const PROFILES = {
  capsule: CAPSULE,
  cylinder: [[0, 0, 0, 0, -1], [0.9, 0, 0, 0, -1], [0.9, 0, 0, 0.5, -0.8], [1, 0.1, 0, 0.9, -0.4], [1, 0.1, 0, 1, 0],
    [1, -0.1, 1, 1, 0], [1, -0.1, 1, 0.9, 0.4], [0.9, 0, 1, 0.5, 0.8], [0.9, 0, 1, 0, 1], [0, 0, 1, 0, 1]],
  sphere: SPHERE,
  disc: [[0, 0, 0, 0, 1], [1, 0, 0, 0, 1]],
  cone: [[0, 0, 0, 0, -1], [1, 0, 0, 0, -1], [1, 0, 0, 0.95, 0.3], [0, 0, 1, 0.95, 0.3]],
  ring: [...Array(13).keys()].map(k => 2 * Math.PI * k / 12).map(a => [1 + 0.02 * Math.cos(a), 0.02 * Math.sin(a), 0, Math.cos(a), Math.sin(a)]),
};
/** Forms whose outside alone is seen. */
const CLOSED = new Set(["capsule", "cylinder", "sphere", "cone"]);
