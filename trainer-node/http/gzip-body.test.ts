import { request as httpRequest } from "node:http";
import { gzipSync } from "node:zlib";
import { encodeParameters } from "../codec/parameters.ts";
import { type Node, startNode } from "../node-harness.ts";

const BODY_BYTES_MAX = 8_000_000;
let node: Node;
beforeAll(async () => {
  node = await startNode({ bodyBytesMax: BODY_BYTES_MAX, streamBytesMax: BODY_BYTES_MAX, bytesBudget: 2 * BODY_BYTES_MAX, threads: 1 });
});
afterAll(async () => {
  await node.stop();
});

const ROWS = [
  { a: 0, b: 1, label: 0 },
  { a: 1, b: 0, label: 1 },
];
const post = async (path: string, body: Uint8Array<ArrayBuffer>, encoding = "gzip") => {
  const response = await fetch(node.url + path, { method: "POST", body, headers: { "content-encoding": encoding } });
  return { status: response.status, body: (await response.json()) as { code?: string; error?: string; sha256?: string; details?: object } };
};
const packed = (value: object) => gzipSync(JSON.stringify(value)) as Uint8Array<ArrayBuffer>;
/** Numbers that do not pack well, as trained ones do not. */
const container = (length: number, client: number): string =>
  Buffer.from(
    encodeParameters(
      [{ name: "w", dtype: "f32", shape: [length], data: Float32Array.from({ length }, (_, index) => Math.sin(index * (client + 1))) }],
      "safetensors",
    ),
  ).toString("base64");

test.each(["gzip", "x-gzip", " GZIP "])("a body with Content-Encoding %s is what it was before it was packed", async (encoding) => {
  expect(await post("/evaluate", packed({ dataset: ROWS }), encoding)).toMatchObject({ status: 200 });
});

test("a long gzip body is worked on as it arrives and gives the bytes of the plain one", async () => {
  const body = { parameters_list: [container(300_000, 0), container(300_000, 1)] };
  const plain = await fetch(`${node.url}/aggregate`, { method: "POST", body: JSON.stringify(body) });
  const { sha256 } = (await plain.json()) as { sha256: string };
  expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(await post("/aggregate", packed(body))).toMatchObject({ status: 200, body: { sha256 } });
});

test("a bomb is a 413 before it is unpacked: by its ratio, and by the size it comes to", async () => {
  const zeros = gzipSync(Buffer.alloc(BODY_BYTES_MAX - 1)) as Uint8Array<ArrayBuffer>;
  const ratio = await post("/train", zeros);
  expect(ratio).toMatchObject({ status: 413, body: { code: "PAYLOAD_TOO_LARGE", details: { ratio_max: 100 } } });
  expect((ratio.body.details as { size_bytes: number }).size_bytes).toBeLessThan(BODY_BYTES_MAX / 2);
  const noise = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, index) => (index * index * 31) % 251)).toString("hex");
  const long = gzipSync(noise.repeat(Math.ceil((BODY_BYTES_MAX + 1) / noise.length))) as Uint8Array<ArrayBuffer>;
  expect(long.byteLength).toBeLessThan(BODY_BYTES_MAX);
  expect(await post("/train", long)).toMatchObject({ status: 413, body: { code: "PAYLOAD_TOO_LARGE" } });
  // The node still works.
  expect(await post("/evaluate", packed({ dataset: ROWS }))).toMatchObject({ status: 200 });
});

test("what is not gzip, or breaks off within it, is a 400 that says so", async () => {
  const whole = packed({ dataset: ROWS });
  for (const broken of [Buffer.from("{}"), whole.slice(0, -9), Buffer.concat([whole.slice(0, 12), Buffer.alloc(20, 7)])]) {
    const { status, body } = await post("/train", broken as Uint8Array<ArrayBuffer>);
    expect({ status, code: body.code }).toEqual({ status: 400, code: "VALIDATION_ERROR" });
    expect(body.error).toContain("gzip");
  }
});

test("other encodings are a 415", async () => {
  expect(await post("/train", packed({ dataset: ROWS }), "br")).toMatchObject({ status: 415, body: { code: "UNSUPPORTED_PARAMETERS" } });
});

test("a caller who leaves in the middle of a gzip body leaves nothing behind", async () => {
  const bytes = packed({ parameters_list: [container(400_000, 0), container(400_000, 1)] });
  await new Promise<void>((resolve) => {
    const call = httpRequest(`${node.url}/aggregate`, {
      method: "POST",
      headers: { "content-encoding": "gzip", "content-length": bytes.byteLength },
    });
    call.on("error", () => resolve());
    call.write(bytes.subarray(0, 2_000_000), () => setTimeout(() => call.destroy(), 50));
    call.on("close", () => resolve());
  });
  await expect(post("/evaluate", packed({ dataset: ROWS }))).resolves.toMatchObject({ status: 200 });
  for (let turn = 0; turn < 100 && node.deps.budget.heldBytes > 0; turn++) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(node.deps.budget.heldBytes).toBe(0);
});
