import fc from "fast-check";
import type { UpstreamEvent } from "../provider.ts";
import { readAll } from "../provider-contract-support.ts";
import { readAwsEventStream } from "./aws-event-stream.ts";
import { encodeEvent, encodeException, encodeFrame } from "./aws-event-stream-fixture.ts";

async function* stream(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
const read = (...pieces: Uint8Array[]): Promise<UpstreamEvent[]> => readAll(readAwsEventStream(stream(pieces)));
const broken = { name: "AppError", code: "UPSTREAM_UNAVAILABLE" };

const FRAMES = [
  encodeEvent("messageStart", { role: "assistant" }),
  encodeEvent("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Grüß — 世界 👋" } }),
  encodeException("throttlingException", { message: "Too many requests" }),
];
const EVENTS = [
  { event: "messageStart", data: '{"role":"assistant"}' },
  { event: "contentBlockDelta", data: '{"contentBlockIndex":0,"delta":{"text":"Grüß — 世界 👋"}}' },
  { event: "throttlingException", data: '{"message":"Too many requests"}' },
];
const BYTES = Buffer.concat(FRAMES);

test("frames are events, named by their type or by their exception", async () => {
  expect(await read(BYTES)).toEqual(EVENTS);
});

test("a frame of AWS's own test vectors", async () => {
  // "all_headers" is left out; this is "payload_one_str_header" of the event-stream vectors, byte by byte.
  const frame = Buffer.from(
    "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1",
    "hex",
  );
  expect(await read(frame)).toEqual([{ event: undefined, data: "{'foo':'bar'}" }]);
});

test("events are the same wherever the bytes are cut", async () => {
  for (let offset = 0; offset <= BYTES.length; offset++)
    expect(await read(BYTES.subarray(0, offset), BYTES.subarray(offset))).toEqual(EVENTS);
  expect(await read(...[...BYTES].map((byte) => Uint8Array.of(byte)))).toEqual(EVENTS);
  const cuts = fc.array(fc.nat({ max: BYTES.length }), { maxLength: 30 }).map((list) => list.sort((left, right) => left - right));
  await fc.assert(
    fc.asyncProperty(cuts, async (list) => {
      const pieces = [0, ...list].map((start, index) => BYTES.subarray(start, list[index] ?? BYTES.length));
      expect(await read(...pieces)).toEqual(EVENTS);
    }),
    { numRuns: 200 },
  );
});

test("any payload and any header texts come back as they were", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme", maxLength: 200 }), fc.string({ maxLength: 40 }), async (payload, type) => {
      const frame = encodeFrame({ ":message-type": "event", ":event-type": type, "x-other": "y" }, payload);
      expect(await read(frame)).toEqual([{ event: type, data: payload }]);
    }),
  );
});

test("one changed bit anywhere is found, and nothing of its frame is delivered", async () => {
  const [frame] = FRAMES as [Buffer];
  for (let offset = 0; offset < frame.length; offset++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(frame);
      changed.writeUInt8(changed.readUInt8(offset) ^ (1 << bit), offset);
      await expect(read(changed)).rejects.toMatchObject(broken);
    }
  }
});

test("a stream that ends in the middle of a frame is broken", async () => {
  const first = (FRAMES[0] as Buffer).length;
  for (let offset = 1; offset < first; offset++) await expect(read(BYTES.subarray(0, offset))).rejects.toMatchObject(broken);
  expect(await read(BYTES.subarray(0, first))).toEqual(EVENTS.slice(0, 1));
  expect(await read()).toEqual([]);
});

test("headers that are no texts are stepped over", async () => {
  // "all_headers" types: true, false, byte, short, int, long, bytes, timestamp, uuid; encoded by hand into one frame.
  const values: [type: number, value: string][] = [
    [0, ""],
    [1, ""],
    [2, "ff"],
    [3, "0001"],
    [4, "00000001"],
    [5, "0000000000000001"],
    [6, "0003010203"],
    [8, "0000000000000001"],
    [9, "0102030405060708090a0b0c0d0e0f10"],
  ];
  const odd = Buffer.concat(
    values.map(([type, value]) => Buffer.concat([Buffer.of(1), Buffer.from("x"), Buffer.of(type), Buffer.from(value, "hex")])),
  );
  expect(await read(withRawHeaders(odd, "{}"))).toEqual([{ event: undefined, data: "{}" }]);
  await expect(read(withRawHeaders(odd.subarray(0, odd.length - 1), "{}"))).rejects.toMatchObject(broken);
});

test("a frame over the limit is refused before its bytes are waited for", async () => {
  const huge = encodeFrame({}, "");
  huge.writeUInt32BE(16 * 1024 * 1024 + 1, 0);
  await expect(read(withPreludeCrc(huge))).rejects.toMatchObject({ ...broken, message: expect.stringContaining("too large") });
  const short = encodeFrame({}, "");
  short.writeUInt32BE(15, 0);
  await expect(read(withPreludeCrc(short))).rejects.toMatchObject(broken);
});

test("an error that the service has no model for is an error of ours", async () => {
  const frame = encodeFrame({ ":message-type": "error", ":error-code": "InternalError", ":error-message": "An internal error" }, "");
  await expect(read(frame)).rejects.toMatchObject({ ...broken, internal: "InternalError: An internal error" });
});

function withPreludeCrc(frame: Buffer): Buffer {
  frame.writeUInt32BE(crc(frame.subarray(0, 8)), 8);
  return frame;
}

function withRawHeaders(headers: Buffer, payload: string): Buffer {
  const body = Buffer.concat([headers, Buffer.from(payload)]);
  const frame = Buffer.alloc(12 + body.length + 4);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(headers.length, 4);
  frame.writeUInt32BE(crc(frame.subarray(0, 8)), 8);
  body.copy(frame, 12);
  frame.writeUInt32BE(crc(frame.subarray(0, frame.length - 4)), frame.length - 4);
  return frame;
}

/** Written out bit by bit, so that the library's checksum is checked too. */
function crc(bytes: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return (value ^ 0xffffffff) >>> 0;
}
