import { tmpdir } from "node:os";
import { decodeParameters } from "../../trainer-node/codec/parameters.ts";
import { createResultArrays } from "../../trainer-node/compute/clients/result-arrays.ts";
import { createKernelMemory } from "../../trainer-node/compute/kernels/kernel-memory.ts";
import { firstNonFinite, isFloat } from "../../trainer-node/compute/tensor.ts";
import { readCallBody } from "../../trainer-node/operations/call-body.ts";
import { createClientIntake } from "../../trainer-node/operations/client-intake.ts";
import { runOperation } from "../../trainer-node/operations/run.ts";
import { createClientRecords, type OpenRecords } from "../../trainer-node/records/client-records.ts";
import type { ByteSource } from "../../trainer-node/stream/byte-source.ts";
import { type Cost, measure, measureWaiting } from "./training-figures.ts";

/** Chunk size of a socket. */
const PIECE_BYTES = 65_536;
const memory = createKernelMemory();
const results = createResultArrays(100 * 1024 * 1024);

function* socketPieces(parts: Iterable<Uint8Array>): Generator<Uint8Array> {
  for (const part of parts) for (let at = 0; at < part.byteLength; at += PIECE_BYTES) yield part.subarray(at, at + PIECE_BYTES);
}

function sourceOf(parts: Iterable<Uint8Array>): ByteSource {
  const pieces = socketPieces(parts);
  return { next: () => pieces.next().value ?? undefined };
}

function withRecords(work: (records: OpenRecords) => void): void {
  const records = createClientRecords({ folder: tmpdir(), memoryBytes: Number.MAX_SAFE_INTEGER, memory });
  work(records);
  records.close();
  memory.release(0);
}

/** All work of /aggregate on a binary body (reading, checks, mean, reports, hash, response) with the body in memory and no network. */
export function aggregateInMemory(frames: () => Iterable<Uint8Array>): Promise<Cost> {
  return measureWaiting(async () => {
    const records = createClientRecords({ folder: tmpdir(), memoryBytes: Number.MAX_SAFE_INTEGER, memory, results });
    try {
      await runOperation({ operation: "aggregate", bodyType: "octets", answerType: "octets", config: undefined }, sourceOf(frames()), {
        data: {
          digits: () => {
            throw new Error("an aggregate needs no data");
          },
          fallback: undefined,
          uris: [],
        },
        seed: 1,
        monotonicMs: () => performance.now(),
        onProgress: () => {},
        readBlob: () => {
          throw new Error("an aggregate of frames needs no blob");
        },
        records,
        intake: createClientIntake(records),
        builtins: true,
        signal: new AbortController().signal,
        closedRounds: new Set(),
        noiseKey: new Uint8Array(0),
        residuals: { read: () => [], keep: () => {} },
        served: { keep: (parameters) => parameters, find: () => undefined },
      });
    } finally {
      records.close();
      memory.release(0);
    }
  });
}

/** From chunks of a JSON body to validated tensors, read as a stream, as in the node. */
export function readJsonStreamed(body: () => Iterable<Uint8Array>): Cost {
  return measure(() =>
    withRecords((records) => {
      readCallBody(sourceOf(body()), { bodyType: "json", list: true, config: undefined, intake: createClientIntake(records) });
    }),
  );
}

/** The same with the whole body parsed at once: join, text, JSON, base64, container, check for NaN. */
export function parseThenDecode(body: () => Iterable<Uint8Array>): Cost {
  return measure(() => {
    const text = Buffer.concat([...socketPieces(body())]).toString("utf8");
    const { parameters_list: list } = JSON.parse(text) as { parameters_list: string[] };
    for (const parameters of list) {
      const { tensors } = decodeParameters(Buffer.from(parameters, "base64"));
      for (const tensor of tensors) if (isFloat(tensor) && firstNonFinite(tensor.data) >= 0) throw new Error("not finite");
    }
  }, 2);
}
