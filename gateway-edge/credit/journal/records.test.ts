import fc from "fast-check";
import { UsageLog } from "../../../proto/gen/tributary/usage/v1/usage.ts";
import { encodeRow } from "../../access/clients/settle-request.ts";
import { cost } from "../pricing/price.ts";
import { NO_USAGE } from "../pricing/usage.ts";
import { crc32c } from "./crc32c.ts";
import { unpackFinal } from "./final-record.ts";
import { checksumSeed, decodeHeader, encodeHeader, FRAME_OVERHEAD_BYTES, type Frame, putFrame, readFrames } from "./frame.ts";
import { intentOf, progressOf, servedOf } from "./journal-fixture.ts";
import {
  callIdOf,
  type Intent,
  packIntent,
  packProgress,
  packr,
  packServed,
  RECORD_TYPE,
  unpackIntent,
  unpackProgress,
  unpackServed,
} from "./records.ts";

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const orAbsent = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const date = orAbsent(fc.date({ noInvalidDate: true }));
const tokens = {
  input: int64,
  cachedInput: int64,
  cacheWrite: int64,
  output: int64,
  reasoning: int64,
  audio: int64,
  total: int64,
  source: fc.string(),
  audioOutput: orAbsent(int64),
  amounts: orAbsent(fc.record({ amounts: fc.array(fc.record({ unit: fc.string(), input: int64, output: int64 }), { minLength: 1 }) })),
};
const identity = { callId: fc.string(), organizationId: fc.string(), teamId: fc.string(), teamName: fc.string(), endpoint: fc.string() };
const key = {
  apiKeyId: fc.string(),
  apiKeyName: fc.string(),
  maskedKey: fc.string(),
  userId: orAbsent(int64),
  endUser: orAbsent(fc.string()),
};
const place = { model: fc.string(), deploymentId: fc.string(), provider: fc.string(), type: fc.string(), stream: fc.boolean() };
const outcome = {
  status: fc.string(),
  httpStatus: fc.integer(),
  errorCode: orAbsent(fc.string()),
  usage: orAbsent(fc.record(tokens)),
  cost: int64,
};
const times = {
  createdAt: date,
  completedAt: date,
  latencyMs: fc.integer(),
  firstTokenMs: orAbsent(fc.integer()),
  overheadUs: fc.integer(),
};
const rest = { priceVersion: fc.integer(), cacheHit: fc.boolean(), attempts: fc.integer(), fallbackFrom: orAbsent(fc.string()) };
const attempt = fc.record({
  deploymentId: fc.string(),
  provider: fc.string(),
  status: orAbsent(fc.integer()),
  errorText: orAbsent(fc.string()),
  latencyMs: fc.integer(),
});
const last = {
  attemptsDetail: fc.array(attempt),
  reserved: orAbsent(int64),
  tags: fc.array(fc.string()),
  ledgerSeq: orAbsent(int64),
  onceFor: orAbsent(fc.string()),
};
const anyRow: fc.Arbitrary<UsageLog> = fc.record({ ...identity, ...key, ...place, ...outcome, ...times, ...rest, ...last });

test("a row comes back as it went in, whatever is in it: 64-bit money, absent fields, any text", () => {
  fc.assert(
    fc.property(anyRow, (row) => expect(unpackFinal({ type: RECORD_TYPE.final, payload: encodeRow(row) })).toEqual(row)),
    { numRuns: 500 },
  );
});

test("a final of an earlier version is read", () => {
  const payload = Buffer.from(
    "3AAgvWNhbGxfMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3y0J4vP5Wh7AAy0J4vP5W2wAApW9yZ18xpnRlYW1fMadEZWZhdWx0pWtleV8xpWZpcnN0qnNrLS4uLmExYjLTACAAAAAAAAGnc29tZW9uZbQvdjEvY2hhdC9jb21wbGV0aW9uc6tncHQtNG8tbWluaaVkZXBfMaZvcGVuYWmkY2hhdMOnc3VjY2Vzc8zIwJrTAAAAAAAAAGTTAAAAAAAAAAPTAAAAAAAAAADTAAAAAAAAAMjTAAAAAAAAAADTAAAAAAAAAAfTAAAAAAAAATaocHJvdmlkZXLTAAAAAAAAAAWRk6VpbWFnZdMAAAAAAAAAANMAAAAAAAAAAtMAAAAAAAHiQATCAqZncHQtNG/NBTXMyM0BkJGnbmlnaHRsecCpYmF0Y2hfMS83",
    "base64",
  );
  expect(callIdOf(RECORD_TYPE.positionalFinal, payload)).toBe("call_0123456789abcdef01234567");
  expect(unpackFinal({ type: RECORD_TYPE.positionalFinal, payload })).toEqual({
    attemptsDetail: [],
    callId: "call_0123456789abcdef01234567",
    createdAt: new Date(1_700_000_000_123),
    completedAt: new Date(1_700_000_001_456),
    organizationId: "org_1",
    teamId: "team_1",
    teamName: "Default",
    apiKeyId: "key_1",
    apiKeyName: "first",
    maskedKey: "sk-...a1b2",
    userId: 9_007_199_254_740_993n,
    endUser: "someone",
    endpoint: "/v1/chat/completions",
    model: "gpt-4o-mini",
    deploymentId: "dep_1",
    provider: "openai",
    type: "chat",
    stream: true,
    status: "success",
    httpStatus: 200,
    usage: {
      input: 100n,
      cachedInput: 3n,
      cacheWrite: 0n,
      output: 200n,
      reasoning: 0n,
      audio: 7n,
      total: 310n,
      source: "provider",
      audioOutput: 5n,
      amounts: { amounts: [{ unit: "image", input: 0n, output: 2n }] },
    },
    cost: 123_456n,
    priceVersion: 4,
    cacheHit: false,
    attempts: 2,
    fallbackFrom: "gpt-4o",
    latencyMs: 1333,
    firstTokenMs: 200,
    overheadUs: 400,
    tags: ["nightly"],
    onceFor: "batch_1/7",
  });
});

test("the call of any record is read without the rest of it", () => {
  const ids = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc.string({ minLength: 200, maxLength: 400 }),
    fc.constant("é".repeat(40_000)),
  );
  fc.assert(
    fc.property(ids, (id) => {
      expect(callIdOf(RECORD_TYPE.intent, packIntent({ ...intentOf(0), callId: id }))).toBe(id);
      expect(callIdOf(RECORD_TYPE.served, packServed({ ...servedOf(0), callId: id }))).toBe(id);
      expect(callIdOf(RECORD_TYPE.final, encodeRow(UsageLog.fromPartial({ callId: id, teamId: "t" })))).toBe(id);
    }),
  );
});

test("an intent has the bytes that msgpackr writes, whatever the calls of its key before it had in common with it", () => {
  const few = (...texts: string[]) => fc.constantFrom("", ...texts, "\u00e9");
  const anyIntent: fc.Arbitrary<Intent> = fc.record({
    callId: fc.oneof(few("call_0123456789abcdef0123456789abcdef", "x".repeat(31), "x".repeat(255), "x".repeat(256)), fc.string()),
    createdAtMs: fc.oneof(fc.constant(1_700_000_000_123), fc.nat(), fc.double(), fc.integer({ min: 2 ** 32, max: 2 ** 45 })),
    endpoint: few("/v1/chat/completions"),
    organizationId: few("org_1", "org_2"),
    teamId: few("team_1"),
    teamName: few("Default"),
    apiKeyId: few("key_1", "key_2"),
    apiKeyName: few("first"),
    maskedKey: few("sk-...a1b2"),
    userId: orAbsent(fc.constantFrom(0n, 1n, 9_007_199_254_740_993n)),
    endUser: orAbsent(few("someone")),
    model: few("m", "n"),
    type: few("chat"),
    stream: fc.boolean(),
    worstCase: fc.oneof(int64, fc.constantFrom(0n, 2n ** 63n, 2n ** 64n - 1n)),
    tags: fc.oneof(fc.constant([]), fc.array(few("nightly"), { maxLength: 20 })),
    onceFor: orAbsent(few("batch_1/7")),
  });
  const fieldsOf = (it: Intent) => [
    ...[it.callId, it.createdAtMs, it.endpoint, it.organizationId, it.teamId, it.teamName, it.apiKeyId, it.apiKeyName, it.maskedKey],
    ...[it.userId ?? null, it.endUser ?? null, it.model, it.type, it.stream, it.worstCase, it.tags, it.onceFor ?? null],
  ];
  fc.assert(
    fc.property(fc.array(anyIntent, { minLength: 1, maxLength: 20 }), (intents) => {
      // Each of them twice: the second time what calls share is known.
      for (const intent of intents.flatMap((each) => [each, { ...each }])) {
        expect(packIntent(intent).toString("hex")).toBe(packr.pack(fieldsOf(intent)).toString("hex"));
      }
    }),
    { numRuns: 300 },
  );
  for (let key = 0; key < 3000; key++) {
    const intent = { ...intentOf(1), tags: [], onceFor: undefined, apiKeyId: `key_${key % 1500}` };
    expect(unpackIntent(packIntent(intent))).toEqual(intent);
  }
});

test("intents, who serves and progress come back as they went in", () => {
  expect(unpackIntent(packIntent(intentOf(0)))).toEqual(intentOf(0));
  expect(unpackIntent(packIntent(intentOf(1)))).toEqual(intentOf(1));
  expect(unpackServed(packServed(servedOf(1)))).toEqual(servedOf(1));
  expect(unpackServed(packServed({ ...servedOf(1), prices: undefined }))).toEqual({ ...servedOf(1), prices: undefined });
  const measured = { ...progressOf(1, 7), usage: { ...NO_USAGE, amounts: { image: { input: 0, output: 2 } } } };
  expect(unpackProgress(packProgress(measured))).toEqual(measured);
});

test("a class without a price of its own stays without one, so that it goes on to cost what its kind costs", () => {
  const given = { input: 5_000_000n, output: 6_000_000n, audioOutput: 9_000_000n };
  const { prices } = unpackServed(packServed({ ...servedOf(1), prices: given }));
  expect(prices).toEqual(given);
  const more = { ...given, cacheWriteHour: 7_000_000n, webSearch: 8_000_000n };
  expect(unpackServed(packServed({ ...servedOf(1), prices: more })).prices).toEqual(more);
  // Records of an earlier version end before these two.
  const fields = packr.unpack(packServed({ ...servedOf(1), prices: given })) as unknown[];
  fields[6] = (fields[6] as unknown[]).slice(0, 7);
  expect(unpackServed(packr.pack(fields)).prices).toEqual(given);
  const usage = { ...NO_USAGE, cachedInput: 2, cacheWrite: 3, audioInput: 1, audioOutput: 7 };
  expect(prices && cost(usage, prices)).toBe(cost(usage, given));
});

const header = { edgeId: "edge-1", epoch: 1_700_000_000_000, number: 3, firstSequence: 2 ** 33 + 5, watermark: 17 };

function fileOf(payloads: readonly Buffer[]): Buffer {
  const file = Buffer.alloc(4096);
  const seed = checksumSeed(header);
  let at = encodeHeader(header).copy(file);
  payloads.forEach((payload, index) => {
    at = putFrame(file, at, { type: RECORD_TYPE.final, sequence: header.firstSequence + index, payload, seed });
  });
  return file.subarray(0, at);
}

function readAll(file: Buffer) {
  const decoded = decodeHeader(file);
  if (typeof decoded === "string") throw new Error(decoded);
  const frames: Frame[] = [];
  const reading = readFrames(file, decoded);
  for (let next = reading.next(); ; next = reading.next()) {
    if (next.done) return { header: decoded.header, frames, end: next.value };
    frames.push(next.value);
  }
}

const payloads = ["a", "bc", "", "defghij"].map((text) => Buffer.from(text));

test("a file is read back with sequences beyond 32 bits", () => {
  const read = readAll(fileOf(payloads));
  expect(read.header).toEqual(header);
  expect(read.frames.map(({ sequence }) => sequence - header.firstSequence)).toEqual([0, 1, 2, 3]);
  expect(read.frames.map(({ payload }) => Buffer.from(payload).toString())).toEqual(["a", "bc", "", "defghij"]);
  expect(read.end).toEqual({ state: "whole" });
});

test("any single flipped bit is noticed, and what stands before it is still read", () => {
  const file = fileOf(payloads);
  const headerBytes = encodeHeader(header).length;
  let end = headerBytes;
  const ends = payloads.map(({ length }) => {
    end += FRAME_OVERHEAD_BYTES + length;
    return end;
  });
  for (let bit = headerBytes * 8; bit < file.length * 8; bit++) {
    const flipped = Buffer.from(file);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    const read = readAll(flipped);
    const before = ends.filter((at) => at <= bit >> 3).length;
    expect(read.frames).toHaveLength(before);
    // With readable records behind it this is no torn write, and must not be cut off like one.
    expect(read.end.state).toBe(before === payloads.length - 1 ? "torn" : "damaged");
  }
});

test("records of another epoch or edge that stand in the file are not taken for its own", () => {
  const file = fileOf(payloads);
  for (const other of [
    { ...header, epoch: header.epoch + 1 },
    { ...header, edgeId: "edge-2" },
  ]) {
    const newHeader = encodeHeader(other);
    const { frames } = readAll(Buffer.concat([newHeader, file.subarray(encodeHeader(header).length)]));
    expect(frames).toEqual([]);
  }
});

test("a file of a newer version is refused, not guessed at", () => {
  const newer = Buffer.from(encodeHeader(header));
  newer.writeUInt16BE(2, 4);
  newer.writeUInt32BE(crc32c(newer, { to: newer.length - 4 }), newer.length - 4);
  expect(() => decodeHeader(newer)).toThrow("version 2");
});
