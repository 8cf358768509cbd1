import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { operatorFetch } from "./operator-fetch.ts";
import { createGuard, type Guard, guardedAgents, guardedRequest, guardOf } from "./outbound.ts";
import { guardedDispatcher } from "./outbound-undici.ts";

const servers: Server[] = [];
let visits = 0;
afterEach(() => {
  visits = 0;
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function listen(host = "127.0.0.1"): Promise<number> {
  const server = createServer((_incoming, response) => {
    visits++;
    response.setHeader("connection", "close").end("ok");
  }).listen(0, host);
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** The ways to make a call, each of which resolves with a status. */
const CALLS = {
  guardedRequest: async (url: string, guard: Guard) => statusOf(guardedRequest(new URL(url), {}, guard)),
  guardedAgents: (url: string, guard: Guard) => statusOf(request(url, { agent: guardedAgents(guard, { keepAlive: true })["http:"] })),
  guardedDispatcher: async (url: string, guard: Guard) => {
    const { origin, pathname: path } = new URL(url);
    const { statusCode, body } = await guardedDispatcher(guard, {}).request({ origin, path, method: "GET" });
    await body.dump();
    return statusCode;
  },
};

function statusOf(outgoing: ReturnType<typeof request>): Promise<number> {
  return new Promise((resolve, reject) => {
    outgoing.on("response", (response) => resolve(response.resume().statusCode ?? 0)).on("error", reject);
    outgoing.end();
  });
}

const REFUSED = { code: "EPLACE" };
const addressesOf = (...addresses: string[]) => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

describe.each(Object.entries(CALLS))("%s", (_name, call) => {
  test("ssrf: private addresses are refused, as numbers and as what a name resolves to, and nothing is connected", async () => {
    const port = await listen();
    const guard = createGuard({ allowPrivate: false, resolve: async () => addressesOf("192.0.2.1", "127.0.0.1") });
    for (const host of ["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "localhost", "public.example", "169.254.169.254"])
      await expect(call(`http://${host}:${port}/`, guard)).rejects.toMatchObject(REFUSED);
    expect(visits).toBe(0);
  });

  test("ssrf: metadata services are refused where private addresses are allowed", async () => {
    const guard = createGuard({ allowPrivate: true, resolve: async () => addressesOf("169.254.169.254") });
    for (const host of ["169.254.169.254", "[fe80::1]", "metadata.google.internal", "public.example"])
      await expect(call(`http://${host}/latest/meta-data`, guard)).rejects.toMatchObject(REFUSED);
    expect(await call(`http://127.0.0.1:${await listen()}/`, guard)).toBe(200);
  });

  test("ssrf: a name that changes its address after a call is judged again with its next connection", async () => {
    const port = await listen("127.0.0.2");
    const resolutions = ["127.0.0.2", "127.0.0.1"];
    const judge = (host: string) => {
      if (host === "127.0.0.1") throw Object.assign(new Error("refused"), REFUSED);
    };
    const guard = guardOf(judge, async () => addressesOf(resolutions.shift() ?? "127.0.0.1"));
    expect(await call(`http://rebound.example:${port}/`, guard)).toBe(200);
    await expect(call(`http://rebound.example:${port}/`, guard)).rejects.toMatchObject(REFUSED);
    expect(visits).toBe(1);
  });

  test("a name without an address is an error of the network", async () => {
    const guard = createGuard({ allowPrivate: true, resolve: async () => [] });
    await expect(call("http://nowhere.example/", guard)).rejects.toMatchObject({ code: "ENOTFOUND" });
  });
});

test("addresses of the operator's own processes may be private, but not link-local", async () => {
  expect(await (await operatorFetch(`http://127.0.0.1:${await listen()}/`)).text()).toBe("ok");
  await expect(operatorFetch("http://169.254.169.254/")).rejects.toMatchObject({ cause: REFUSED });
});
