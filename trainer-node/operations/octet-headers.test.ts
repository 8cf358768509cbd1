import { type Node, startNode } from "../node-harness.ts";
import { resultHeader } from "./octet-headers.ts";

let node: Node;
beforeAll(async () => {
  const functionsUrl = new URL("../functions/__fixtures__/functions.ts", `file://${__filename}`).href;
  node = await startNode({ functionsUrl, threads: 1 });
});
afterAll(() => node.stop());

const LONG = "я".repeat(9000);
/** Each gives a warning of a hundred characters. */
const UNKNOWN = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}${"я".repeat(100)}`, 1]));

async function train(path: string, body: object, accept: string): Promise<Response> {
  return fetch(node.url + path, { method: "POST", body: JSON.stringify(body), headers: { accept } });
}

test("the samples, which weigh an update, are in X-Result however large its metrics and warnings are", async () => {
  const config = { do: "tell", seed: 5, long: LONG };
  const answer = await train("/v1/train", { config, ...UNKNOWN }, "application/octet-stream");
  const header = answer.headers.get("x-result") ?? "";
  expect(header.length).toBeLessThanOrEqual(8192);
  expect(JSON.parse(header)).toEqual({
    num_samples: 3,
    sha256: expect.any(String),
    seed: 5,
    metrics: { environment: [], duration_ms: expect.any(Number) },
    warnings: ["left out because they do not fit the X-Result header: warnings, metrics (1 of 3); accept JSON"],
  });
});

test("a secure sum learns the samples of an update with large metrics", async () => {
  const answer = await train("/v1/secure/round/p1/train", { config: { do: "push", note: LONG } }, "application/json");
  expect(await answer.json()).toMatchObject({ num_samples: 3 });
});

test("clients are left out of X-Result first, then warnings, then metrics", () => {
  const fields = { num_samples: 3, sha256: "ab", format: "safetensors", seed: 1 };
  const [metrics, warnings, clients] = [{ loss: 0.5 }, ["one"], [LONG]];
  const headerOf = (given: object) => JSON.parse(resultHeader({ ...fields, ...given })) as object;
  const leftOut = (names: string) => `left out because they do not fit the X-Result header: ${names}; accept JSON`;
  expect(headerOf({ metrics, warnings, clients: [] })).toEqual({ ...fields, metrics, warnings, clients: [] });
  expect(headerOf({ metrics, warnings, clients })).toEqual({ ...fields, metrics, warnings: ["one", leftOut("clients")] });
  expect(headerOf({ metrics, warnings: [LONG], clients })).toEqual({ ...fields, metrics, warnings: [leftOut("clients, warnings")] });
  expect(headerOf({ metrics: { LONG }, clients })).toEqual({ ...fields, warnings: [leftOut("clients, metrics")] });
});

test("of metrics, those stay that fit, in their order, and a warning counts the others", () => {
  const many = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`f1 of ${index}`, index / 3]));
  const header = resultHeader({ num_samples: 3, metrics: { loss: 0.5, confusion: LONG, ...many }, warnings: ["one"] });
  const { metrics, warnings } = JSON.parse(header) as { metrics: Record<string, unknown>; warnings: string[] };
  const names = Object.keys(metrics);
  expect(header.length).toBeGreaterThan(8192 - 50);
  expect(header.length).toBeLessThanOrEqual(8192);
  expect(names.slice(0, 100)).toEqual(["loss", ...Array.from({ length: 99 }, (_, index) => `f1 of ${index}`)]);
  const text = `left out because they do not fit the X-Result header: warnings, metrics (${2002 - names.length} of 2002); accept JSON`;
  expect(warnings).toEqual([text]);
});
