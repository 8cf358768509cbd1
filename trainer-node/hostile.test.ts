import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Packr } from "msgpackr";
import { encodeParameters } from "./codec/parameters.ts";
import { type Node, startNode } from "./node-harness.ts";

let node: Node;
beforeAll(async () => {
  node = await startNode({ threads: 2 });
});
afterAll(() => node.stop());

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const MODEL = encodeParameters([{ name: "w", dtype: "f32", shape: [1], data: Float32Array.of(1) }], "safetensors");

type Call = [path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>];

describe("a pickle with a side effect", () => {
  /** What `pickle.loads` would run `touch` for, at protocols 0, 2 and 4, and as a file of torch.save. */
  const pickles = (file: string): Record<string, Buffer> => {
    const code = `cposix\nsystem\n(S'touch ${file}'\ntR.`;
    const archive = Buffer.concat([
      Buffer.from("PK\x03\x04", "latin1"),
      Buffer.alloc(22),
      Buffer.from([16, 0, 0, 0]),
      Buffer.from(`archive/data.pkl\x80\x02${code}`, "latin1"),
    ]);
    return {
      "protocol 0": Buffer.from(code),
      "protocol 2": Buffer.from(`\x80\x02${code}`, "latin1"),
      "protocol 4": Buffer.from(`\x80\x04${code}`, "latin1"),
      "torch.save": archive,
    };
  };

  test.each(["protocol 0", "protocol 2", "protocol 4", "torch.save"])("of %s is a 415 at every route, and nothing ran", async (kind) => {
    const file = join(node.folder, "executed");
    const pickle = pickles(file)[kind] as Buffer<ArrayBuffer>;
    const text = base64(pickle);
    const reference = `sha256:${digestOf(pickle)}`;
    const put = await fetch(`${node.url}/v1/blobs/${digestOf(pickle)}`, { method: "PUT", body: pickle });
    expect(put.status).toBe(201);
    const fields: [string, object][] = [
      ...["train", "evaluate", "predict"].flatMap((path): [string, object][] => [
        [path, { parameters: text, dataset: "digits" }],
        [path, { parameters_ref: reference, dataset: "digits" }],
      ]),
      ["aggregate", { parameters_list: [text] }],
      ["aggregate", { parameters_list: [base64(MODEL), text] }],
      ["aggregate", { parameters_refs: [reference] }],
      ["aggregate", { parameters_list: [base64(MODEL)], base: text, strategy: { name: "fedavgm" } }],
      ["aggregate", { parameters_list: [base64(MODEL)], base: base64(MODEL), state: text, strategy: { name: "fedavgm" } }],
      ["call", { method: "train", parameters: text, dataset: "digits" }],
      ["call", { method: "evaluate", parameters: text, dataset: "digits" }],
      ["call", { method: "aggregate", parameters_list: [text] }],
    ];
    const packed = (value: object) => Uint8Array.from(new Packr({ useRecords: false }).pack(value));
    const header = Buffer.from(JSON.stringify({ bytes: pickle.byteLength }));
    const frame = Buffer.concat([Buffer.from(Uint32Array.of(header.byteLength).buffer), header, pickle]) as Buffer<ArrayBuffer>;
    const octets = { "content-type": "application/octet-stream", "x-train-config": '{"dataset":"digits"}' };
    const msgpack = { "content-type": "application/msgpack" };
    const calls: Call[] = [
      ...fields.flatMap(([path, body]): Call[] => ["", "v1/"].map((version) => [version + path, JSON.stringify(body), {}])),
      ...["train", "evaluate", "predict"].flatMap((path): Call[] => [
        [path, pickle, octets],
        [path, packed({ parameters: pickle, dataset: "digits" }), msgpack],
      ]),
      ["aggregate", frame, { "content-type": "application/octet-stream" }],
      ["aggregate", packed({ parameters_list: [pickle] }), msgpack],
    ];
    for (const [path, body, headers] of calls) {
      const answer = await fetch(`${node.url}/${path}`, { method: "POST", body, headers });
      expect({ path, status: answer.status, body: await answer.json() }).toMatchObject({
        path,
        status: 415,
        body: { code: "UNSUPPORTED_PARAMETERS", error: expect.stringContaining("safetensors") },
      });
    }
    expect(existsSync(file)).toBe(false);
  });
});

test("of 64 trains at once on two threads those that fit end well, and every other one is BUSY with Retry-After", async () => {
  const [threads, queueMax] = [2, 10];
  const small = await startNode({ threads, queueMax });
  try {
    const body = JSON.stringify({ dataset: "digits", config: { epochs: 10, batch_size: 5, seed: 1 } });
    const answers = await Promise.all(
      Array.from({ length: 64 }, async () => {
        const response = await fetch(`${small.url}/train`, { method: "POST", body });
        const { code, sha256 } = (await response.json()) as { code?: string; sha256?: string };
        return { status: response.status, code, sha256, retryAfter: Number(response.headers.get("retry-after")) };
      }),
    );
    const done = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(done.length).toBeGreaterThanOrEqual(threads + queueMax);
    expect(new Set(done.map(({ sha256 }) => sha256)).size).toBe(1);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, code, retryAfter } of refused) {
      expect([status, code]).toEqual([503, "BUSY"]);
      expect(retryAfter).toBeGreaterThan(0);
    }
    expect(small.deps.pool.load()).toMatchObject({ running: 0, queued: 0 });
    expect(small.deps.budget.heldBytes).toBe(0);
  } finally {
    await small.stop();
  }
});
