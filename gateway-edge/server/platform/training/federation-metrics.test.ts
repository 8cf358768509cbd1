import { Federation, Round } from "../../../../proto/gen/tributary/training/v1/training.ts";
import type { EdgeDeps } from "../../../deps.ts";
import type { ContentStream } from "../../middleware/content-stream.ts";
import type { OperationCall } from "../../middleware/operation.ts";
import { federationMetricsOperations } from "./federation-metrics.ts";
import { maskedCrc32c } from "./tensorboard.ts";

const AT = new Date("2026-11-16T10:00:00.000Z");
const SECONDS = AT.getTime() / 1000;
const round = (number: number): Round =>
  Round.fromPartial({
    ...{ round: number, state: "committed", openedAt: AT, committedAt: AT, accuracy: 0.5 },
    participants: [
      { participantId: "p1", state: "accepted", samples: 30n, metrics: { loss: 1, "=evil,": number } },
      { participantId: "p2", state: "accepted", samples: 10n, metrics: { loss: 2 } },
      { participantId: "p3", state: "failed", metrics: {} },
    ],
    evaluations: [
      { participantId: "p1", state: "failed", reason: "it broke", metrics: {} },
      { participantId: "p9", state: "done", metrics: { accuracy: 0.5 } },
    ],
  });

/** Rounds come in parts of two, and an open one is last. */
async function exported(format: string): Promise<{ bytes: Buffer; stream: ContentStream }> {
  const all = [round(1), round(2), round(3), Round.fromPartial({ round: 4, state: "training", openedAt: AT })];
  const training = {
    getFederation: async () => ({ federation: Federation.fromPartial({ id: "fed_1", createdAt: AT }), role: "owner" }),
    listRounds: async ({ skip, page }: { skip: number; page: { page: number } }) => ({
      rounds: page.page === 1 ? all.slice(skip, skip + 2) : [],
      meta: { page: page.page, pageSize: 100, total: all.length, totalPages: 1 },
    }),
  };
  const [operation] = federationMetricsOperations({ control: { training } } as unknown as EdgeDeps);
  const call = { read: () => ({}) } as unknown as OperationCall;
  const stream = (await operation?.handler({ params: { id: "fed_1" }, query: { format }, body: undefined }, call)) as ContentStream;
  const parts: Uint8Array[] = [];
  for await (const part of stream.parts) parts.push(typeof part === "string" ? Buffer.from(part) : part);
  return { bytes: Buffer.concat(parts), stream };
}

test("JSON has the means of every committed round and the numbers and failures of every participant", async () => {
  const { bytes } = await exported("json");
  const { federationId, rounds } = JSON.parse(String(bytes));
  expect([federationId, rounds.map((one: { round: number }) => one.round)]).toEqual(["fed_1", [1, 2, 3]]);
  const none = { train: {}, evaluate: {} };
  expect(rounds[1]).toEqual({
    ...{ round: 2, accuracy: 0.5, loss: null },
    metrics: { train: { loss: 1.25, "=evil,": 2 }, evaluate: { accuracy: 0.5 } },
    participants: [
      { participantId: "p1", metrics: { ...none, train: { loss: 1, "=evil,": 2 } }, evaluation: { state: "failed", reason: "it broke" } },
      { participantId: "p2", metrics: { ...none, train: { loss: 2 } }, evaluation: null },
      { participantId: "p3", metrics: none, evaluation: null },
      { participantId: "p9", metrics: { ...none, evaluate: { accuracy: 0.5 } }, evaluation: { state: "done", reason: null } },
    ],
  });
});

test("CSV has a row for every number, and a participant's name for a metric is no formula", async () => {
  const { bytes, stream } = await exported("csv");
  expect(stream.fileName).toBe("fed_1-metrics.csv");
  const lines = String(bytes).split("\r\n");
  expect(lines.slice(0, 9)).toEqual([
    "round,participant,operation,metric,value",
    "1,,train,loss,1.25",
    `1,,train,"'=evil,",1`,
    "1,,evaluate,accuracy,0.5",
    "1,p1,train,loss,1",
    `1,p1,train,"'=evil,",1`,
    "1,p2,train,loss,2",
    "1,p9,evaluate,accuracy,0.5",
    "2,,train,loss,1.25",
  ]);
  expect(lines).toHaveLength(1 + 3 * 7 + 1);
});

test("a TensorBoard event file is TFRecords of events with one scalar each", async () => {
  const { bytes, stream } = await exported("tensorboard");
  expect(stream.fileName).toBe(`events.out.tfevents.${SECONDS}.fed_1`);
  const [version, ...events] = readRecords(bytes).map(readEvent);
  expect(version).toEqual({ wallTime: SECONDS, fileVersion: "brain.Event:2" });
  expect(events).toHaveLength(3 * 7);
  expect(events.filter(({ step }) => step === 3).map(({ tag, value, wallTime }) => [tag, value, wallTime])).toEqual([
    ["train/loss", 1.25, SECONDS],
    ["train/=evil,", 3, SECONDS],
    ["evaluate/accuracy", 0.5, SECONDS],
    ["p1/train/loss", 1, SECONDS],
    ["p1/train/=evil,", 3, SECONDS],
    ["p2/train/loss", 2, SECONDS],
    ["p9/evaluate/accuracy", 0.5, SECONDS],
  ]);
});

test("the CRC is that of the specification", () => {
  // RFC 3720, B.4: the CRC-32C of 32 zero bytes is 8a9136aa. TFRecord rotates it by 15 bits and adds a282ead8.
  const crc = 0x8a9136aa;
  expect(maskedCrc32c(new Uint8Array(32))).toBe((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
});

/** Reads TFRecords as their documentation says: length, masked CRC, data, masked CRC. */
function readRecords(bytes: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    const data = bytes.subarray(at + 12, at + 12 + length);
    const sums = [bytes.readUInt32LE(at + 8), bytes.readUInt32LE(at + 12 + length)];
    expect(sums).toEqual([maskedCrc32c(bytes.subarray(at, at + 8)), maskedCrc32c(data)]);
    records.push(data);
    at += 16 + length;
  }
  return records;
}

/** The fields of one protobuf message by number, of the wire types that events have; lengths and steps are below 128 here. */
function readFields(bytes: Buffer): Map<number, Buffer | number> {
  const fields = new Map<number, Buffer | number>();
  for (let at = 0; at < bytes.byteLength; ) {
    const [tag, small] = [bytes[at] ?? 0, bytes[at + 1] ?? 0];
    const [number, type] = [tag >> 3, tag & 7];
    at++;
    if (type === 1) fields.set(number, bytes.readDoubleLE(at));
    else if (type === 5) fields.set(number, bytes.readFloatLE(at));
    else fields.set(number, type === 0 ? small : bytes.subarray(at + 1, at + 1 + small));
    at += { 0: 1, 1: 8, 5: 4 }[type] ?? 1 + small;
  }
  return fields;
}

function readEvent(record: Buffer): { wallTime: unknown; fileVersion?: string; step?: unknown; tag?: string; value?: unknown } {
  const event = readFields(record);
  const wallTime = event.get(1);
  if (event.has(3)) return { wallTime, fileVersion: String(event.get(3)) };
  const scalar = readFields(readFields(event.get(5) as Buffer).get(1) as Buffer);
  return { wallTime, step: event.get(2), tag: String(scalar.get(1)), value: scalar.get(2) };
}
