// Triangles of a robot's bodies, as Python packs them.
"use strict";

/** Cosine of the largest angle between faces without an edge between them. */
const CREASE = Math.cos(40 * Math.PI / 180);

/**
 * Vertices (offset, end, normal, and with a texture the place in its image) of each surface.
 * @param {ArrayBuffer} bytes
 * @param {[number, number, boolean, number[], number[], [number, number, number[], number[]] | null][]} described
 *   Numbers of vertices and faces, whether faces have 32 bits, corner and steps of the box; index of an image, number of places in it, corner and steps of their box.
 */
function unpackedSurfaces(bytes, described) {
  let next = 0;
  const take = (Kind, count) => {
    const found = new Kind(bytes, next, count);
    next += 4 * Math.ceil(found.byteLength / 4);
    return found;
  };
  return described.map(([count, faces, wide, low, step, coat]) => {
    const steps = take(Uint16Array, 3 * count), corners = take(wide ? Uint32Array : Uint16Array, 3 * faces);
    const points = new Float32Array(3 * count);
    for (let v = 0; v < count; v++) for (let k = 0; k < 3; k++) points[3 * v + k] = low[k] + step[k] * steps[k * count + v];
    if (!coat) return smoothed(points, corners);
    const [, places, first, spacing] = coat, uv = take(Uint16Array, 2 * places), at = take(places > 65536 ? Uint32Array : Uint16Array, 3 * faces);
    return joined(smoothed(points, corners), Array.from({ length: 3 * faces }, (_, k) => [0, 1].map(j => first[j] + spacing[j] * uv[j * places + at[k]])));
  });
}

/** Vertices of 7 numbers, each followed by two more. @param {Float32Array} vertices @param {number[][]} places */
function joined(vertices, places) {
  const found = new Float32Array(9 * places.length);
  places.forEach((place, k) => { found.set(vertices.subarray(7 * k, 7 * k + 7), 9 * k); found.set(place, 9 * k + 7); });
  return found;
}

/** Images of textures, as a graphics card takes them. @param {string[]} images WebP in base64 */
async function decodedImages(images) {
  return Promise.all(images.map(text => {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return createImageBitmap(new Blob([bytes], { type: "image/webp" }), { imageOrientation: "flipY" });
  }));
}

/** Triangles with normals at their corners: the mean of the faces that meet there without an edge. @param {Float32Array} points @param {ArrayLike<number>} corners */
function smoothed(points, corners) {
  const faces = corners.length / 3, areas = new Float64Array(3 * faces), units = new Float64Array(3 * faces);
  const first = new Uint32Array(points.length / 3 + 1), around = new Uint32Array(corners.length);
  for (let f = 0; f < faces; f++) {
    const [a, b, c] = [0, 1, 2].map(k => 3 * corners[3 * f + k]);
    const u = [0, 1, 2].map(k => points[b + k] - points[a + k]), v = [0, 1, 2].map(k => points[c + k] - points[a + k]);
    const area = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], size = Math.hypot(...area) || 1;
    for (let k = 0; k < 3; k++) { areas[3 * f + k] = area[k]; units[3 * f + k] = area[k] / size; first[corners[3 * f + k] + 1]++; }
  }
  for (let v = 1; v < first.length; v++) first[v] += first[v - 1];
  const next = first.slice();
  for (let k = 0; k < corners.length; k++) around[next[corners[k]]++] = Math.floor(k / 3);
  const vertices = new Float32Array(7 * corners.length);
  for (let k = 0; k < corners.length; k++) {
    const f = 3 * Math.floor(k / 3), v = corners[k];
    let x = 0, y = 0, z = 0;
    for (let j = first[v]; j < first[v + 1]; j++) {
      const g = 3 * around[j];
      if (units[f] * units[g] + units[f + 1] * units[g + 1] + units[f + 2] * units[g + 2] < CREASE) continue;
      x += areas[g]; y += areas[g + 1]; z += areas[g + 2];
    }
    const size = Math.hypot(x, y, z) || 1;
    vertices.set([points[3 * v], points[3 * v + 1], points[3 * v + 2], 0, x / size, y / size, z / size], 7 * k);
  }
  return vertices;
}
