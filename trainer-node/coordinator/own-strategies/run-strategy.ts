import { readSync, writeSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";

// The process of an own strategy in TypeScript. It may read no file but this one, and gets everything through its standard streams: a JSON
// header, and the parameters as safetensors. It imports nothing of the platform, so that nothing else has to be readable to it.

type Numbers = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;
type Parameters = Record<string, Numbers>;
type Described = { dtype: string; shape: number[]; data_offsets: [number, number] };
type Shapes = Record<string, { dtype: string; shape: number[] }>;

const TYPES = { F32: Float32Array, F64: Float64Array, I32: Int32Array, I64: BigInt64Array, U8: Uint8Array } as const;
const [STDIN, STDOUT] = [0, 1];

function readBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const count = readSync(STDIN, bytes, at, length - at, null);
    if (count === 0) throw new Error("the input ended early");
    at += count;
  }
  return bytes;
}

const readLength = (): number => Number(new DataView(readBytes(8).buffer).getBigUint64(0, true));

function readTensors(): { parameters: Parameters; shapes: Shapes } | undefined {
  const length = readLength();
  if (length === 0) return undefined;
  const bytes = readBytes(length);
  const headerBytes = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const { __metadata__: _about, ...header } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes)));
  const parameters: Parameters = {};
  const shapes: Shapes = {};
  for (const [
    name,
    {
      dtype,
      shape,
      data_offsets: [from, to],
    },
  ] of Object.entries<Described>(header)) {
    const type = TYPES[dtype as keyof typeof TYPES];
    if (!type) throw new Error(`tensor "${name}" has dtype ${dtype}; strategies in TypeScript read ${Object.keys(TYPES).join(", ")}`);
    parameters[name] = new type(bytes.slice(8 + headerBytes + from, 8 + headerBytes + to).buffer);
    shapes[name] = { dtype, shape };
  }
  return { parameters, shapes };
}

/** Shapes are those of the updates; a tensor that they do not have, such as one of the state, is a vector. */
function writeTensors(given: unknown, shapes: Shapes): Uint8Array {
  const header: Record<string, object> = {};
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const name of Object.keys(Object(given)).sort()) {
    const data = (given as Parameters)[name];
    const dtype = Object.keys(TYPES).find((one) => data instanceof TYPES[one as keyof typeof TYPES]);
    if (!data || dtype === undefined) throw new Error(`"${name}" of the result must be a typed array: ${Object.keys(TYPES).join(", ")}`);
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    header[name] = { dtype, shape: shapes[name]?.shape ?? [data.length], data_offsets: [at, at + bytes.length] };
    parts.push(bytes);
    at += bytes.length;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const padded = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(0x20);
  padded.set(text);
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(padded.length), true);
  return Buffer.concat([length, padded, ...parts]);
}

function send(header: object, ...blobs: Uint8Array[]): void {
  const text = new TextEncoder().encode(JSON.stringify({ ...header, blobs: blobs.map(({ length }) => length) }));
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  for (const bytes of [length, text, ...blobs]) for (let at = 0; at < bytes.length; ) at += writeSync(STDOUT, bytes, at);
}

const load = (source: string) => import(`data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(source, { mode: "strip" }))}`);

/** The ids of a round's participants. */
async function select({ source, participants, round, count }: { source: string; participants: object[]; round: number; count: number }) {
  const module = await load(source);
  if (typeof module.select !== "function") throw new Error("the source exports no function select(participants, context)");
  send({}, new TextEncoder().encode(JSON.stringify((await module.select(participants, { round, count })) ?? null)));
}

interface Asked {
  source: string;
  settings: object;
  round: number;
  weights: number[];
}

async function aggregate({ source, settings, round, weights }: Asked) {
  const [base, state] = [readTensors(), readTensors()];
  const updates = weights.map((weight) => ({ weight, ...readTensors() }));
  const shapes = updates[0]?.shapes ?? {};
  const module = await load(source);
  if (typeof module.aggregate !== "function") throw new Error("the source exports no function aggregate(updates, context)");
  const context = { base: base?.parameters ?? null, state: state?.parameters ?? null, settings, round };
  const returned = await module.aggregate(
    updates.map(({ weight, parameters }) => ({ weight, parameters })),
    context,
  );
  const [parameters, next] = Array.isArray(returned) ? returned : [returned, null];
  send({}, writeTensors(parameters, shapes), ...(next ? [writeTensors(next, {})] : []));
}

try {
  const asked = JSON.parse(new TextDecoder().decode(readBytes(readLength())));
  await ("participants" in asked ? select(asked) : aggregate(asked));
} catch (thrown) {
  send({ error: thrown instanceof Error ? `${thrown.name}: ${thrown.message}`.slice(0, 500) : String(thrown).slice(0, 500) });
}
