// Reads answers that were kept in files, with a module in V8, and prints the CPU time that each took:
// node node.mjs MODULE WORK. `bench/readers/examples/reader_native.rs` does the same without Wasm.
import { readFileSync } from "node:fs";

const [module, path] = process.argv.slice(2);
const { warm_ups, rounds, answers } = JSON.parse(readFileSync(path, "utf8"));
const { instance } = await WebAssembly.instantiate(readFileSync(module));
const { memory, allocate, read_json, read_protobuf } = instance.exports;
const bodies = answers.map(({ file }) => readFileSync(file));
const times = answers.map(() => []);

// Microseconds, of all threads: V8 has others, which have nothing to do once everything is compiled.
function spent() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

for (let round = 0; round < warm_ups + rounds; round++) {
  answers.forEach(({ file, source, watch, protobuf, objects }, answer) => {
    const body = bodies[answer];
    const place = allocate(body.length);
    new Uint8Array(memory.buffer, place, body.length).set(body);
    const read = protobuf ? read_protobuf : read_json;
    const started = spent();
    const found = read(source, watch, place, body.length);
    const ended = spent();
    if (found !== objects) throw new Error(`${file}: ${found} objects, not ${objects}`);
    if (round >= warm_ups) times[answer].push(1000 * (ended - started));
  });
}
console.log(JSON.stringify(times));
