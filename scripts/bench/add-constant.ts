import { registerEvaluate, registerTrain, run } from "../../trainer-node/sdk.ts";

// A participant with almost no work, so that the figure is the cost of the round itself.

/** The header and the numbers of a safetensors file with one tensor. */
function fresh(length: number): Uint8Array {
  const header = JSON.stringify({ w: { dtype: "F32", shape: [length], data_offsets: [0, length * 4] } });
  const text = header.padEnd(Math.ceil(header.length / 8) * 8);
  const file = new Uint8Array(8 + text.length + length * 4);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(new TextEncoder().encode(text), 8);
  return file;
}

registerTrain((parameters, dataset, { config }) => {
  const update = parameters?.slice() ?? fresh(Number(config["length"]));
  // The header's length is a multiple of eight, so the numbers can be changed in place.
  const start = 8 + Number(new DataView(update.buffer).getBigUint64(0, true));
  const numbers = new Float32Array(update.buffer, start);
  const constant = 1 + Number((dataset as { partition: { index: number } }).partition.index) / 1000;
  for (let index = 0; index < numbers.length; index++) numbers[index] = (numbers[index] as number) + constant;
  return { parameters: update, numSamples: 10 };
});
registerEvaluate(() => 0);

await run();
