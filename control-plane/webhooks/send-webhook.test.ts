import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { systemRandom } from "../../common/random.ts";
import { mintWebhookSecret, signedHeaders } from "../../common/webhook-signature.ts";
import { createWebhookSender, type SenderOptions } from "./send-webhook.ts";

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections();
});

async function listen(handler: RequestListener): Promise<number> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const send = (url: string, options: Partial<SenderOptions> = {}) =>
  createWebhookSender({ allowPrivate: true, ...options })({ url, headers: { "content-type": "application/json" }, body: '{"a":1}' });
const named = (...addresses: string[]): Partial<SenderOptions> => ({
  resolve: async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
});

test("what is sent is what was signed: the reference library of Standard Webhooks believes it, and nothing else", async () => {
  const secret = mintWebhookSecret(systemRandom);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const body = '{"type":"balance.low","timestamp":"2026-01-02T03:04:05.678Z","data":{"balance":-9007199254740993}}';
  let seen: { headers: IncomingMessage["headers"]; body: string } | undefined;
  const port = await listen(async (request, response) => {
    seen = { headers: request.headers, body: await text(request) };
    response.end();
  });
  const headers = signedHeaders({ id: "msg_1", body, secret, now: Date.now() });
  const answer = await createWebhookSender({ allowPrivate: true })({ url: `http://127.0.0.1:${port}/in?x=1`, headers, body });
  expect(answer).toEqual({ kind: "answered", status: 200 });
  expect(seen?.body).toBe(body);
  const received = seen?.headers as Record<string, string>;
  expect(new Webhook(secret).verify(body, received)).toMatchObject({ type: "balance.low" });
  expect(() => new Webhook(mintWebhookSecret(systemRandom)).verify(body, received)).toThrow();
  expect(() => new Webhook(secret).verify(body.replace("low", "lost"), received)).toThrow();
});

test("a redirect is an answer, not a way to go", async () => {
  let visits = 0;
  const inner = await listen((_request, response) => {
    visits++;
    response.end();
  });
  const outer = await listen((_request, response) => response.writeHead(302, { location: `http://127.0.0.1:${inner}/` }).end());
  expect(await send(`http://127.0.0.1:${outer}/`)).toEqual({ kind: "answered", status: 302 });
  expect(visits).toBe(0);
});

test("an endless answer is not read, and one that never comes is given up in time", async () => {
  const endless = await listen((_request, response) => {
    response.writeHead(200);
    const more = () => {
      while (response.write(Buffer.alloc(65_536)));
    };
    response.on("drain", more);
    more();
  });
  expect(await send(`http://127.0.0.1:${endless}/`)).toEqual({ kind: "answered", status: 200 });
  const silent = await listen(() => {});
  expect(await send(`http://127.0.0.1:${silent}/`, { timeoutMs: 200 })).toEqual({ kind: "failed", reason: "no answer within 0.2 s" });
});

describe("ssrf", () => {
  const refused = { kind: "failed", reason: "the address is private" };
  let port = 0;
  let visits = 0;
  beforeAll(async () => {
    port = await listen((_request, response) => {
      visits++;
      response.end();
    });
  });
  beforeEach(() => {
    visits = 0;
  });

  test("a name is looked up once and the connection goes to the address that was judged", async () => {
    let lookups = 0;
    // Says something else every time, as a name does that wants to get past a check.
    const resolve = async () => [{ address: lookups++ === 0 ? "127.0.0.1" : "169.254.169.254", family: 4 }];
    expect(await send(`http://hooks.example.org:${port}/`, { resolve })).toEqual({ kind: "answered", status: 200 });
    expect([lookups, visits]).toEqual([1, 1]);
  });

  test.each([
    ["private", named("127.0.0.1")],
    ["private among public ones", named("8.8.8.8", "10.0.0.1")],
    ["private in disguise", named("::ffff:127.0.0.1")],
  ])("a name whose address is %s leads nowhere", async (_what, options) => {
    expect(await send(`http://hooks.example.org:${port}/`, { ...options, allowPrivate: false })).toEqual(refused);
    expect(visits).toBe(0);
  });

  test.each(["127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "localhost"])("the address %s leads nowhere", async (host) => {
    expect(await send(`http://${host}:${port}/`, { allowPrivate: false })).toEqual(refused);
    expect(visits).toBe(0);
  });

  test("metadata services lead nowhere, even where private addresses are allowed", async () => {
    expect(await send("http://169.254.169.254/latest/meta-data")).toEqual(refused);
    expect(await send("http://hooks.example.org/", named("169.254.169.254"))).toEqual(refused);
  });
});

test("a name without an address, and a port without a listener, have distinct reasons", async () => {
  expect(await send("http://hooks.example.org/", named())).toMatchObject({ kind: "failed", reason: expect.stringContaining("ENOTFOUND") });
  expect(await send("http://127.0.0.1:9/")).toMatchObject({ kind: "failed", reason: expect.stringContaining("ECONNREFUSED") });
});
