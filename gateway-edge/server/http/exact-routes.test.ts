import { Pool } from "undici";
import { FakeControl, startEdge, type TestEdge } from "./testing/edge-fixture.ts";

const EXACT = "/v1/chat/completions";
/** The same route, spelled so that only the router finds it. */
const OTHERWISE = `${EXACT}?`;
const body = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hi" }] });

let edge: TestEdge;
let control: FakeControl;
beforeEach(async () => {
  control = new FakeControl();
  edge = await startEdge(control);
});
afterEach(() => edge.close());

/** Status, the names of all headers, and the body without what differs from call to call. */
async function answerOf(path: string, init: RequestInit) {
  const response = await fetch(edge.url + path, init);
  const text = (await response.text()).replace(/chatcmpl-\w+|"created":\d+/g, "");
  const { "content-length": _length, ...headers } = Object.fromEntries([...response.headers].map(([name]) => [name, ""]));
  return { status: response.status, allow: response.headers.get("allow"), headers, text };
}

test("a path to the letter and one that needs the router are answered alike, also where they are refused", async () => {
  const headers = { "content-type": "application/json", "x-api-key": control.addKey().secret };
  const requests: RequestInit[] = [
    { method: "POST", headers, body },
    { method: "POST", headers, body: "{ not json" },
    { method: "POST", headers, body: "{}" },
    { method: "POST", headers: { ...headers, "content-type": "text/plain" }, body },
    { method: "POST", body },
    { method: "POST", headers: { "x-api-key": "sk-unknown" }, body },
    { method: "GET", headers },
    { method: "OPTIONS" },
  ];
  const statuses: number[] = [];
  for (const request of requests) {
    const exact = await answerOf(EXACT, request);
    expect(exact).toEqual(await answerOf(OTHERWISE, request));
    statuses.push(exact.status);
  }
  expect(statuses).toEqual([200, 400, 422, 415, 401, 401, 405, 204]);
});

test("a page of a listed origin may read the answer to a path to the letter too", async () => {
  await edge.close();
  edge = await startEdge(control, {}, { CORS_ORIGINS: "https://a.example" });
  const headers = { "content-type": "application/json", "x-api-key": control.addKey().secret };
  for (const [origin, allowed] of [
    ["https://a.example", "https://a.example"],
    ["https://b.example", null],
  ] as const) {
    for (const path of [EXACT, OTHERWISE]) {
      const answer = await fetch(edge.url + path, { method: "POST", headers: { ...headers, origin }, body });
      expect([path, answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([path, 200, allowed]);
      expect(answer.headers.get("vary")).toBe("origin");
      await answer.text();
    }
  }
});

test("one connection may bring one key after another: each call is its own key's", async () => {
  const [first, second] = [control.addKey({ keyName: "first" }), control.addKey({ keyName: "second" })];
  const pool = new Pool(edge.url, { connections: 1, pipelining: 1 });
  const call = async (key: string) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${key}` };
    const answer = await pool.request({ method: "POST", path: EXACT, headers, body });
    await answer.body.dump();
    return answer.statusCode;
  };
  try {
    const keys = [first.secret, first.secret, second.secret, "sk-unknown", first.secret];
    const statuses: number[] = [];
    for (const key of keys) statuses.push(await call(key));
    expect(statuses).toEqual([200, 200, 200, 401, 200]);
    expect(control.intents.map(({ apiKeyName }) => apiKeyName)).toEqual(["first", "first", "second", "first"]);
  } finally {
    await pool.close();
  }
});
