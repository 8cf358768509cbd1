import { hash } from "node:crypto";
import { type Node, startNode } from "../node-harness.ts";
import { createServedParameters } from "./served-parameters.ts";

const MODEL = Buffer.from("round 2");
const REFERENCE = `sha256:${hash("sha256", MODEL, "hex")}`;

let node: Node;
beforeAll(async () => {
  node = await startNode({ functionsUrl: new URL("./__fixtures__/serving.ts", `file://${__filename}`).href, threads: 1 });
});
afterAll(() => node.stop());

async function ask(body: object, tenant = "org_a") {
  const response = await fetch(`${node.url}/v1/serve`, {
    method: "POST",
    headers: { "x-gw-tenant": tenant, "x-forwarded-for": "192.0.2.1" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as { output?: string; code?: string; error?: string } };
}

const whole = { parameters: MODEL.toString("base64") };

test("a serve function gets the parameters once, then by their hash as the same array, and only for who sent them", async () => {
  expect(await ask({ parameters_ref: REFERENCE, input: "x" })).toMatchObject({ status: 404, body: { code: "BLOB_NOT_FOUND" } });
  expect((await ask({ ...whole, input: "x" })).body.output).toBe('{"input":"x","isKept":false}');
  expect((await ask({ parameters_ref: REFERENCE, input: "y" })).body.output).toBe('{"input":"y","isKept":true}');
  expect(await ask({ parameters_ref: REFERENCE, input: "z" }, "org_b")).toMatchObject({ status: 404 });
  expect((await ask({ ...whole, input: "text", config: { max_tokens: 7 } })).body.output).toBe("round 2 7");
});

test.each([
  [{ ...whole, input: "refuse" }, 422, "The input is refused."],
  [{ ...whole, input: "fail" }, 500, "The function failed: Error. Its message is in the log of the node."],
  [
    { ...whole, input: "nothing" },
    500,
    "The function for serve must return text, or a value that JSON can represent; it returned undefined.",
  ],
  [{ input: "x" }, 422, "body.parameters: is required, or parameters_ref"],
  [{ ...whole, input: 3 }, 422, "body.input: must be a string"],
])("%j is answered with %i", async (body, status, error) => {
  expect(await ask(body)).toMatchObject({ status, body: { error } });
});

test("a node declares that it serves only with a serve function", async () => {
  const info = (await (await fetch(`${node.url}/v1/info`)).json()) as { capabilities: object; operations: string[] };
  expect(info.capabilities).toMatchObject({ serve: true });
  expect(info.operations).toContain("serve");
});

test("parameters used least recently make room, and those that are too large are not kept", () => {
  const served = createServedParameters(10).of("org_a");
  const model = (name: string, size = 4) => Buffer.alloc(size, name);
  const named = (name: string, size = 4) => served.find(`sha256:${hash("sha256", model(name, size), "hex")}`)?.toString();
  for (const name of ["a", "b"]) served.keep(model(name));
  expect(named("a")).toBe("aaaa");
  served.keep(model("c"));
  served.keep(model("large", 11));
  expect([named("a"), named("b"), named("c"), named("large", 11)]).toEqual(["aaaa", undefined, "cccc", undefined]);
});
