// Loads WebAssembly modules that Chasles wrote and calls their functions with plain numbers and arrays.
"use strict";

/**
 * @typedef {{ name: string, shape: (number | string)[] }} ChaslesArray
 * @typedef {{ name: string, shape: string, inputs: ChaslesArray[], outputs: ChaslesArray[] }} ChaslesKernel
 * @typedef {number | ArrayLike<any>} ChaslesValue
 */

class ChaslesProgram {
  /** @param {WebAssembly.Module} module @param {WebAssembly.Instance} instance */
  constructor(module, instance) {
    const [section] = WebAssembly.Module.customSections(module, "chasles");
    if (!section) throw new Error("this WebAssembly module was not written by Chasles");
    const description = JSON.parse(new TextDecoder().decode(section));
    /** @type {Map<string, ChaslesKernel>} */
    this.kernels = new Map(description.kernels.map((/** @type {ChaslesKernel} */ kernel) => [kernel.name, kernel]));
    /** @type {number} */
    this.free = description.free;
    /** @type {any} */
    this.exports = instance.exports;
  }

  /** @param {BufferSource} bytes The content of a .wasm file. */
  static async load(bytes) {
    const { module, instance } = await WebAssembly.instantiate(bytes);
    return new ChaslesProgram(module, instance);
  }

  /** @param {string} text */
  static fromBase64(text) {
    return ChaslesProgram.load(Uint8Array.from(atob(text), c => c.charCodeAt(0)));
  }

  /**
   * Computes one sample, or a batch where an argument holds several. A scan makes one step for each record of its
   * second argument, which all samples of a batch share.
   * @param {string} name Of the function.
   * @param {Object<string, ChaslesValue>} given Every argument by name: a number, or an array, nested or flat in C order.
   * @param {number} calls Of a scan: steps from one recorded sample to the next.
   * @returns {Object<string, any>} The results by name: a number, or a flat Float64Array.
   */
  run(name, given, calls = 1) {
    const kernel = this.kernels.get(name);
    if (!kernel) throw new Error(`there is no function '${name}'; there are ${[...this.kernels.keys()].join(", ")}`);
    /** @type {Object<string, number>} */
    const steps = { S: 1, k: calls };
    const size = (/** @type {ChaslesArray} */ array) => array.shape.reduce((/** @type {number} */ a, b) => a * (typeof b === "number" ? b : steps[b]), 1);
    const total = (/** @type {ChaslesArray[]} */ arrays) => arrays.reduce((sum, array) => sum + size(array), 0);
    const names = kernel.inputs.map(array => array.name);
    for (const key of Object.keys(given)) {
      if (!names.includes(key)) throw new Error(`${name} takes no argument '${key}'; it takes ${names.join(", ")}`);
    }
    if (kernel.shape === "scan") {
      const { name: second } = kernel.inputs[1], row = size(kernel.inputs[1]);
      steps.S = given[second] === undefined ? 1 : ChaslesProgram.flatten(given[second]).length / row;
      if (!Number.isInteger(steps.S)) throw new Error(`${name}: '${second}' holds no whole number of rows of ${row} numbers`);
    }
    let count = 1, batch = false;
    const values = kernel.inputs.map(array => {
      if (given[array.name] === undefined) throw new Error(`${name} misses its argument '${array.name}'`);
      const flat = ChaslesProgram.flatten(given[array.name]), wanted = size(array);
      const samples = wanted ? flat.length / wanted : 1;
      if (!Number.isInteger(samples) || (!samples && wanted)) {
        throw new Error(`${name}: '${array.name}' holds ${flat.length} numbers; one sample has ${wanted}`);
      }
      if (samples > 1) {
        if (batch && samples !== count) throw new Error(`${name}: the arguments hold ${count} and ${samples} samples`);
        count = samples;
        batch = true;
      }
      return { flat, wanted, shared: samples === 1 };
    });
    const [taken, returned] = [total(kernel.inputs), total(kernel.outputs)];
    const inputs = this.free, outputs = inputs + 8 * taken * count;
    const memory = this.reserve(outputs + 8 * returned * count);
    for (let sample = 0, at = inputs / 8; sample < count; sample++) {
      for (const { flat, wanted, shared } of values) {
        for (let k = 0, from = shared ? 0 : sample * wanted; k < wanted; k++) memory[at++] = flat[from + k];
      }
    }
    this.exports[name](count, inputs, outputs, ...(kernel.shape === "scan" ? [steps.S, steps.k] : []));
    const found = new Float64Array(this.exports.memory.buffer, outputs, returned * count);
    let first = 0;
    return Object.fromEntries(kernel.outputs.map(array => {
      const length = size(array), own = new Float64Array(length * count);
      for (let sample = 0; sample < count; sample++) {
        own.set(found.subarray(sample * returned + first, sample * returned + first + length), sample * length);
      }
      first += length;
      return [array.name, array.shape.length || batch ? own : own[0]];
    }));
  }

  /** Memory of at least so many bytes, as doubles. @param {number} bytes */
  reserve(bytes) {
    const { memory } = this.exports, missing = bytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    return new Float64Array(memory.buffer);
  }

  /** @param {ChaslesValue} value @returns {ArrayLike<number>} */
  static flatten(value) {
    if (typeof value === "number") return [value];
    if (ArrayBuffer.isView(value)) return /** @type {any} */ (value);
    const flat = Array.from(value).flat(Infinity);
    if (flat.some(x => typeof x !== "number")) throw new Error("arguments are numbers or arrays of numbers");
    return flat;
  }
}
