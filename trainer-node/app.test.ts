import { createHash } from "node:crypto";
import { request as httpRequest } from "node:http";
import { decodeParameters, encodeParameters } from "./codec/parameters.ts";
import type { Tensor } from "./compute/tensor.ts";
import { BODY_BYTES_MAX, type Node, startNode } from "./node-harness.ts";

let node: Node;
beforeAll(async () => {
  node = await startNode();
});
afterAll(async () => {
  await node.stop();
});

/** Every field an answer may have; a test reads those its own answer must have. */
interface Body {
  parameters: string;
  accuracy: number;
  num_samples: number;
  seed: number;
  sha256: string;
  format: string;
  warnings: string[];
  clients: unknown[];
  code: string;
  error: string;
  details: unknown;
  request_id: string;
}
type Answer = { status: number; headers: Headers; body: Body };

async function send(path: string, body: unknown, init: RequestInit = {}, at = node): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(at.url + path, { method: "POST", body: text, ...init });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

const f32 = (name: string, values: number[], shape = [values.length]): Tensor => ({
  name,
  dtype: "f32",
  shape,
  data: Float32Array.from(values),
});
const encodeBase64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const packed = (...tensors: Tensor[]) => encodeBase64(encodeParameters(tensors, "msgpack"));
const npy = (tensor: Tensor) => encodeBase64(encodeParameters([tensor], "npy"));
const valuesOf = (text: string) => decodeParameters(Buffer.from(text, "base64")).tensors.map(({ data }) => [...data]);
const sha256 = (text: string) => createHash("sha256").update(Buffer.from(text, "base64")).digest("hex");
const ROWS = [
  { a: 0, b: 1, label: 0 },
  { b: 0, a: 1, label: 1 },
];
const MODEL = packed(f32("weight", [0, 0, 0, 0], [2, 2]), f32("bias", [0, 0]));

describe("what a federation needs: train, aggregate, evaluate", () => {
  test("two participants who each know half of the digits are together better than either", async () => {
    const config = { epochs: 3, lr: 0.3, batch_size: 10, seed: 1 };
    const parts = await Promise.all(
      [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
      ].map((classes) => send("/train", { parameters: null, dataset: { name: "digits", classes }, config })),
    );
    const parameters = parts.map((part) => part.body.parameters);
    const merged = await send("/aggregate", { parameters_list: parameters, weights: parts.map((part) => part.body.num_samples) });
    const accuracy = async (text: string) => (await send("/evaluate", { parameters: text, dataset: "digits" })).body.accuracy;
    const together = await accuracy(merged.body.parameters);
    for (const text of parameters) {
      const alone = await accuracy(text);
      expect(alone).toBeLessThan(0.6);
      expect(together).toBeGreaterThan(alone + 0.1);
    }
    expect(together).toBeGreaterThan(0.75);
  });

  test("train on all of digits is above 0.9 on rows it never saw, and says what the document asks and what it did", async () => {
    const { status, body } = await send("/train", { dataset: "digits", config: { epochs: 3, lr: 0.3, seed: 7 } });
    expect(status).toBe(200);
    expect(body).toEqual({
      parameters: expect.any(String),
      num_samples: 1437,
      metrics: { loss: expect.any(Number), accuracy: expect.any(Number), duration_ms: expect.any(Number) },
      sha256: sha256(body.parameters),
      format: "msgpack",
      seed: 7,
      warnings: [],
    });
    const score = await send("/v1/evaluate/", { parameters: body.parameters, dataset: "digits" });
    expect(score.body).toMatchObject({ num_samples: 360, format: "msgpack" });
    expect(score.body.accuracy).toBeGreaterThan(0.9);
    expect(score.body.accuracy).toBeLessThanOrEqual(1);
  });

  test.each([null, "", undefined])("parameters %j mean a fresh model; the seed in the answer makes it again", async (parameters) => {
    const first = await send("/train", { parameters, dataset: ROWS });
    const second = await send("/train", { parameters, dataset: ROWS, config: { seed: first.body.seed } });
    expect(second.body.parameters).toBe(first.body.parameters);
    expect((await send("/evaluate", { parameters, dataset: ROWS })).body).toMatchObject({
      accuracy: expect.any(Number),
      seed: expect.any(Number),
    });
  });

  test("the answer has the format, the layout and the dtype of the request; `format` decides when there is none", async () => {
    const fresh = await send("/train", { dataset: ROWS, format: "npy" });
    expect(fresh.body.format).toBe("npy");
    const again = await send("/train", { dataset: ROWS, parameters: fresh.body.parameters, format: "msgpack" });
    expect(again.body.format).toBe("npy");
    expect(decodeParameters(Buffer.from(again.body.parameters, "base64")).tensors).toMatchObject([{ shape: [3, 2], dtype: "f32" }]);
    const wide = npy({ name: "", dtype: "f64", shape: [3, 2], data: new Float64Array(6) });
    const trained = await send("/train", { dataset: ROWS, parameters: wide });
    expect(decodeParameters(Buffer.from(trained.body.parameters, "base64")).tensors).toMatchObject([{ shape: [3, 2], dtype: "f64" }]);
  });
});

describe("datasets", () => {
  const config = { seed: 1 };
  test("rows, a matrix and base64 tensors of the same numbers train the same model", async () => {
    const x = encodeBase64(new Uint8Array(Float32Array.of(0, 1, 1, 0).buffer));
    const y = encodeBase64(new Uint8Array(BigInt64Array.of(0n, 1n).buffer));
    const forms = [
      ROWS,
      ROWS.map(({ a, b, label }) => ({ a, target: label, b })),
      [
        { a: 0, b: 1, last: 0 },
        { a: 1, b: 0, last: 1 },
      ],
      {
        x: [
          [0, 1],
          [1, 0],
        ],
        y: [0, 1],
      },
      { x: { dtype: "f32", shape: [2, 2], data: x }, y: { dtype: "i64", shape: [2], data: y } },
    ];
    const answers = await Promise.all(forms.map((dataset) => send("/train", { dataset, config })));
    expect(new Set(answers.map(({ body }) => body.sha256)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  });

  test("named sets can be split, filtered and partitioned", async () => {
    const rows = async (dataset: unknown) => (await send("/evaluate", { dataset })).body.num_samples;
    await expect(rows("digits")).resolves.toBe(360);
    await expect(rows({ name: "digits", split: "train" })).resolves.toBe(1437);
    await expect(rows({ name: "digits", split: "all", classes: [0] })).resolves.toBe(178);
    const parts = [0, 1, 2].map((index) => rows({ name: "digits", partition: { scheme: "dirichlet", index, of: 3, seed: 1, alpha: 1 } }));
    expect((await Promise.all(parts)).reduce((sum, count) => sum + count, 0)).toBe(360);
  });

  test("no dataset means the node's own, where it has one", async () => {
    const other = await startNode({ fallback: true });
    try {
      expect((await send("/train", {}, {}, other)).body.num_samples).toBe(2);
    } finally {
      await other.stop();
    }
  });

  test.each<[string, unknown, number, string, unknown]>([
    ["none", undefined, 422, "DATASET_REQUIRED", undefined],
    ["null", null, 422, "DATASET_REQUIRED", undefined],
    ["no rows", [], 422, "EMPTY_DATASET", undefined],
    ["an empty matrix", { x: [], y: [] }, 422, "EMPTY_DATASET", undefined],
    ["an unknown name", "mnist", 404, "DATASET_NOT_FOUND", { known: ["digits", "blobs", "moons", "line", "topics"] }],
    [
      "a row with other keys",
      [
        { a: 1, label: 0 },
        { b: 1, label: 1 },
      ],
      422,
      "VALIDATION_ERROR",
      { row: 1 },
    ],
    [
      "a row with a key too many",
      [
        { a: 1, label: 0 },
        { a: 1, c: 2, label: 1 },
      ],
      422,
      "VALIDATION_ERROR",
      { row: 1 },
    ],
    [
      "a text for a number",
      [
        { a: 1, label: 0 },
        { a: "1", label: 1 },
      ],
      422,
      "VALIDATION_ERROR",
      { row: 1 },
    ],
    ["a number too large for float32", [{ a: 1e300, label: 0 }], 422, "NON_FINITE", { row: 0, column: 0 }],
    ["a fractional label", [{ a: 1, label: 0.5 }], 422, "VALIDATION_ERROR", { row: 0 }],
    ["a negative label", [{ a: 1, label: -1 }], 422, "VALIDATION_ERROR", { row: 0 }],
    ["a label beyond all classes", [{ a: 1, label: 1e9 }], 422, "VALIDATION_ERROR", { row: 0 }],
    ["labels of another number", { x: [[1]], y: [0, 1] }, 422, "SHAPE_MISMATCH", { rows: 1, labels: 2 }],
    ["a ragged matrix", { x: [[1], [1, 2]], y: [0, 1] }, 422, "VALIDATION_ERROR", { row: 1 }],
    ["a matrix without labels", { x: [[1]] }, 422, "VALIDATION_ERROR", expect.anything()],
    ["a part that does not exist", { name: "digits", partition: { index: 3, of: 3 } }, 422, "VALIDATION_ERROR", expect.anything()],
    ["a part that is empty", { name: "digits", partition: { index: 0, of: 100_000 } }, 422, "EMPTY_DATASET", undefined],
    ["a device beyond the last", { synthetic: { device: 30 } }, 422, "VALIDATION_ERROR", expect.anything()],
    ["texts for a task of numbers", "topics", 422, "VALIDATION_ERROR", { dataset: "texts", task: "labelled" }],
    ["a uri", { uri: "file:///etc/passwd" }, 422, "VALIDATION_ERROR", { form: "uri" }],
    ["a number", 5, 422, "VALIDATION_ERROR", undefined],
  ])("%s is answered by code and place", async (_name, dataset, status, code, details) => {
    const answer = await send("/train", { dataset });
    expect(answer).toMatchObject({ status, body: { code, error: expect.any(String), request_id: answer.headers.get("x-request-id") } });
    expect(answer.body.details).toEqual(details);
  });
});

describe("requests that are refused", () => {
  test.each<[string, string, unknown, number, string]>([
    ["malformed JSON", "/train", "{", 400, "VALIDATION_ERROR"],
    ["an empty body", "/evaluate", "", 400, "VALIDATION_ERROR"],
    ["nesting of 65", "/train", "[".repeat(65) + "]".repeat(65), 400, "VALIDATION_ERROR"],
    ["a list", "/train", [], 422, "VALIDATION_ERROR"],
    ["bad base64", "/train", { parameters: "AQ*D", dataset: ROWS }, 422, "INVALID_BASE64"],
    ["a pickle", "/train", { parameters: "gAJ9", dataset: ROWS }, 415, "UNSUPPORTED_PARAMETERS"],
    ["a base that is another", "/train", { parameters: MODEL, base_hash: "0".repeat(64), dataset: ROWS }, 409, "BASE_MISMATCH"],
    ["a base of nothing", "/train", { base_hash: "0".repeat(64), dataset: ROWS }, 409, "BASE_MISMATCH"],
    ["data of other columns", "/evaluate", { parameters: MODEL, dataset: "digits" }, 422, "SHAPE_MISMATCH"],
    ["a label outside the model", "/evaluate", { parameters: MODEL, dataset: [{ a: 1, b: 1, label: 2 }] }, 422, "VALIDATION_ERROR"],
    ["an unknown task", "/train", { dataset: ROWS, config: { task: "oracle" } }, 422, "VALIDATION_ERROR"],
    ["no epochs", "/train", { dataset: ROWS, config: { epochs: 0 } }, 422, "VALIDATION_ERROR"],
    ["epochs without end", "/train", { dataset: ROWS, config: { epochs: 1001 } }, 422, "VALIDATION_ERROR"],
    ["a learning rate of 0", "/train", { dataset: ROWS, config: { lr: 0 } }, 422, "VALIDATION_ERROR"],
    ["noise without a bound on the update", "/train", { dataset: ROWS, config: { noise_multiplier: 1 } }, 422, "VALIDATION_ERROR"],
    ["an unknown format", "/train", { dataset: ROWS, format: "onnx" }, 422, "VALIDATION_ERROR"],
    ["no list", "/aggregate", {}, 422, "VALIDATION_ERROR"],
    ["an empty list", "/aggregate", { parameters_list: [] }, 422, "EMPTY_LIST"],
    ["a null in the list", "/aggregate", { parameters_list: [null] }, 422, "VALIDATION_ERROR"],
    ["an empty entry", "/aggregate", { parameters_list: [""] }, 422, "VALIDATION_ERROR"],
    ["a pickle in the list", "/aggregate", { parameters_list: [MODEL, "gAJ9"] }, 415, "UNSUPPORTED_PARAMETERS"],
    ["weights of another number", "/aggregate", { parameters_list: [MODEL], weights: [1, 2] }, 422, "VALIDATION_ERROR"],
    ["a negative weight", "/aggregate", { parameters_list: [MODEL], weights: [-1] }, 422, "VALIDATION_ERROR"],
    ["weights of 0", "/aggregate", { parameters_list: [MODEL], weights: [0] }, 422, "VALIDATION_ERROR"],
    ["a weight of infinity", "/aggregate", `{"parameters_list":["${MODEL}"],"weights":[1e999]}`, 422, "VALIDATION_ERROR"],
    ["an unknown strategy", "/aggregate", { parameters_list: [MODEL], strategy: { name: "vote" } }, 422, "VALIDATION_ERROR"],
    ["too few for a strategy", "/aggregate", { parameters_list: [MODEL], strategy: { name: "krum" } }, 422, "TOO_FEW_CLIENTS"],
    ["a strategy without its base", "/aggregate", { parameters_list: [MODEL], strategy: { name: "fedadam" } }, 422, "VALIDATION_ERROR"],
    ["a setting of no strategy", "/aggregate", { parameters_list: [MODEL], strategy: { name: "mean", beta: 1 } }, 422, "VALIDATION_ERROR"],
    ["a method of none", "/call", { method: "delete" }, 422, "VALIDATION_ERROR"],
    ["no method", "/call", {}, 422, "VALIDATION_ERROR"],
    ["a blob that is not there", "/train", { parameters_ref: `sha256:${"0".repeat(64)}`, dataset: ROWS }, 404, "BLOB_NOT_FOUND"],
    ["another shape", "/aggregate", { parameters_list: [packed(f32("w", [1])), packed(f32("w", [1, 2]))] }, 422, "SHAPE_MISMATCH"],
    ["nothing at the path", "/v2/train", {}, 404, "NOT_FOUND"],
  ])("%s", async (_name, path, body, status, code) => {
    const answer = await send(path, body);
    expect(answer).toMatchObject({ status, body: { code, error: expect.any(String), request_id: expect.any(String) } });
    expect(JSON.stringify(answer.body)).not.toMatch(/\bat .*\.ts:\d/);
  });

  test("errors say where: the offset in base64, the client and the tensor in a list, the known names", async () => {
    expect((await send("/train", { parameters: "AAAA*AAA", dataset: ROWS })).body.details).toEqual({ field: "parameters", offset: 4 });
    const other: Tensor = { name: "w", dtype: "f64", shape: [1], data: Float64Array.of(1) };
    const mixed = await send("/aggregate", { parameters_list: [packed(f32("w", [1])), packed(other)] });
    expect(mixed.body).toMatchObject({ code: "DTYPE_MISMATCH", details: { client: 1, tensor: "w" } });
    expect((await send("/aggregate", { parameters_list: [MODEL], strategy: { name: "vote" } })).body.error).toContain("mean");
    expect((await send("/train", { dataset: ROWS, config: { task: "oracle" } })).body.error).toContain("softmax");
    expect((await send("/train", { dataset: { x: "AAAA", y: [1] } })).body.error).toContain(
      "dataset.x: must be a list of numbers, or a tensor {",
    );
    for (const field of ["base", "state"]) {
      const list = { parameters_list: [MODEL], strategy: { name: "fedadam" }, base: MODEL };
      const unreadable = await send("/aggregate", { ...list, [field]: "anVuaw==" });
      expect(unreadable).toMatchObject({ status: 415, body: { error: expect.stringMatching(`^${field}: `), details: { field } } });
    }
  });
});

describe("aggregation", () => {
  const clients = [
    [1, 2, 3],
    [2, 3, 4],
    [3, 4, 5],
    [4, 5, 6],
    [100, -100, 50],
  ].map((values) => packed(f32("w", values)));
  const weights = [10, 20, 30, 40, 100];

  test("is the weighted mean, and equal weights where none are given", async () => {
    expect(valuesOf((await send("/aggregate", { parameters_list: clients, weights })).body.parameters)).toEqual([[51.5, -48, 27.5]]);
    const plain = valuesOf((await send("/aggregate", { parameters_list: clients })).body.parameters);
    expect(plain).toEqual([[22, Math.fround(-17.2), Math.fround(13.6)]]);
  });

  test("gives the same bytes for any order of arrival", async () => {
    // Float64 values of very different size: summed in another order, they give another last digit.
    const uneven = clients.map((_, client) => {
      const data = Float64Array.from({ length: 50 }, (_value, at) => Math.sin(client * 50 + at) * 10 ** ((client * 7 + at) % 30));
      return packed({ name: "w", dtype: "f64", shape: [50], data });
    });
    const orders = [
      [0, 1, 2, 3, 4],
      [4, 3, 2, 1, 0],
      [2, 0, 4, 1, 3],
    ];
    const answers = await Promise.all(
      orders.map((order) =>
        send("/aggregate", { parameters_list: order.map((at) => uneven[at]), weights: order.map((at) => weights[at]) }),
      ),
    );
    expect(new Set(answers.map(({ body }) => body.parameters)).size).toBe(1);
    expect(answers[0]?.body.sha256).toBe(sha256(answers[0]?.body.parameters ?? ""));
  });

  test("a client with a NaN is refused by name, or dropped and marked when asked", async () => {
    const list = [packed(f32("w", [1])), packed(f32("w", [Number.NaN])), packed(f32("w", [3]))];
    const refused = await send("/aggregate", { parameters_list: list });
    expect(refused).toMatchObject({ status: 422, body: { code: "NON_FINITE", details: { client: 1, tensor: "w", element: 0 } } });
    const named = await send("/aggregate", { parameters_list: list, client_ids: ["x", "y", "z"] });
    expect(named).toMatchObject({ status: 422, body: { details: { client: 1, client_id: "y" } } });
    expect(named.body.error).toContain("client y (parameters_list[1])");
    const dropped = await send("/aggregate", { parameters_list: list, on_invalid: "drop", client_ids: ["x", "y", "z"] });
    expect(valuesOf(dropped.body.parameters)).toEqual([[2]]);
    expect(dropped.body.clients).toMatchObject([
      { id: "x", accepted: true },
      { id: "y", accepted: false, reason: "NON_FINITE", tensor: "w" },
      { id: "z", accepted: true },
    ]);
    const none = await send("/aggregate", { parameters_list: [list[1]], on_invalid: "drop" });
    expect(none).toMatchObject({ status: 422, body: { code: "TOO_FEW_CLIENTS" } });
  });

  test("formats may be mixed where the tensors agree; the answer has the first one's", async () => {
    const answer = await send("/aggregate", { parameters_list: [npy(f32("", [1])), packed(f32("arr_0", [3]))] });
    expect(answer.body.format).toBe("npy");
    expect(valuesOf(answer.body.parameters)).toEqual([[2]]);
  });
});

describe("the HTTP surface", () => {
  test.each(["/train", "/v1/evaluate", "/aggregate/"])(
    "%s: OPTIONS is 204 and invites no web page; other methods are 405 with Allow",
    async (path) => {
      const options = await fetch(node.url + path, { method: "OPTIONS" });
      expect(options.status).toBe(204);
      expect(options.headers.get("access-control-allow-origin")).toBeNull();
      for (const method of ["GET", "PUT", "DELETE"]) {
        const refused = await fetch(node.url + path, { method });
        expect(refused.status).toBe(405);
        expect(refused.headers.get("allow")).toBe("OPTIONS, POST");
        expect(await refused.json()).toMatchObject({ code: "METHOD_NOT_ALLOWED" });
      }
    },
  );

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-8",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "multipart/mixed",
    "no type",
  ])("a body of %s is read as JSON", async (type) => {
    const headers = { "content-type": type };
    expect((await send("/evaluate", { dataset: ROWS }, { headers })).status).toBe(200);
    expect((await send("/train", { dataset: ROWS }, { headers })).status).toBe(200);
  });

  test("a form is no JSON", async () => {
    const headers = { "content-type": "multipart/form-data; boundary=x" };
    const form = '--x\r\ncontent-disposition: form-data; name="dataset"\r\n\r\n[]\r\n--x--\r\n';
    expect(await send("/train", form, { headers })).toMatchObject({ status: 400, body: { code: "VALIDATION_ERROR" } });
  });

  test("a Content-Encoding that is not read is a 415", async () => {
    expect(await send("/train", { dataset: ROWS }, { headers: { "content-encoding": "zstd" } })).toMatchObject({
      status: 415,
      body: { code: "UNSUPPORTED_PARAMETERS" },
    });
  });

  test("a body at the limit is read, one byte more is a 413 with limit and size, announced or not", async () => {
    const padded = (size: number) => JSON.stringify({ dataset: ROWS }).padEnd(size, " ");
    expect((await send("/evaluate", padded(BODY_BYTES_MAX))).status).toBe(200);
    const details = { limit_bytes: BODY_BYTES_MAX, size_bytes: expect.any(Number) };
    expect(await send("/evaluate", padded(BODY_BYTES_MAX + 1))).toMatchObject({
      status: 413,
      body: { code: "PAYLOAD_TOO_LARGE", details },
    });
    const stream = new Blob([padded(BODY_BYTES_MAX + 1)]).stream();
    const chunked = await fetch(`${node.url}/evaluate`, { method: "POST", body: stream, duplex: "half" });
    expect(await chunked.json()).toMatchObject({ code: "PAYLOAD_TOO_LARGE", details });
    expect(node.deps.budget.heldBytes).toBe(0);
  });

  test("a caller that announces too much with Expect gets no 100 Continue", async () => {
    const continued = jest.fn();
    const status = await new Promise((resolve, reject) => {
      const call = httpRequest(`${node.url}/train`, {
        method: "POST",
        headers: { expect: "100-continue", "content-length": BODY_BYTES_MAX + 1 },
      });
      call.on("continue", continued);
      call.on("response", (response) => {
        resolve(response.statusCode);
        call.destroy();
      });
      call.on("error", reject);
      call.flushHeaders();
    });
    expect(status).toBe(413);
    expect(continued).not.toHaveBeenCalled();
  });

  test("unknown fields are ignored and listed", async () => {
    const { status, body } = await send("/evaluate", { dataset: ROWS, extra: 1, config: { seed: 1, speed: 9 }, round_id: "r1" });
    expect(status).toBe(200);
    expect(body.warnings).toEqual(["unknown field ignored: extra", "unknown field ignored: config.speed"]);
  });

  test("the caller's request id comes back when it is sane, else a new one", async () => {
    const idOf = async (id: string) => (await send("/train", "{", { headers: { "x-request-id": id } })).body.request_id;
    await expect(idOf("abc_DEF-1")).resolves.toBe("abc_DEF-1");
    await expect(idOf("a b")).resolves.toMatch(/^req_/);
    await expect(idOf("a".repeat(129))).resolves.toMatch(/^req_/);
    expect((await fetch(`${node.url}/health`)).headers.get("x-request-id")).toMatch(/^req_/);
  });

  test("health, info and metrics", async () => {
    await expect((await fetch(`${node.url}/health`)).json()).resolves.toEqual({ status: "ok" });
    expect((await fetch(`${node.url}/ready`)).status).toBe(200);
    await expect((await fetch(`${node.url}/v1/info`)).json()).resolves.toMatchObject({
      version: "test",
      kernel: "wasm-simd",
      formats: ["safetensors", "msgpack", "npz", "npy"],
      tasks: expect.arrayContaining([expect.objectContaining({ name: "softmax" })]),
      strategies: expect.arrayContaining([
        expect.objectContaining({ name: "mean" }),
        expect.objectContaining({ name: "fedadam", base: "required" }),
      ]),
      datasets: expect.arrayContaining([expect.objectContaining({ name: "digits" })]),
      limits: { body_bytes: BODY_BYTES_MAX },
      capabilities: { clip: true, noise: true, mask: true, steps: true, proximal: true, formats: ["safetensors", "msgpack", "npz", "npy"] },
    });
    await send("/evaluate", { dataset: ROWS });
    await fetch(`${node.url}/unknown/path`);
    const text = await (await fetch(`${node.url}/metrics`)).text();
    expect(text).toMatch(/trainer_calls_total\{route="\/evaluate",status="200"\} [1-9]/);
    expect(text).toContain('route="other",status="404"');
    expect(text).not.toContain("unknown/path");
    expect(text).toContain('trainer_queue_size{pool="training"} 0');
    expect((await fetch(`${node.url}/health`, { method: "POST" })).status).toBe(405);
  });
});
