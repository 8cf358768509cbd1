import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Packr, Unpackr } from "msgpackr";
import { systemClock } from "../common/clock.ts";
import { decodeParameters, encodeParameters, FORMATS } from "./codec/parameters.ts";
import type { Tensor } from "./compute/tensor.ts";
import { type Node, startNode } from "./node-harness.ts";

let node: Node;
beforeAll(async () => {
  node = await startNode({ streamBytesMax: 200_000_000, bytesBudget: 300_000_000, recordBytesInMemory: 3_000_000 });
});
afterAll(async () => {
  await node.stop();
});

const f32 = (values: ArrayLike<number>, name = "w"): Tensor => ({
  name,
  dtype: "f32",
  shape: [values.length],
  data: Float32Array.from(values),
});
const pack = (values: ArrayLike<number>, format: (typeof FORMATS)[number] = "safetensors") =>
  encodeParameters([f32(values, format === "npy" ? "arr_0" : "w")], format);
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const valuesOf = (bytes: Uint8Array) => decodeParameters(bytes).tensors.flatMap(({ data }) => Array.from(data as Float32Array));
const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, at = node) =>
  fetch(at.url + path, { method: "POST", body, headers });
const json = async (path: string, body: object, headers: Record<string, string> = {}, at = node) => {
  const response = await post(path, JSON.stringify(body), headers, at);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
};
/** Every field an answer may have; a test reads those its own answer must have. */
interface Body {
  parameters: string;
  format: string;
  sha256: string;
  code: string;
  id: string;
  predictions: object[];
  details: unknown;
}
const frame = (header: object, bytes: Uint8Array): Buffer<ArrayBuffer> => {
  const text = Buffer.from(JSON.stringify({ ...header, bytes: bytes.byteLength }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.byteLength);
  return Buffer.concat([length, text, bytes]) as Buffer<ArrayBuffer>;
};
const ROWS = [
  { a: 0, b: 1, label: 0 },
  { a: 1, b: 0, label: 1 },
];

describe("formats over the wire", () => {
  test.each(FORMATS)("%s in, %s out, averaged", async (format) => {
    const list = [pack([1, 2], format), pack([3, 4], format)].map(base64);
    const { body } = await json("/aggregate", { parameters_list: list });
    expect(body.format).toBe(format);
    expect(valuesOf(Buffer.from(body.parameters, "base64"))).toEqual([2, 3]);
  });

  test("a fresh model comes in the format asked for, and trains on in it", async () => {
    for (const format of FORMATS) {
      const fresh = await json("/train", { dataset: ROWS, format, config: { seed: 1 } });
      const again = await json("/train", { dataset: ROWS, parameters: fresh.body.parameters });
      expect([fresh.body.format, again.body.format]).toEqual([format, format]);
    }
  });
});

describe("octets and MessagePack", () => {
  const model = encodeParameters([{ ...f32([0, 0, 0, 0], "weight"), shape: [2, 2] }, f32([0, 0], "bias")], "safetensors");
  const config = { dataset: ROWS, config: { seed: 3 } };

  test("all three transports of one training give the same parameters", async () => {
    const plain = await json("/train", { ...config, parameters: base64(model) });
    const octets = await post("/v1/train", model, {
      "content-type": "application/octet-stream",
      accept: "application/octet-stream",
      "x-train-config": Buffer.from(JSON.stringify(config)).toString("base64"),
    });
    expect(octets.headers.get("content-type")).toContain("application/octet-stream");
    const head = JSON.parse(octets.headers.get("x-result") ?? "{}") as object;
    expect(head).toMatchObject({ num_samples: 2, sha256: plain.body.sha256 });
    expect(digestOf(new Uint8Array(await octets.arrayBuffer()))).toBe(plain.body.sha256);
    const packed = await post(
      "/train",
      Uint8Array.from(new Packr({ useRecords: false }).pack({ ...config, parameters: Buffer.from(model) })),
      { "content-type": "application/msgpack" },
    );
    expect(packed.headers.get("content-type")).toContain("application/msgpack");
    const answer = new Unpackr({ useRecords: false }).unpack(Buffer.from(await packed.arrayBuffer())) as { parameters: Uint8Array };
    expect(digestOf(answer.parameters)).toBe(plain.body.sha256);
  });

  test("an aggregate as frames of octets is the aggregate as JSON", async () => {
    const clients = [pack([1, 2, 3]), pack([3, 4, 5])];
    const plain = await json("/aggregate", { parameters_list: clients.map(base64), weights: [1, 3], client_ids: ["a", "b"] });
    const body: Buffer<ArrayBuffer> = Buffer.concat(
      clients.map((bytes, index) => frame({ id: ["a", "b"][index], weight: [1, 3][index] }, bytes)),
    );
    const octets = await post("/aggregate", body, { "content-type": "application/octet-stream" });
    expect(await octets.json()).toEqual({ ...plain.body, metrics: expect.anything() });
    const stepped = Buffer.concat([frame({ field: "base" }, pack([0, 0, 0])), body]);
    const settings = { "x-train-config": JSON.stringify({ strategy: { name: "fedavgm" } }) };
    const momentum = await post("/aggregate", stepped, { "content-type": "application/octet-stream", ...settings });
    expect(await momentum.json()).toMatchObject({ strategy: "fedavgm", state: expect.any(String) });
  });

  test("the base of an aggregation may be a blob, whose hash `base_hash` is", async () => {
    const [base, ...clients] = [pack([0, 0]), pack([1, 2]), pack([3, 4])] as const;
    const kept = await fetch(`${node.url}/v1/blobs/${digestOf(base)}`, { method: "PUT", body: Buffer.from(base) });
    expect(kept.ok).toBe(true);
    const body = { parameters_list: clients.map(base64), base_ref: `sha256:${digestOf(base)}`, strategy: { name: "fedavgm" } };
    expect(await json("/aggregate", { ...body, base_hash: digestOf(base) })).toMatchObject({ status: 200, body: { strategy: "fedavgm" } });
    expect(await json("/aggregate", { ...body, base_hash: "0".repeat(64) })).toMatchObject({
      status: 409,
      body: { code: "BASE_MISMATCH" },
    });
  });

  test("base and state of octets may come in the header, in base64 as in JSON", async () => {
    const rest = { strategy: { name: "fedavgm" }, base: base64(pack([0, 0, 0])) };
    const first = await json("/aggregate", { ...rest, parameters_list: [base64(pack([1, 2, 3]))] });
    const second = { ...rest, state: (first.body as unknown as { state: string }).state };
    const plain = await json("/aggregate", { ...second, parameters_list: [base64(pack([3, 4, 5]))] });
    const send = (fields: object) =>
      post("/aggregate", frame({}, pack([3, 4, 5])), {
        "content-type": "application/octet-stream",
        "x-train-config": JSON.stringify(fields),
      });
    expect(await (await send(second)).json()).toEqual({ ...plain.body, metrics: expect.anything() });
    const refused = await send({ ...rest, state: "A*" });
    expect([refused.status, await refused.json()]).toEqual([422, expect.objectContaining({ code: "INVALID_BASE64" })]);
  });

  test.each([
    ["no MessagePack", "application/msgpack", Buffer.of(0x82, 0xa1), 400],
    ["a MessagePack list", "application/msgpack", Buffer.of(0x90), 422],
    ["a frame that ends too soon", "application/octet-stream", frame({}, pack([1])).subarray(0, 30), 422],
    ["a frame of no size", "application/octet-stream", Buffer.concat([Buffer.of(2, 0, 0, 0), Buffer.from("{}")]), 422],
    ["a frame header beyond reason", "application/octet-stream", Buffer.of(255, 255, 255, 255), 422],
    ["a pickle in a frame", "application/octet-stream", frame({}, Buffer.from("gAJ9", "base64")), 415],
  ])("%s is a 4xx", async (_name, type, body, status) => {
    const answer = await post("/aggregate", body, { "content-type": type });
    expect([answer.status, await answer.json()]).toEqual([status, expect.objectContaining({ code: expect.any(String) })]);
  });
});

describe("bodies that are worked on while they arrive", () => {
  const LENGTH = 250_000;
  const client = (index: number) => pack(Float32Array.from({ length: LENGTH }, (_, at) => Math.fround(Math.sin(index * 31 + at))));

  test("twelve clients of a megabyte, more than memory may hold, with the weights last: the mean, and nothing left on disk", async () => {
    const clients = Array.from({ length: 12 }, (_, index) => client(index));
    const weights = clients.map((_, index) => index + 1);
    const answer = await json("/aggregate", { parameters_list: clients.map(base64), weights });
    expect(answer.status).toBe(200);
    const values = valuesOf(Buffer.from(answer.body.parameters, "base64"));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const at of [0, 1, LENGTH - 1]) {
      const expected = weights.reduce((sum, weight, index) => sum + weight * Math.fround(Math.sin(index * 31 + at)), 0) / total;
      expect(values[at]).toBeCloseTo(expected, 6);
    }
    const first = await json("/aggregate", { weights: weights.toReversed(), parameters_list: clients.map(base64).toReversed() });
    expect(first.body.sha256).toBe(answer.body.sha256);
    expect(readdirSync(node.folder).filter((name) => name.startsWith("tributary-aggregate"))).toEqual([]);
    expect(node.deps.budget.heldBytes).toBe(0);
  });

  test("mean, median, multi-Krum and geometric median on 1, 2 and 4 threads: the same bytes", async () => {
    const clients = Array.from({ length: 7 }, (_, index) => base64(client(index)));
    const digests = new Map<string, Set<string>>();
    for (const threads of [1, 2, 4]) {
      const other = await startNode({
        threads,
        streamBytesMax: 100_000_000,
        bytesBudget: 100_000_000,
        recordBytesInMemory: threads * 1_000_000,
      });
      try {
        for (const name of ["mean", "median", "multi_krum", "geometric_median"]) {
          const { body } = await json(
            "/aggregate",
            { parameters_list: threads === 2 ? clients.toReversed() : clients, strategy: { name } },
            {},
            other,
          );
          digests.set(name, (digests.get(name) ?? new Set()).add(body.sha256));
        }
      } finally {
        await other.stop();
      }
    }
    expect([...digests.values()].map((set) => set.size)).toEqual([1, 1, 1, 1]);
  });

  test("a bad client in the middle of a large body is refused by its place, and the caller gets to read it", async () => {
    const clients = Array.from({ length: 6 }, (_, index) => base64(client(index)));
    clients[3] = "gAJ9";
    expect(await json("/aggregate", { parameters_list: clients })).toMatchObject({
      status: 415,
      body: { code: "UNSUPPORTED_PARAMETERS", details: { client: 3 } },
    });
    clients[3] = `${clients[1]?.slice(0, 1000)}*${clients[1]?.slice(1001)}`;
    expect(await json("/aggregate", { parameters_list: clients })).toMatchObject({
      status: 422,
      body: { code: "INVALID_BASE64", details: { client: 3, field: "parameters_list[3]", offset: 1000 } },
    });
  });

  test("a sender that stands still is cut off and holds neither thread nor bytes", async () => {
    const impatient = await startNode({ streamBytesMax: 100_000_000, bodyIdleMs: 1000 });
    try {
      const sent = new Promise<number | undefined>((resolve) => {
        const call = httpRequest(`${impatient.url}/aggregate`, { method: "POST" }, (response) => {
          resolve(response.statusCode);
          call.destroy();
        });
        call.on("error", () => resolve(undefined));
        call.write(`{"parameters_list":["${base64(client(0))}`);
      });
      expect(await sent).toBe(408);
      while (impatient.deps.pool.load().running > 0) await systemClock.sleep(5);
      expect(impatient.deps.budget.heldBytes).toBe(0);
    } finally {
      await impatient.stop();
    }
  });
});

describe("the second generation, /call", () => {
  test("supports train, evaluate and aggregate", async () => {
    const trained = await json("/call", { method: "train", dataset: ROWS, config: { seed: 1 } });
    expect(trained.body).toMatchObject({ parameters: expect.any(String), num_samples: 2 });
    const parameters = trained.body.parameters;
    expect((await json("/call", { method: "evaluate", dataset: ROWS, parameters })).body).toMatchObject({ accuracy: expect.any(Number) });
    expect((await json("/v1/call", { method: "aggregate", parameters_list: [parameters, parameters] })).body.parameters).toBe(parameters);
  });
});

describe("tasks and datasets over the wire", () => {
  test.each([
    ["linear", "line", "value"],
    ["mlp", "moons", "label"],
    ["cnn", "digits", "scores"],
    ["text_classifier", "topics", "label"],
    ["text_embedding", "topics", "vector"],
  ])("%s trains on %s, is evaluated and asked", async (task, name, answer) => {
    const config = { task, epochs: 1, seed: 1, buckets: 256, hidden: [8], filters: 2 };
    const trained = await json("/train", {
      dataset: { name, partition: { scheme: "iid", index: 0, of: 5, seed: 1 } },
      config,
      format: "safetensors",
    });
    expect(trained).toMatchObject({ status: 200, body: { format: "safetensors" } });
    const { parameters } = trained.body;
    expect((await json("/evaluate", { dataset: name, config, parameters })).body).toMatchObject({ accuracy: expect.any(Number) });
    const predicted = await json("/v1/predict", {
      dataset: { name, partition: { scheme: "iid", index: 0, of: 50, seed: 1 } },
      config,
      parameters,
    });
    expect(predicted.body.predictions[0]).toHaveProperty(answer);
  });

  test("rows need no label for predict, and a new model can be given its number of classes", async () => {
    const { body } = await json("/train", { dataset: ROWS, config: { task: "mlp", classes: 5, hidden: [4], seed: 1 } });
    const predicted = await json("/predict", { dataset: [{ a: 1, b: 0 }], parameters: body.parameters, config: { task: "mlp" } });
    expect(predicted.body.predictions).toEqual([{ label: expect.any(Number), scores: expect.any(Array) }]);
    expect((predicted.body.predictions[0] as { scores: number[] }).scores).toHaveLength(5);
  });

  test("an update can be clipped to a length", async () => {
    const train = (clip: number) => json("/train", { dataset: "digits", config: { seed: 1, lr: 0.5, clip_norm: clip } });
    const fresh = (await json("/train", { dataset: "digits", config: { seed: 1, lr: 1e-12 } })).body.parameters;
    const from = valuesOf(Buffer.from(fresh, "base64"));
    const clipped = valuesOf(Buffer.from((await train(0.25)).body.parameters, "base64"));
    expect(Math.hypot(...clipped.map((value, index) => value - (from[index] ?? 0)))).toBeCloseTo(0.25, 4);
  });

  test("files under the operator's prefix are data, all others do not exist", async () => {
    const folder = mkdtempSync(join(tmpdir(), "trainer-data-"));
    const other = await startNode({ datasetUris: [pathToFileURL(folder).href] });
    try {
      writeFileSync(join(folder, "a.csv"), "x,label\n1,0\n2,1\n3,1\n");
      writeFileSync(join(folder, "b.jsonl"), '{"x":1,"label":0}\n{"x":2,"label":1}\n');
      symlinkSync("/etc/passwd", join(folder, "c.json"));
      const evaluate = (uri: string) => json("/evaluate", { dataset: { uri } }, {}, other);
      expect((await evaluate(pathToFileURL(join(folder, "a.csv")).href)).body).toMatchObject({ num_samples: 3 });
      expect((await evaluate(pathToFileURL(join(folder, "b.jsonl")).href)).body).toMatchObject({ num_samples: 2 });
      for (const uri of [
        "file:///etc/passwd",
        pathToFileURL(join(folder, "c.json")).href,
        `${pathToFileURL(folder).href}/../../etc/passwd`,
        "http://127.0.0.1/",
        pathToFileURL(join(folder, "none")).href,
      ]) {
        expect(await evaluate(uri)).toMatchObject({ status: 422, body: { details: { form: "uri" } } });
      }
    } finally {
      await other.stop();
      rmSync(folder, { recursive: true });
    }
  });

  test("a FedProx device of synthetic(1, 1)", async () => {
    const { body } = await json("/train", {
      dataset: { synthetic: { alpha: 1, beta: 1, device: 4, seed: 2 } },
      config: { lr: 0.01, epochs: 2, mu: 1 },
    });
    expect(body).toMatchObject({ num_samples: expect.any(Number), parameters: expect.any(String) });
  });
});

describe("blobs", () => {
  test("put once, named ever after; a wrong name is refused; ranges and conditions hold", async () => {
    const [one, two] = [pack([1]), pack([3])];
    const keptBlobs = () => readdirSync(`${node.folder}/blobs`).filter((name) => !name.startsWith("."));
    const before = keptBlobs().length;
    const put = (name: string, bytes: Uint8Array<ArrayBuffer>) => fetch(`${node.url}/v1/blobs/${name}`, { method: "PUT", body: bytes });
    expect((await put(digestOf(one), one)).status).toBe(201);
    expect((await put(digestOf(one), one)).status).toBe(200);
    expect((await put(digestOf(two), two)).status).toBe(201);
    expect((await put("0".repeat(64), two)).status).toBe(422);
    expect((await put("..%2fpasswd", two)).status).toBe(422);
    expect((await put(digestOf(new Uint8Array(10_000_001)), new Uint8Array(10_000_001))).status).toBe(413);
    expect(keptBlobs()).toHaveLength(before + 2);
    const url = `${node.url}/v1/blobs/${digestOf(one)}`;
    const range = await fetch(url, { headers: { range: "bytes=0-3" } });
    expect([range.status, Buffer.from(await range.arrayBuffer()).equals(Buffer.from(one).subarray(0, 4))]).toEqual([206, true]);
    const beyond = await fetch(url, { headers: { range: "bytes=999999-" } });
    expect([beyond.status, beyond.headers.get("content-range"), beyond.headers.get("etag"), beyond.headers.get("cache-control")]).toEqual([
      416,
      `bytes */${one.byteLength}`,
      null,
      null,
    ]);
    expect(await beyond.json()).toMatchObject({ code: "RANGE_NOT_SATISFIABLE", details: { size_bytes: one.byteLength } });
    // By hand: fetch would forbid any cache on the way.
    const unchanged = new Promise((resolve, reject) => {
      const call = httpRequest(url, { headers: { "if-none-match": `"${digestOf(one)}"` } }, (response) =>
        resolve(response.resume().statusCode),
      );
      call.on("error", reject).end();
    });
    expect(await unchanged).toBe(304);
    const refs = { parameters_refs: [`sha256:${digestOf(one)}`, `sha256:${digestOf(two)}`] };
    const merged = await json("/aggregate", refs);
    expect(valuesOf(Buffer.from(merged.body.parameters, "base64"))).toEqual([2]);
    const bare = await json("/aggregate", { parameters_refs: [digestOf(one).toUpperCase(), digestOf(two)] });
    expect(bare.body).toMatchObject({ sha256: merged.body.sha256 });
    expect(await json("/aggregate", { parameters_refs: [digestOf(one).slice(1)] })).toMatchObject({ status: 422 });
    expect((await fetch(url, { method: "DELETE" })).status).toBe(204);
    expect((await fetch(url)).status).toBe(404);
    expect(await json("/aggregate", refs)).toMatchObject({ status: 404, body: { code: "BLOB_NOT_FOUND" } });
  });
});

describe("jobs", () => {
  const events = async (id: string): Promise<{ event: string; data: { status: string; progress?: { epoch: number } } }[]> => {
    const text = await (await fetch(`${node.url}/v1/jobs/${id}/events`)).text();
    return text
      .split("\n\n")
      .filter((block) => block.startsWith("event:"))
      .map((block) => ({
        event: block.split("\n")[0]?.slice(7) ?? "",
        data: JSON.parse(block.split("\n")[1]?.slice(6) ?? "{}") as { status: string },
      }));
  };

  test("202 at once, progress as events, and the result the call would have had", async () => {
    const request = { dataset: "digits", config: { epochs: 60, seed: 1 } };
    const started = await json("/train", request, { prefer: "respond-async" });
    expect(started).toMatchObject({
      status: 202,
      body: { id: expect.stringMatching(/^job_/), status: expect.any(String), operation: "train" },
    });
    const { id } = started.body;
    expect(started.headers.get("location")).toBe(`/v1/jobs/${id}`);
    expect((await fetch(`${node.url}/v1/jobs/${id}/result`)).status).toBe(409);
    const seen = await events(id);
    expect(seen.at(-1)).toMatchObject({ event: "end", data: { status: "succeeded" } });
    expect(seen.some(({ data }) => (data.progress?.epoch ?? 0) > 0)).toBe(true);
    const result = (await (await fetch(`${node.url}/v1/jobs/${id}/result`)).json()) as { sha256: string };
    expect(result.sha256).toBe((await json("/train", request)).body.sha256);
    expect(node.deps.budget.heldBytes).toBe(0);
  });

  test("a canceled job ends within a second and frees its thread", async () => {
    const { body } = await json("/train?async=1", { dataset: "digits", config: { epochs: 1000, batch_size: 1 } });
    const startedMs = performance.now();
    const canceled = await (await fetch(`${node.url}/v1/jobs/${body.id}`, { method: "DELETE" })).json();
    expect(canceled).toMatchObject({ status: "cancelled" });
    while (node.deps.pool.load().running > 0) await systemClock.sleep(5);
    expect(performance.now() - startedMs).toBeLessThan(1000);
    expect(await (await fetch(`${node.url}/v1/jobs/${body.id}`)).json()).toMatchObject({ status: "cancelled" });
  });

  test.each<[string, object, number, string]>([
    ["/train", { dataset: [] }, 422, "EMPTY_DATASET"],
    ["/train", { dataset: ROWS, config: { epochs: 0 } }, 422, "VALIDATION_ERROR"],
    ["/evaluate", { dataset: ROWS, parameters: "no base64!" }, 422, "INVALID_BASE64"],
    ["/aggregate", { parameters_list: [] }, 422, "EMPTY_LIST"],
  ])("%s with %j is the %i that the call would have been, and no job", async (path, request, status, code) => {
    expect(await json(path, request, { prefer: "respond-async" })).toMatchObject({ status, body: { code } });
    expect(node.deps.jobs?.counts().active).toBe(0);
    expect(node.deps.budget.heldBytes).toBe(0);
  });

  test("a job that fails after its start says what the call would have said; an unknown one is a 404", async () => {
    const request = { dataset: "digits", config: { epochs: 100, lr: 100, task: "linear" } };
    const { status, body } = await json("/train", request, { prefer: "respond-async" });
    expect(status).toBe(202);
    expect((await events(body.id)).at(-1)).toMatchObject({ data: { status: "failed", error: { code: "NON_FINITE" } } });
    expect((await fetch(`${node.url}/v1/jobs/${body.id}/result`)).status).toBe(422);
    expect((await fetch(`${node.url}/v1/jobs/job_none`)).status).toBe(404);
    expect((await fetch(`${node.url}/v1/jobs/job_none`, { method: "POST" })).status).toBe(405);
  });
});

describe("a pickle with a side effect", () => {
  const files = jest.requireActual<Record<string, string>>("./codec/__fixtures__/python-files.json");

  test.each(["pickle0", "pickle2", "pickle5", "torch", "npz_objects"])("%s sent to every route is a 415 and never runs", async (name) => {
    const pickle = files[name] ?? "";
    const answers = await Promise.all([
      json("/train", { parameters: pickle, dataset: ROWS }),
      json("/evaluate", { parameters: pickle, dataset: ROWS }),
      json("/predict", { parameters: pickle, dataset: ROWS }),
      json("/aggregate", { parameters_list: [pickle] }),
      json("/aggregate", { parameters_list: [base64(pack([1]))], base: pickle, strategy: { name: "fedadam" } }),
      json("/call", { method: "train", parameters: pickle, dataset: ROWS }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([415, 415, 415, 415, 415, 415]);
    expect(existsSync("pickle-was-run")).toBe(false);
  });
});
