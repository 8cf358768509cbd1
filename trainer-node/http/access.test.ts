import { type Node, startNode } from "../node-harness.ts";
import { isLoopback } from "./access.ts";

test.each([
  ["127.0.0.1", true],
  ["127.8.9.1", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["10.0.0.1", false],
  ["::ffff:10.0.0.1", false],
  ["fe80::1", false],
  ["127.evil.example", false],
  [undefined, false],
])("a caller at %s is on this machine: %s", (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});

describe("a node with a token", () => {
  const token = "a-token-of-the-operator";
  let node: Node;
  beforeAll(async () => {
    node = await startNode({ threads: 1, token });
  });
  afterAll(() => node.stop());
  const info = (headers: Record<string, string>) => fetch(`${node.url}/v1/info`, { headers });

  test.each<[string, Record<string, string>]>([
    ["Authorization: Bearer", { authorization: `Bearer ${token}` }],
    ["x-gw-api-key", { "x-gw-api-key": token }],
    ["x-api-key", { "x-api-key": token }],
  ])("takes it as %s", async (_name, headers) => {
    expect((await info(headers)).status).toBe(200);
  });

  test.each<[string, Record<string, string>]>([
    ["none", {}],
    ["another", { authorization: "Bearer another" }],
    ["its beginning", { "x-api-key": token.slice(0, -1) }],
    ["another scheme", { authorization: `Basic ${token}` }],
  ])("refuses %s with 401, on its own machine too", async (_name, headers) => {
    const answer = await info(headers);
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([401, "UNAUTHORIZED"]);
  });

  test("tells probes that it lives, without a token", async () => {
    expect((await fetch(`${node.url}/health`)).status).toBe(200);
  });

  test("refuses pages of other sites, whatever they carry", async () => {
    const answer = await info({ authorization: `Bearer ${token}`, "sec-fetch-site": "cross-site" });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([403, "FORBIDDEN"]);
  });
});
