import { systemClock } from "../../../common/clock.ts";
import { silentLogger } from "../../../common/logger.ts";
import { systemRandom } from "../../../common/random.ts";
import { describedOperations } from "../../app.ts";
import { OpenCalls } from "../../calls/open-calls.ts";
import { readEdgeConfig } from "../../config.ts";
import type { OperationDescription } from "../../schemas/operation-description.ts";
import { createMemoryRecords } from "../../stored/records/memory-records-fixture.ts";
import { inferenceOperations } from "../http/routes.ts";
import { openApiDocument } from "../openapi.ts";
import { fakeControlPlane } from "../platform/control-plane-fixture.ts";
import { gatewayState } from "../platform/gateway-state-fixture.ts";
import { codeSamples } from "./code-samples.ts";
import { exampleId } from "./examples/ids.ts";
import { javascriptLiteral, pythonLiteral, shellWord } from "./literals.ts";
import { EXAMPLES, mainPath, paramNames, requestExample } from "./request-example.ts";

const deps = {
  config: readEdgeConfig({}),
  control: fakeControlPlane({}).control,
  records: createMemoryRecords({ clock: systemClock }),
  clock: systemClock,
  random: systemRandom,
  openCalls: new OpenCalls(),
  logger: silentLogger,
};
const operations = describedOperations(deps, { gateway: gatewayState(), inferenceOperations });
const named = operations.map((entry): [string, OperationDescription] => [`${entry.method} ${entry.path}`, entry]);
const found = (name: string): OperationDescription => new Map(named).get(name) ?? missing(name);
const sourceOf = (name: string, label: string) => codeSamples(found(name)).find((sample) => sample.label === label)?.source;

test("every example is that of an operation, and every operation with a body has one", () => {
  const names = new Set(named.map(([name]) => name));
  expect(Object.keys(EXAMPLES).filter((name) => !names.has(name))).toEqual([]);
  expect(named.filter(([, entry]) => entry.body && requestExample(entry).body === undefined).map(([name]) => name)).toEqual([]);
});

test("every path parameter has an example, and one without is its name in the document", () => {
  const without = named.flatMap(([name, entry]) => {
    const { params } = EXAMPLES[name] ?? EXAMPLES[`${entry.method} ${mainPath(entry.path)}`] ?? {};
    return paramNames(entry.path).filter((param) => (params?.[param] ?? exampleId(entry.path, param)) === undefined);
  });
  expect(without).toEqual([]);
  expect(requestExample({ method: "get", path: "/api/gw/unknown/:thing" }).params).toEqual({ thing: "thing" });
});

test("every example is a valid request of its operation", () => {
  const problems = named.flatMap(([name, entry]) => {
    const example = requestExample(entry);
    const parts = { params: example.params ?? {}, query: example.query ?? {}, body: withFile(example) };
    return (["params", "query", "body"] as const).flatMap((part) => {
      const result = entry[part]?.safeParse(parts[part]);
      return result?.error ? [`${name} ${part}: ${result.error.message}`] : [];
    });
  });
  expect(problems).toEqual([]);
});

test("every operation has samples in curl, Python and Node, and in gw unless it sends a file or opens a WebSocket", () => {
  const without = named.filter(([, entry]) => {
    const labels = codeSamples(entry).map(({ label }) => label);
    const { file } = requestExample(entry);
    const isJson = file === undefined && entry.bodyType === undefined && !entry.tags.includes("Realtime");
    return labels.slice(0, 3).join() !== "curl,Python,Node" || (isJson && labels[3] !== "gw");
  });
  expect(without.map(([name]) => name)).toEqual([]);
});

test("samples: a client where there is one, the command of gw where there is one, and all paths of an operation", () => {
  expect(sourceOf("post /api/gw/teams", "curl")).toBe(
    `curl -s "$B/api/gw/teams" \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H 'content-type: application/json' \\\n  -d '{"name":"Research"}'`,
  );
  expect(sourceOf("post /api/gw/teams", "gw")).toBe("gw teams create --name Research");
  expect(sourceOf("post /v1/embeddings", "gw")).toMatch(/^gw api POST \/v1\/embeddings -d '\{"model"/);
  expect(sourceOf("post /v1/embeddings", "Python")).toContain('client.embeddings.create(model="text-embedding-3-small", input=');
  expect(sourceOf("post /embeddings", "Node")).toContain("baseURL: process.env.B,");
  expect(sourceOf("post /engines/:model/embeddings", "curl")).toContain(`"$B/engines/echo/embeddings"`);
  expect(sourceOf("post /engines/:model/embeddings", "curl")).toContain(`-d '{"input":`);
  expect(sourceOf("get /health", "gw")).toBe("gw api GET /health --as user");
  expect(sourceOf("get /training/join/tasks", "gw")).toBe(
    'gw api GET /training/join/tasks --as none -H "Authorization: Bearer $JOIN_TOKEN"',
  );
});

test("samples make up less than half of the document", () => {
  const document = openApiDocument(operations);
  const bytes = JSON.stringify(document).length;
  const samples = JSON.stringify(
    Object.values(document.paths).map((methods) => Object.values(methods).map((entry) => entry["x-codeSamples"])),
  );
  expect(samples.length).toBeLessThan(bytes / 2);
});

test("values as each language writes them", () => {
  const value = { a: true, "b-c": [null, false], text: `it's "so"` };
  expect(pythonLiteral(value)).toBe(`{"a": True, "b-c": [None, False], "text": "it's \\"so\\""}`);
  expect(javascriptLiteral(value)).toBe(`{ a: true, "b-c": [null, false], text: "it's \\"so\\"" }`);
  expect(pythonLiteral({ long: ["x".repeat(60), "y".repeat(60)] })).toBe(
    `{\n    "long": [\n        "${"x".repeat(60)}",\n        "${"y".repeat(60)}",\n    ],\n}`,
  );
  expect(shellWord("it's")).toBe(`'it'\\''s'`);
});

/** The fields of a form, with the content of its file. */
function withFile({ body, file }: ReturnType<typeof requestExample>): unknown {
  return file?.field === undefined ? (body ?? {}) : { ...body, [file.field]: "content" };
}

function missing(name: string): never {
  throw new Error(`there is no ${name}`);
}
