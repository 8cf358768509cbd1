import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { type Base64Stream, createBase64Stream } from "./base64-stream.ts";
import { createByteBuffer } from "./byte-buffer.ts";
import type { ByteSource } from "./byte-source.ts";
import { readJsonBody } from "./json-body.ts";
import { BrokenBody, createRing, ringSource, ringWriter } from "./ring.ts";

/** The bytes cut where the list says, so that every state has a cut in it sooner or later. */
function cut(bytes: Uint8Array, sizes: readonly number[]): ByteSource {
  let at = 0;
  let turn = 0;
  return {
    next: () => {
      if (at >= bytes.byteLength) return undefined;
      const piece = bytes.subarray(at, at + Math.max(1, sizes[turn++ % sizes.length] ?? 1));
      at += piece.byteLength;
      return piece;
    },
  };
}

const options = {
  streamedFields: new Set(["parameters"]),
  streamedLists: new Set(["parameters_list"]),
  depthMax: 10,
  restBytesMax: 100_000,
  openSink: ({ field, index }: { field: string; index: number | undefined }) => {
    const parts: Buffer[] = [];
    return {
      write: (text: Uint8Array) => void parts.push(Buffer.from(text)),
      end: () => ({ field, index, text: Buffer.concat(parts).toString() }),
    };
  },
};
const read = (text: string, sizes: readonly number[] = [7]) => readJsonBody(cut(Buffer.from(text), sizes), options);

describe("the JSON reader", () => {
  const base64 = fc.base64String();
  const body = fc.record(
    {
      parameters: fc.oneof(base64, fc.constant(null)),
      parameters_list: fc.array(fc.oneof(base64, fc.constant(null), fc.integer())),
      weights: fc.array(fc.double()),
      'odd "key"\\ü': fc.jsonValue({ maxDepth: 3 }),
      nested: fc.record({ parameters: fc.string(), parameters_list: fc.array(fc.string()) }),
    },
    { requiredKeys: [] },
  );

  test("reads what JSON.parse reads, wherever the pieces are cut, with each streamed string in its place", () => {
    fc.assert(
      fc.property(
        body,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        fc.constantFrom(undefined, 1),
        (value, sizes, indent) => {
          const expected = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
          const actual = read(JSON.stringify(value, undefined, indent), sizes);
          const text = (entry: unknown) => (entry as { text?: string } | null)?.text ?? entry;
          if ("parameters" in actual) actual["parameters"] = text(actual["parameters"]);
          if ("parameters_list" in actual) actual["parameters_list"] = (actual["parameters_list"] as unknown[]).map(text);
          expect(actual).toEqual(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("a streamed string knows its field and its index in the list; escapes in it are undone, in keys too", () => {
    expect(read('{"parameters_list":["a",null,"b"],"parameters":"x"}')).toEqual({
      parameters_list: [{ field: "parameters_list", index: 0, text: "a" }, null, { field: "parameters_list", index: 2, text: "b" }],
      parameters: { field: "parameters", index: undefined, text: "x" },
    });
    expect(read('{"p\\u0061rameters":"a\\/b\\u002bc"}', [1])).toEqual({
      parameters: { field: "parameters", index: undefined, text: "a/b+c" },
    });
  });

  test("whatever the bytes: the object JSON.parse gives, or a refusal where it refuses", () => {
    const soup = fc.array(
      fc.constantFrom("{", "}", "[", "]", ",", ":", '"', "\\", "parameters", '"parameters"', "1", " ", "null", "u00", "ü"),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(soup, fc.integer({ min: 1, max: 5 }), (parts, size) => {
        const text = parts.join("");
        const parsed = (() => {
          try {
            return JSON.parse(text) as unknown;
          } catch {
            return undefined;
          }
        })();
        const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
        if (isObject) expect(Object.keys(read(text, [size]))).toEqual(Object.keys(parsed));
        else expect(() => read(text, [size])).toThrow(expect.objectContaining({ name: "TrainerError" }));
      }),
      { numRuns: 3000 },
    );
  });

  test("depth and the size beside the runs have limits", () => {
    expect(() => read("[".repeat(11))).toThrow(expect.objectContaining({ kind: "MALFORMED_JSON" }));
    expect(() => read(`{"x":"${"a".repeat(100_001)}"}`, [999])).toThrow(expect.objectContaining({ kind: "PAYLOAD_TOO_LARGE" }));
    expect(read(`{"parameters":"${"a".repeat(100_001)}"}`, [999])).toMatchObject({
      parameters: { text: expect.stringMatching(/^a{100001}$/) },
    });
  });
});

describe("base64 as it arrives", () => {
  const decode = (text: string, sizes: readonly number[]): Buffer => {
    const target = createByteBuffer(10_000);
    const stream: Base64Stream = createBase64Stream(target, "p");
    const source = cut(Buffer.from(text, "latin1"), sizes);
    for (let piece = source.next(); piece; piece = source.next()) stream.write(piece);
    stream.end();
    return Buffer.from(target.bytes);
  };

  test("gives the bytes, wherever it is cut", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (bytes, sizes) => {
        expect(decode(Buffer.from(bytes).toString("base64"), sizes).equals(bytes)).toBe(true);
      }),
    );
  });

  test.each([
    ["AQ*ID!AA", 2],
    ["AQ-_", 2],
    ["AQI", 3],
    ["A===", 1],
    ["AQ==AQ==", 2],
    ["AQID\n", 4],
    ["AQID\nAAA", 4],
    ["====", 0],
    ["AAAAAAA*AAAA", 7],
  ])("%j is refused at offset %i, never read in part", (text, offset) => {
    for (const size of [1, 3, 4, 100]) {
      expect(() => decode(text, [size])).toThrow(expect.objectContaining({ kind: "INVALID_BASE64", details: { field: "p", offset } }));
    }
  });

  test("a part beyond its limit is a 413 before it is held", () => {
    expect(() => decode("A".repeat(20_000), [4000])).toThrow(expect.objectContaining({ kind: "PAYLOAD_TOO_LARGE" }));
  });
});

describe("the ring between event loop and worker", () => {
  const never = new AbortController().signal;

  test("what is written by one thread is read by the other, in order, however small the ring", async () => {
    const memory = createRing(1024);
    const url = new URL("./ring.ts", `file://${__filename}`).href;
    // Waits in the worker, as the node's workers do; sums what it reads so that order counts.
    const code = `import("${url}").then(({ ringSource }) => { const { parentPort, workerData } = require("node:worker_threads");
      const source = ringSource(workerData); let sum = 0; let count = 0;
      for (let piece = source.next(); piece; piece = source.next()) for (const byte of piece) { sum = (sum * 31 + byte) % 1000003; count++; }
      parentPort.postMessage({ sum, count }); });`;
    const worker = new Worker(code, { eval: true, workerData: memory });
    const answer = new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
    const writer = ringWriter(memory);
    let sum = 0;
    for (let turn = 0; turn < 200; turn++) {
      const bytes = Uint8Array.from({ length: (turn * 37) % 500 }, (_, index) => (turn + index) % 256);
      for (const byte of bytes) sum = (sum * 31 + byte) % 1_000_003;
      expect(await writer.write(bytes, never)).toBe(true);
    }
    writer.end();
    expect(await answer).toEqual({
      sum,
      count: Array.from({ length: 200 }, (_, turn) => (turn * 37) % 500).reduce((total, size) => total + size, 0),
    });
    await worker.terminate();
  });

  test("a body that breaks off throws at the reader; a writer whose reader is gone stops", async () => {
    const memory = createRing(16);
    const writer = ringWriter(memory);
    await writer.write(Uint8Array.of(1, 2), never);
    writer.fail();
    const source = ringSource(memory);
    expect([...(source.next() ?? [])]).toEqual([1, 2]);
    expect(() => source.next()).toThrow(BrokenBody);
    const gone = new AbortController();
    const write = ringWriter(createRing(16)).write(new Uint8Array(100), gone.signal);
    gone.abort();
    await expect(write).resolves.toBe(false);
  });
});
