import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { readTrainerConfig } from "../config.ts";
import { type Node, startNode } from "../node-harness.ts";
import { allowingPrefix, fetchFile } from "./remote-dataset.ts";

/** For 127.0.0.1 and localhost; made by openssl for this test, and good for nothing else. */
const fixture = (name: string) => readFileSync(new URL(`file://${__dirname}/__fixtures__/${name}`), "utf8");
const certificate = fixture("loopback-certificate.pem");
const CSV = "x,label\n1,0\n2,1\n3,1\n";

let server: Server;
let origin: string;
let node: Node;
let asked: string[];
beforeAll(async () => {
  server = createServer({ key: fixture("loopback-key.pem"), cert: certificate }, (request, response) => {
    asked.push(request.url ?? "");
    const answers: Record<string, () => void> = {
      "/data/a.csv": () => response.end(CSV),
      "/data/b.jsonl": () => response.end('{"x":1,"label":0}\n{"x":2,"label":1}\n'),
      "/data/moved.csv": () => response.writeHead(302, { location: "/data/a.csv" }).end(),
      "/data/broken.csv": () => response.writeHead(500).end(),
      "/data/wrong.json": () => response.end("no json"),
      "/data/cut.csv": () => response.writeHead(200, { "content-length": 1000 }).write("x,label\n", () => response.destroy()),
      "/secret.csv": () => response.end(CSV),
    };
    (answers[request.url ?? ""] ?? (() => response.writeHead(404).end()))();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  node = await startNode({ threads: 1, datasetUris: [`${origin}/data/`], datasetAuthorities: certificate });
});
beforeEach(() => {
  asked = [];
});
afterAll(async () => {
  await node.stop();
  server.close();
});

async function evaluate(
  dataset: object,
  at = node,
): Promise<{ status: number; body: { code?: string; error?: string; num_samples?: number } }> {
  const response = await fetch(`${at.url}/evaluate`, { method: "POST", body: JSON.stringify({ dataset }) });
  return { status: response.status, body: (await response.json()) as object };
}

test("files under the operator's https prefix are data, with and without their hash", async () => {
  const sha256 = createHash("sha256").update(CSV).digest("hex");
  expect(await evaluate({ uri: `${origin}/data/a.csv` })).toMatchObject({ status: 200, body: { num_samples: 3 } });
  expect(await evaluate({ uri: `${origin}/data/b.jsonl` })).toMatchObject({ status: 200, body: { num_samples: 2 } });
  expect(await evaluate({ uri: `${origin}/data/a.csv`, sha256 })).toMatchObject({ status: 200 });
  expect(await evaluate({ uri: `${origin}/data/a.csv`, sha256: "0".repeat(64) })).toMatchObject({ status: 422 });
});

test("training and prediction take them too", async () => {
  const post = (path: string, body: object) => fetch(node.url + path, { method: "POST", body: JSON.stringify(body) });
  const dataset = { uri: `${origin}/data/a.csv` };
  const trained = (await (await post("/train", { dataset })).json()) as { parameters: string; num_samples: number };
  expect(trained.num_samples).toBe(3);
  expect((await post("/predict", { dataset, parameters: trained.parameters })).status).toBe(200);
});

test("what is not under the prefix is never asked for, however it is written", async () => {
  for (const uri of [
    `${origin}/secret.csv`,
    `${origin}/data/../secret.csv`,
    `${origin}/data/%2e%2e/secret.csv`,
    `${origin}/data/..%2fsecret.csv`,
    `${origin}/data/..%5Csecret.csv`,
    `${origin}/database.csv`,
    `${origin.replace("https://", "https://user:pass@")}/data/a.csv`,
    `${origin.replace("127.0.0.1", "localhost")}/data/a.csv`,
    `${origin.replace("https", "http")}/data/a.csv`,
    "https://",
    "HTTPS://example.com/data/a.csv",
  ]) {
    expect({ uri, ...(await evaluate({ uri })) }).toMatchObject({ uri, status: 422, body: { code: "VALIDATION_ERROR" } });
  }
  expect(asked).toEqual([]);
});

test("a redirect is not followed, and refusals and truncated answers of the server are reported", async () => {
  expect((await evaluate({ uri: `${origin}/data/moved.csv` })).body.error).toContain("302; redirects are not followed");
  expect((await evaluate({ uri: `${origin}/data/broken.csv` })).body.error).toContain("answered 500");
  expect(await evaluate({ uri: `${origin}/data/none.csv` })).toMatchObject({ status: 404, body: { code: "DATASET_NOT_FOUND" } });
  expect(await evaluate({ uri: `${origin}/data/cut.csv` })).toMatchObject({ status: 422, body: { code: "VALIDATION_ERROR" } });
  expect((await evaluate({ uri: `${origin}/data/wrong.json` })).body.error).toContain("does not match its extension");
  expect(asked).toEqual(["/data/moved.csv", "/data/broken.csv", "/data/none.csv", "/data/cut.csv", "/data/wrong.json"]);
});

test("an untrusted certificate is refused", async () => {
  const other = await startNode({ threads: 1, datasetUris: [`${origin}/data/`] });
  try {
    expect(await evaluate({ uri: `${origin}/data/a.csv` }, other)).toMatchObject({ status: 422 });
    expect(asked).toEqual([]);
  } finally {
    await other.stop();
  }
});

test("a public name that leads to a private address is refused, a metadata service always; so is what is too long or too slow", async () => {
  const options = { authorities: certificate, bytesMax: 1000, timeoutMs: 5000, signal: new AbortController().signal };
  const file = new URL(`${origin}/data/a.csv`);
  const prefix = new URL(`${origin}/data/`);
  await expect(fetchFile(file, { ...options, prefix: new URL("https://data.example.com/") })).rejects.toThrow("private address");
  const metadata = new URL("https://169.254.169.254/latest/");
  await expect(fetchFile(metadata, { ...options, prefix: metadata })).rejects.toThrow("private address");
  expect(asked).toEqual([]);
  await expect(fetchFile(file, { ...options, prefix, bytesMax: CSV.length - 1 })).rejects.toMatchObject({ kind: "PAYLOAD_TOO_LARGE" });
  await expect(fetchFile(file, { ...options, prefix, bytesMax: CSV.length })).resolves.toHaveLength(CSV.length);
  await expect(fetchFile(file, { ...options, prefix, signal: AbortSignal.abort() })).rejects.toThrow("could not be read");
});

test("a prefix is a whole folder of one server, and the setting says so", () => {
  const allowed = (uri: string) => allowingPrefix(new URL(uri), ["file:///data/", "https://a.example/x/", "https://b.example:8443/"])?.href;
  expect(allowed("https://a.example/x/y/z.csv?v=1")).toBe("https://a.example/x/");
  expect(allowed("https://b.example:8443/z.csv")).toBe("https://b.example:8443/");
  expect(allowed("https://b.example/z.csv")).toBeUndefined();
  expect(allowed("https://a.example.evil/x/z.csv")).toBeUndefined();
  expect(readTrainerConfig({ TRAINER_DATASET_URIS: "https://a.example/x/, file:///data" }).trainerDatasetUris).toHaveLength(2);
  for (const wrong of ["https://a.example/x", "http://a.example/", "https://u:p@a.example/", "https://a.example/?q=/"])
    expect(() => readTrainerConfig({ TRAINER_DATASET_URIS: wrong })).toThrow("TRAINER_DATASET_URIS");
});
