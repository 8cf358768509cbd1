import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../common/clock.ts";
import { silentLogger } from "../../common/logger.ts";
import { decodeParameters, encodeParameters } from "../codec/parameters.ts";
import type { Tensor } from "../compute/tensor.ts";
import { type Node, startNode } from "../node-harness.ts";
import { createPool } from "../pool/pool.ts";
import { environmentOf } from "./run-options.ts";

const fixture = (name: string) => new URL(`./__fixtures__/${name}`, `file://${__filename}`).href;
const PICKLE = Buffer.from("\x80\x02cposix\nsystem\n(S'true'\ntR.", "latin1");
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

let node: Node;
beforeAll(async () => {
  node = await startNode({ functionsUrl: fixture("functions.ts"), threads: 2, taskTimeoutMs: 3000 });
});
afterAll(() => node.stop());

interface Body {
  parameters: string;
  sha256: string;
  state: string;
  seed: number;
  code: string;
  error: string;
  metrics: Record<string, unknown>;
}

async function send(path: string, body: object, at = node) {
  const response = await fetch(at.url + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Body };
}

describe("registered functions", () => {
  test.each(["/train", "/v1/train"])("%s hands over raw bytes, a pickle too, and gives back what the function gives", async (path) => {
    const answer = await send(path, { parameters: base64(PICKLE), config: { do: "echo", seed: 5 } });
    expect(answer).toMatchObject({ status: 200, body: { parameters: base64(PICKLE), seed: 5, warnings: [], sha256: expect.any(String) } });
  });

  test("no parameters are undefined; dataset and settings come as they were sent, and nothing of the environment", async () => {
    expect((await send("/train", { parameters: "", config: { do: "echo" } })).body.parameters).toBe(base64(Buffer.from("afresh")));
    const config = { do: "tell", seed: 11, mine: { deep: [1] } };
    const { body } = await send("/call", { method: "train", dataset: "my own", config, round_id: 4, format: "onnx", extra: 1 });
    expect(body).toMatchObject({ num_samples: 3, seed: 11, warnings: ["unknown field ignored: extra"] });
    expect(body.metrics).toMatchObject({
      seen: { dataset: "my own", config, seed: 11, roundId: 4, format: "onnx", aborted: false },
      environment: [],
      duration_ms: expect.any(Number),
    });
  });

  test("a function can have the dataset read for it, and what is wrong with it is the caller's", async () => {
    const dataset = { name: "digits", partition: { index: 0, of: 10 } };
    expect((await send("/train", { dataset, config: { do: "rows" } })).body).toMatchObject({ num_samples: 143 });
    expect(await send("/train", { dataset: [], config: { do: "rows" } })).toMatchObject({ status: 422, body: { code: "EMPTY_DATASET" } });
  });

  test("evaluate gives a number, and aggregate is given every client with all that came with them", async () => {
    expect((await send("/evaluate", { parameters: "AAAA" })).body).toMatchObject({ accuracy: 0.3 });
    const clients = [PICKLE, Uint8Array.of(1, 2)];
    const call = {
      parameters_list: clients.map(base64),
      weights: [1, 3],
      client_ids: ["a", "b"],
      strategy: { name: "mine", rate: 2 },
      on_invalid: "drop",
      base: base64(Uint8Array.of(5)),
      state: base64(Uint8Array.of(6)),
    };
    for (const answer of [await send("/aggregate", call), await send("/call", { ...call, method: "aggregate" })]) {
      expect(answer).toMatchObject({
        status: 200,
        body: {
          parameters: base64(Buffer.concat(clients)),
          state: base64(Uint8Array.of(6, 9)),
          clients: [{ bytes: PICKLE.byteLength }, { bytes: 2 }],
          metrics: { weights: [1, 3], clientIds: ["a", "b"], strategy: call.strategy, onInvalid: "drop", base: [5] },
        },
      });
    }
  });

  test.each<[string, object, number, string, string]>([
    ["an exception", { do: "throw" }, 500, "FUNCTION_ERROR", "RangeError: the learning went wrong"],
    ["a thrown text", { do: "throw-text" }, 500, "FUNCTION_ERROR", "unknown error"],
    ["a result that is none", { do: "nothing" }, 500, "FUNCTION_ERROR", "must return a Uint8Array"],
    ["metrics that JSON cannot represent", { do: "circle" }, 500, "FUNCTION_ERROR", "JSON cannot represent"],
    ["the end of its thread", { do: "exit" }, 500, "FUNCTION_ERROR", "thread ended"],
    ["an unhandled rejection", { do: "reject-later" }, 500, "FUNCTION_ERROR", "an unhandled rejection"],
    ["a refusal of its own", { do: "refuse" }, 422, "SHAPE_MISMATCH", "these do not fit"],
    ["a seed that is none", { do: "echo", seed: -1 }, 422, "VALIDATION_ERROR", "seed"],
  ])("%s is answered by code and message, without a stack, and the next call works", async (_name, config, status, code, message) => {
    const answer = await send("/train", { config });
    expect(answer).toMatchObject({ status, body: { code, error: expect.stringContaining(message) } });
    expect(JSON.stringify(answer.body)).not.toMatch(/\bat .*\.ts:\d|__fixtures__/);
    expect((await send("/train", {})).status).toBe(200);
  });

  test("an exception's message, which may have rows of data, is for the owner of the node; others get its type", async () => {
    const request = { config: { do: "throw" } };
    expect((await send("/train", request)).body).toMatchObject({ details: { exception: "RangeError" } });
    const raw = (headers: Record<string, string>) =>
      fetch(`${node.url}/train`, { method: "POST", headers, body: JSON.stringify(request) }).then((answer) => answer.text());
    for (const headers of [{ "x-gw-tenant": "org_1" }, { "x-forwarded-for": "10.0.0.1" }]) {
      const text = await raw(headers as Record<string, string>);
      expect(text).not.toContain("the learning went wrong");
      expect(JSON.parse(text)).toMatchObject({
        error: "The function failed: RangeError. Its message is in the log of the node.",
        code: "FUNCTION_ERROR",
        details: { exception: "RangeError" },
      });
    }
    const job = JSON.parse(await raw({ "x-gw-tenant": "org_1", prefer: "respond-async" })) as { id: string };
    const headers = { "x-gw-tenant": "org_1" };
    let view = "";
    while (!view.includes("failed")) view = await (await fetch(`${node.url}/v1/jobs/${job.id}`, { headers })).text();
    expect(view).toContain("The function failed: RangeError.");
    expect(view).not.toContain("the learning went wrong");
  });

  test.each<[string, string, object, string]>([
    ["no list", "/aggregate", {}, "VALIDATION_ERROR"],
    ["an empty list", "/aggregate", { parameters_list: [] }, "EMPTY_LIST"],
    ["an empty client", "/aggregate", { parameters_list: ["AAAA", ""] }, "VALIDATION_ERROR"],
    ["weights of another number", "/aggregate", { parameters_list: ["AAAA"], weights: [1, 2] }, "VALIDATION_ERROR"],
    ["weights that are all 0", "/aggregate", { parameters_list: ["AAAA", "AAAA"], weights: [0, 0] }, "VALIDATION_ERROR"],
    ["bad base64", "/train", { parameters: "A*" }, "INVALID_BASE64"],
  ])("%s never reaches the function", async (_name, path, body, code) => {
    expect(await send(path, body)).toMatchObject({ status: 422, body: { code } });
  });

  test("an accuracy that is no number is the function's mistake", async () => {
    expect(await send("/evaluate", { config: { do: "nan" } })).toMatchObject({ status: 500, body: { code: "FUNCTION_ERROR" } });
  });

  test("one that spins is stopped at its deadline, its neighbor succeeds, and the node goes on", async () => {
    const spinning = send("/train", { config: { do: "spin" } });
    expect((await send("/evaluate", { parameters: "AAAA" })).status).toBe(200);
    expect(await spinning).toMatchObject({ status: 504, body: { code: "TIMEOUT", details: { timeout_ms: 3000 } } });
    expect((await send("/train", {})).body.parameters).toBe("Bw==");
  });

  test("one that waits is notified by its signal of the deadline before its thread ends", async () => {
    const file = join(node.folder, "notified");
    expect(await send("/train", { config: { do: "listen", file } })).toMatchObject({ status: 504, body: { code: "TIMEOUT" } });
    expect(readFileSync(file, "utf8")).toBe("true");
  });

  test("and that its caller has left", async () => {
    const file = join(node.folder, "left");
    const client = new AbortController();
    const body = JSON.stringify({ config: { do: "listen", file } });
    const call = fetch(`${node.url}/train`, { method: "POST", body, signal: client.signal }).catch((error: Error) => error.name);
    await systemClock.sleep(500);
    client.abort();
    await expect(call).resolves.toBe("AbortError");
    while (!existsSync(file) || readFileSync(file, "utf8") === "") await systemClock.sleep(20);
    expect(readFileSync(file, "utf8")).toBe("true");
  });
});

describe("clip_norm and noise_multiplier around a registered train function", () => {
  const start: Tensor[] = [
    { name: "a", dtype: "f64", shape: [2], data: Float64Array.of(1, 2) },
    { name: "b", dtype: "f64", shape: [2], data: Float64Array.of(-1, 0) },
  ];
  const valuesOf = (text: string) =>
    Object.fromEntries(
      decodeParameters(Buffer.from(text, "base64")).tensors.map(({ name, data }) => [name, Array.from(data as Float64Array)]),
    );

  test.each(["safetensors", "msgpack", "npz"] as const)("the node clips what leaves it, in %s", async (format) => {
    const parameters = base64(encodeParameters(start, format));
    const { body } = await send("/train", { parameters, config: { do: "push", format, clip_norm: 1 } });
    // Four numbers moved by 3 each: the update has length 6, and one of length 1 moves each by a half.
    expect(valuesOf(body.parameters)).toEqual({ a: [1.5, 2.5], b: [-0.5, 0.5] });
    expect(decodeParameters(Buffer.from(body.parameters, "base64")).format).toBe(format);
    expect(body).toMatchObject({ num_samples: 3, metrics: { loss: 0.25 } });
    expect(body.sha256).toBe(hash("sha256", Buffer.from(body.parameters, "base64"), "hex"));
  });

  test("without a base the parameters are the update; an update within the bound stays as it is", async () => {
    const fresh = await send("/train", { config: { do: "push", clip_norm: 3 } });
    expect(valuesOf(fresh.body.parameters)).toEqual({ a: [1.5, 1.5], b: [1.5, 1.5] });
    const small = await send("/train", { config: { do: "push", clip_norm: 100 } });
    expect(valuesOf(small.body.parameters)).toEqual({ a: [3, 3], b: [3, 3] });
  });

  test("the noise is there, differs from call to call, and what the function measured without it stays here", async () => {
    const start = encodeParameters([{ name: "a", dtype: "f64", shape: [5000], data: new Float64Array(5000) }], "safetensors");
    const config = { do: "push", seed: 1, clip_norm: 0.5, noise_multiplier: 4 };
    const bodies = [];
    for (let call = 0; call < 10; call++) bodies.push((await send("/train", { parameters: base64(start), config })).body);
    const [first, second] = bodies;
    const a = bodies.flatMap(({ parameters }) => valuesOf(parameters)["a"] ?? []);
    const deviation = Math.sqrt(a.reduce((sum, value) => sum + value ** 2, 0) / a.length);
    // Six standard errors of 50,000 draws are 1.9 %.
    expect(Math.abs(deviation / 2 - 1)).toBeLessThan(0.02);
    expect(first?.parameters).not.toBe(second?.parameters);
    expect(first?.metrics).toEqual({ noise_deviation: 2, duration_ms: expect.any(Number) });
  });

  test.each<[string, object, number, string, string]>([
    ["a pickle", { do: "echo", clip_norm: 1 }, 415, "UNSUPPORTED_PARAMETERS", "clip_norm"],
    ["integers", { do: "count", clip_norm: 1 }, 422, "DTYPE_MISMATCH", "seen"],
    ["numbers that are not finite", { do: "diverge", clip_norm: 1 }, 422, "NON_FINITE", '"w"'],
    ["noise without a bound", { do: "push", noise_multiplier: 1 }, 422, "VALIDATION_ERROR", "clip_norm"],
    ["a bound that is no number", { do: "push", clip_norm: "1" }, 422, "VALIDATION_ERROR", "clip_norm"],
  ])("%s cannot be bounded, so nothing leaves the node", async (name, config, status, code, message) => {
    const answer = await send("/train", { ...(name === "a pickle" ? { parameters: base64(PICKLE) } : {}), config });
    expect(answer).toMatchObject({ status, body: { code, error: expect.stringContaining(message) } });
    expect(answer.body.parameters).toBeUndefined();
  });

  test("/v1/info says that it can, and leaves the number of steps to the function", async () => {
    await expect((await fetch(`${node.url}/v1/info`)).json()).resolves.toMatchObject({
      capabilities: { clip: true, noise: true, mask: true, steps: false, formats: ["safetensors", "msgpack", "npz", "npy"] },
    });
  });
});

test.each([true, false])("that a train function applies the proximal term is what its owner says: %s", async (proximal) => {
  const other = await startNode({ functionsUrl: fixture("functions.ts"), threads: 1, proximal });
  try {
    await expect((await fetch(`${other.url}/v1/info`)).json()).resolves.toMatchObject({ capabilities: { proximal } });
  } finally {
    await other.stop();
  }
});

describe("what is not registered", () => {
  test("is done by the built-in functions, and /v1/info says who does what", async () => {
    const other = await startNode({ functionsUrl: fixture("only-evaluate.ts"), threads: 1 });
    try {
      const trained = await send("/train", { dataset: "digits" }, other);
      expect(trained).toMatchObject({ status: 200, body: { num_samples: 1437 } });
      expect((await send("/evaluate", { parameters: trained.body.parameters }, other)).body).toMatchObject({ accuracy: 0.5 });
      expect(await send("/train", { parameters: base64(PICKLE), dataset: "digits" }, other)).toMatchObject({ status: 415 });
      await expect((await fetch(`${other.url}/v1/info`)).json()).resolves.toMatchObject({ registered: ["evaluate"], builtins: true });
    } finally {
      await other.stop();
    }
  });

  test("is a 501 where the built-in functions are off", async () => {
    const other = await startNode({ functionsUrl: fixture("only-evaluate.ts"), threads: 1, builtins: false });
    try {
      for (const [path, body] of [
        ["/train", { dataset: "digits" }],
        ["/v1/aggregate", { parameters_list: ["AAAA"] }],
        ["/predict", {}],
        ["/call", { method: "train" }],
      ] as const) {
        const details = { registered: ["evaluate"] };
        expect(await send(path, body, other)).toMatchObject({ status: 501, body: { code: "NOT_REGISTERED", details } });
      }
      expect((await send("/call", { method: "evaluate" }, other)).body).toMatchObject({ accuracy: 0.5 });
      await expect((await fetch(`${other.url}/v1/info`)).json()).resolves.toMatchObject({
        registered: ["evaluate"],
        builtins: false,
        operations: ["evaluate", "call"],
        capabilities: { clip: false, noise: false, mask: false, steps: false },
      });
    } finally {
      await other.stop();
    }
  });

  test.each([
    ["a module that is not there", fixture("none.ts"), "could not be loaded"],
    ["a module that registers nothing", new URL("../errors.ts", `file://${__filename}`).href, "registered no function"],
  ])("%s is found when the node warms up", async (_name, functionsUrl, message) => {
    const workerData = { fallback: undefined, functionsUrl };
    const pool = createPool({ threads: 1, queueMax: 1, taskTimeoutMs: 5000, workerHeapMb: 128, workerData, logger: silentLogger });
    try {
      await expect(pool.warmUp()).rejects.toThrow(message);
    } finally {
      await pool.close();
    }
  });
});

test("options of run() go before the environment, and the program is its own module", () => {
  const environment = { TRAINER_PORT: "1", HOST: "0.0.0.0" };
  expect(environmentOf({ port: 0, builtins: "off", proximal: true }, { environment, program: "/a/b.ts" })).toEqual({
    TRAINER_PORT: "0",
    HOST: "0.0.0.0",
    TRAINER_BUILTINS: "off",
    TRAINER_PROXIMAL: "true",
    TRAINER_FUNCTIONS: "file:///a/b.ts",
  });
  expect(environmentOf({ functions: "c.ts" }, { environment: {}, program: "/a/b.ts" })).toEqual({ TRAINER_FUNCTIONS: "c.ts" });
});
