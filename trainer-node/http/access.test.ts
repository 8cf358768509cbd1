import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
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

  test("refuses x-gw-tenant without its token", async () => {
    expect((await info({ "x-gw-tenant": "org_1" })).status).toBe(401);
  });

  test("tells probes that it lives, without a token", async () => {
    expect((await fetch(`${node.url}/health`)).status).toBe(200);
  });

  test("refuses pages of other sites, whatever they carry", async () => {
    const answer = await info({ authorization: `Bearer ${token}`, "sec-fetch-site": "cross-site" });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([403, "FORBIDDEN"]);
  });
});

describe("F9: a node on loopback without a token or secret", () => {
  let node: Node;
  let secret: Node;
  beforeAll(async () => {
    [node, secret] = await Promise.all([
      startNode({ threads: 1, hostNames: ["Trainer.internal"] }),
      startNode({ threads: 1, secret: "a secret of one federation" }),
    ]);
  });
  afterAll(() => Promise.all([node?.stop(), secret?.stop()]));

  /** Not by fetch, which sets Host itself. */
  async function statusOf(url: string, headers: Record<string, string> | string[]): Promise<number | undefined> {
    const sent = request(`${url}/v1/info`, { headers }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  }

  test.each([
    ["127.0.0.1:5000", 200],
    ["127.0.0.1", 200],
    ["LOCALHOST:5000", 200],
    ["[::1]:5000", 200],
    ["0.0.0.0:5000", 200],
    ["trainer.internal:5000", 200],
    ["evil.example:5000", 403],
    ["127.0.0.1.evil.example", 403],
    ["localhost.evil.example", 403],
    ["trainer.internal.evil.example", 403],
    ["192.168.1.5:5000", 403],
    ["a b", 403],
  ])("called as %s it answers %s", async (host, status) => {
    expect(await statusOf(node.url, { host })).toBe(status);
  });

  test("two hosts are refused, whichever comes first", async () => {
    expect(await statusOf(node.url, ["host", "127.0.0.1"])).toBe(200);
    expect(await statusOf(node.url, ["host", "127.0.0.1", "Host", "evil.example"])).toBe(400);
    expect(await statusOf(secret.url, ["host", "127.0.0.1", "Host", "127.0.0.1"])).toBe(400);
  });

  test("a page whose name leads to this machine is refused, although its Origin equals Host and it is same-origin", async () => {
    const page = { host: "evil.example:5000", origin: "http://evil.example:5000", "sec-fetch-site": "same-origin" };
    expect(await statusOf(node.url, page)).toBe(403);
    expect(await statusOf(secret.url, page)).toBe(401);
  });

  test("an Origin that is not the node's own is refused, also without Sec-Fetch-Site", async () => {
    const own = new URL(node.url).host;
    expect(await statusOf(node.url, { origin: `http://${own}` })).toBe(200);
    for (const origin of ["http://evil.example", "http://127.0.0.1:1", "null", "", `http://${own}.evil.example`])
      expect([origin, await statusOf(node.url, { origin })]).toEqual([origin, 403]);
  });
});
