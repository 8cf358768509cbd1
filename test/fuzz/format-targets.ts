import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { fakeDisk } from "../../common/disk-fixture.ts";
import { AppError } from "../../common/errors.ts";
import { silentLogger } from "../../common/logger.ts";
import { FOLDER, finalOf, intentOf, openOn, progressOf, servedOf } from "../../gateway-edge/credit/journal/journal-fixture.ts";
import { replayFolder } from "../../gateway-edge/credit/journal/replay.ts";
import { readForm } from "../../gateway-edge/server/uploads/read-form.ts";
import { decodeParameters, encodeParameters } from "../../trainer-node/codec/parameters.ts";
import { InputProblem } from "../../trainer-node/compute/problem.ts";
import { type Tensor, tensorFromBytes } from "../../trainer-node/compute/tensor.ts";
import { TrainerError } from "../../trainer-node/errors.ts";
import { readJsonBody } from "../../trainer-node/stream/json-body.ts";
import type { Chance } from "../faults/chance.ts";
import { cut, joined, mutated } from "./mutate.ts";
import type { FuzzTarget } from "./target.ts";

/** Readers of stored files, parameters and uploads. */
export async function formatTargets(): Promise<FuzzTarget[]> {
  const journal = await journalFile();
  return [
    { name: "journal", share: 3, make: (random) => mutated(random, journal.bytes), check: (input) => checkJournal(input, journal) },
    { name: "parameters", share: 10, make: parametersOf, check: (input) => refusedOrRead(() => decodeParameters(input)) },
    { name: "training-body", share: 4, make: trainingBody, check: checkTrainingBody },
    { name: "form", share: 3, make: formOf, check: checkForm, atOnce: 8 },
  ];
}

interface JournalFile {
  readonly path: string;
  readonly bytes: Buffer;
  readonly records: number;
}

const CALLS = 8;

/** A journal with ended and open calls, in one file. */
async function journalFile(): Promise<JournalFile> {
  const { journal, disk } = await openOn();
  for (let index = 0; index < CALLS; index++) {
    journal.intent(intentOf(index));
    journal.served(servedOf(index));
    journal.progress(progressOf(index, 5));
    if (index % 2 === 0) await journal.final(finalOf(index));
  }
  await journal.close();
  const [name = ""] = disk.list(FOLDER);
  const path = `${FOLDER}/${name}`;
  return { path, bytes: disk.read(path), records: replay(path, disk.read(path)).records };
}

function replay(path: string, bytes: Buffer) {
  const disk = fakeDisk();
  const file = disk.create(path);
  file.write(bytes);
  file.close();
  return replayFolder({ disk, folder: FOLDER, edgeId: "edge-1", logger: silentLogger });
}

/** Whatever became of the bytes, an edge starts, and it reads no record that was not written. */
function checkJournal(input: Buffer, { path, bytes, records }: JournalFile): void {
  const found = replay(path, input);
  if (found.records > records) throw new Error(`${found.records} records of ${records}`);
  const isCutOnly = bytes.subarray(0, input.length).equals(input);
  if (isCutOnly && found.damagedFiles.length > 0) throw new Error("a file that was only cut short counts as damaged");
}

const TENSORS: readonly Tensor[] = [
  tensorFromBytes({ name: "weight", dtype: "f32", shape: [2, 3] }, new Uint8Array(new Float32Array([1, 2, 3, 4, 5, 6]).buffer)),
  tensorFromBytes({ name: "steps", dtype: "i64", shape: [1] }, new Uint8Array(new BigInt64Array([7n]).buffer)),
];
const ENCODED: readonly Uint8Array[] = [
  encodeParameters(TENSORS, "msgpack"),
  encodeParameters(TENSORS, "safetensors"),
  encodeParameters(TENSORS, "npz"),
  encodeParameters(TENSORS.slice(0, 1), "npy"),
];

const parametersOf = (random: Chance) => mutated(random, random.pick(ENCODED));

/** Anything else than a refusal with a code would be a 500 or a dead thread. */
function refusedOrRead(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof TrainerError || error instanceof InputProblem)) throw error;
  }
}

const JSON_PIECES = [
  '{"parameters":"',
  '"parameters_list":[',
  '"AQID"',
  '","',
  '":',
  "{",
  "}",
  "[",
  "]",
  ",",
  '"',
  "\\",
  "\\u0041",
  "\\ud800",
  "null",
  "1e9",
  "true",
  "ä",
  " ",
];
const BODY = Buffer.from(
  '{"parameters":"AQIDBA==","parameters_list":["AQ==",null,"Ag=="],"weights":[1,2.5e3],"dataset":{"name":"x","seed":1}}',
);

const trainingBody = (random: Chance) => (random.happens(0.7) ? mutated(random, BODY) : joined(random, JSON_PIECES, 25));

const BODY_OPTIONS = {
  streamedFields: new Set(["parameters"]),
  streamedLists: new Set(["parameters_list"]),
  depthMax: 10,
  restBytesMax: 100_000,
  openSink: () => {
    const parts: Buffer[] = [];
    return { write: (text: Uint8Array) => void parts.push(Buffer.from(text)), end: () => Buffer.concat(parts).toString("latin1") };
  },
};

/** Read alike in any cut, or refused in any cut. */
function checkTrainingBody(input: Buffer): void {
  const [whole, inPieces] = [bodyOf([input]), bodyOf(cut(input))];
  if (whole !== inPieces) throw new Error(`another body in pieces: ${whole} ${inPieces}`);
}

function bodyOf(pieces: readonly Buffer[]): string {
  const waiting = [...pieces];
  try {
    return JSON.stringify(readJsonBody({ next: () => waiting.shift() }, BODY_OPTIONS));
  } catch (error) {
    if (error instanceof TrainerError) return error.kind;
    throw error;
  }
}

const FORM = Buffer.from(
  [
    "--edge",
    'Content-Disposition: form-data; name="model"',
    "",
    "echo",
    "--edge",
    "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''a%20b.txt",
    "Content-Type: text/plain",
    "",
    "hello",
    "--edge--",
    "",
  ].join("\r\n"),
);
const FORM_PIECES = [
  "--edge\r\n",
  "--edge--\r\n",
  'Content-Disposition: form-data; name="file"; filename="',
  'Content-Disposition: form-data; name="a"',
  "Content-Type: text/plain; charset=utf-16\r\n",
  "Content-Transfer-Encoding: base64\r\n",
  "\r\n\r\n",
  "\r\n",
  '"',
  "../",
  "hello",
  "\0",
];

const formOf = (random: Chance) => (random.happens(0.6) ? mutated(random, FORM) : joined(random, FORM_PIECES, 20));

/** Ends, in a form or in a refusal, and gives its files back. */
async function checkForm(input: Buffer): Promise<void> {
  const stream = Object.assign(Readable.from(cut(input)), {
    headers: { "content-type": "multipart/form-data; boundary=edge" },
    complete: true,
  });
  const form = readForm(stream as unknown as IncomingMessage, { fileFields: ["file"], filesMax: 2, fileBytesMax: 1000 });
  try {
    await form.complete;
    if (form.files.some(({ name }) => /[/\\]/.test(name))) throw new Error(`a file is named ${JSON.stringify(form.files[0]?.name)}`);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "SERVER_ERROR") throw error;
  } finally {
    await form.close();
  }
}
