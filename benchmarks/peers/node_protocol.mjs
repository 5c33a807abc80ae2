// What the workers in JavaScript share: the requests and replies of protocol.py, and WebGPU under
// node by the npm package `webgpu` (Dawn).  Packages come from the folder in the first argument.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

export const CHECKED = 2;

export class Unsupported extends Error {}

// Replies have stdout for themselves; whatever a library prints goes to stderr.
const replies = fs.createWriteStream("", { fd: 1 });
console.log = console.info = console.warn = console.error;

export const packages = createRequire(path.join(path.resolve(process.argv[2]), "package.json"));

export const version = (name) => {
  const main = packages.resolve(name);
  for (let folder = path.dirname(main); folder !== "/"; folder = path.dirname(folder)) {
    const file = path.join(folder, "package.json");
    if (fs.existsSync(file)) {
      const found = JSON.parse(fs.readFileSync(file, "utf8"));
      if (found.name === name) return found.version;
    }
  }
  return "unknown";
};

/** Defines navigator.gpu; returns the adapter's description, or throws. */
export async function installWebGpu() {
  const { create, globals } = packages("webgpu");
  Object.assign(globalThis, globals);
  const gpu = create([]);
  Object.defineProperty(globalThis, "navigator", { value: { gpu, userAgent: "node" }, configurable: true });
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error("Dawn finds no adapter that it accepts");
  return adapter.info.device || adapter.info.description;
}

const answer = (reply) => replies.write(JSON.stringify(reply) + "\n");

function readInput({ file, shape, dtype }) {
  if (dtype !== "float32") throw new Unsupported(`${dtype} is not passed to JavaScript`);
  const bytes = fs.readFileSync(file);
  const size = shape.reduce((product, extent) => product * extent, 1);
  return { data: new Float32Array(bytes.buffer, bytes.byteOffset, size).slice(), shape };
}

/**
 * Answers requests until "quit".
 * programs: by kind, (inputs, parameters) => a step, which may be asynchronous
 * wait: until the device has a result; read: its numbers, as a list of typed arrays;
 * drop: frees a result
 */
export async function serve(programs, { version, device, wait, read, drop }) {
  let step = null;
  const requests = {
    async prepare({ kind, parameters, inputs, output }) {
      step = null;
      if (!programs[kind]) throw new Unsupported(`no program '${kind}'`);
      const made = await programs[kind](inputs.map(readInput), parameters);
      let numbers = [];
      for (let index = 0; index < CHECKED; index++) {
        const result = await made();
        await wait(result);
        if (index + 1 === CHECKED) {
          numbers = typeof result === "number" ? [[result]] : await read(result);
        }
        drop(result);
      }
      const flat = Float64Array.from(numbers.flatMap((part) => Array.from(part)));
      fs.writeFileSync(output, Buffer.from(flat.buffer));
      step = made;
      return { reply: "prepared" };
    },
    async run({ repeats }) {
      const begun = performance.now();
      for (let index = 0; index < repeats; index++) {
        const result = await step();
        await wait(result);
        drop(result);
      }
      return { reply: "ran", seconds: (performance.now() - begun) / 1e3, counters: {} };
    },
    async release() {
      step = null;
      return { reply: "released" };
    },
  };
  answer({ reply: "ready", version, device });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    if (request.do === "quit") break;
    try {
      answer(await requests[request.do](request));
    } catch (error) {
      const reply = error instanceof Unsupported ? "unsupported" : "failed";
      answer({ reply, reason: String(error.message ?? error).split("\n")[0].slice(0, 300) });
    }
  }
  process.exit(0);
}
