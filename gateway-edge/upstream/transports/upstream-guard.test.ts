import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { guardOf } from "../../../common/outbound.ts";
import { Deployment } from "../../../proto/gen/tributary/access/v1/access.ts";
import { open, post, sendWith } from "./send-http-fixture.ts";
import { TRANSPORTS } from "./transport.ts";
import { createUpstreamGuard } from "./upstream-guard.ts";

const servers: Server[] = [];
let visits = 0;
let connections = 0;
afterEach(() => {
  [visits, connections] = [0, 0];
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function listen({ host = "127.0.0.1", keepAlive = true } = {}): Promise<number> {
  const server = createServer((_request, response) => {
    visits++;
    if (!keepAlive) response.setHeader("connection", "close");
    response.end("ok");
  }).listen(0, host);
  servers.push(server.on("connection", () => connections++));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const at = (...addresses: string[]): LookupAddress[] => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
const REFUSED = { code: "EPLACE" };

describe.each(TRANSPORTS)("%s", (transport) => {
  test("ssrf: a provider's name that resolves to a private address, alone or beside a public one, is refused, and nothing is sent", async () => {
    const port = await listen();
    for (const addresses of [["127.0.0.1"], ["192.0.2.1", "10.0.0.1"], ["::1"], ["169.254.169.254"]]) {
      const { guardFor } = createUpstreamGuard({ allowPrivate: false, resolve: async () => at(...addresses) });
      await expect(sendWith({ transport, guardFor })(post(`http://provider.example:${port}/`), open())).rejects.toMatchObject(REFUSED);
      await expect(sendWith({ transport, guardFor })(post(`https://provider.example:${port}/`), open())).rejects.toMatchObject(REFUSED);
    }
    expect(visits).toBe(0);
  });

  test("ssrf: private addresses as numbers are refused too, and link-local ones even where private ones are allowed", async () => {
    const port = await listen();
    const strict = sendWith({ transport, guardFor: createUpstreamGuard({ allowPrivate: false }).guardFor });
    for (const host of ["127.0.0.1", "[::1]", "2130706433", "localhost"])
      await expect(strict(post(`http://${host}:${port}/`), open())).rejects.toMatchObject(REFUSED);
    const lenient = sendWith({ transport, guardFor: createUpstreamGuard({ allowPrivate: true }).guardFor });
    for (const host of ["169.254.169.254", "[fe80::1]", "metadata.google.internal"])
      await expect(lenient(post(`http://${host}/`), open())).rejects.toMatchObject(REFUSED);
    expect(await text((await lenient(post(`http://127.0.0.1:${port}/`), open())).body)).toBe("ok");
    expect(visits).toBe(1);
  });

  test("ssrf: a name that is rebound between two connections is refused with the second", async () => {
    const port = await listen({ host: "127.0.0.2", keepAlive: false });
    const answers = ["127.0.0.2", "127.0.0.1"];
    const judge = (host: string) => {
      if (host === "127.0.0.1") throw Object.assign(new Error("refused"), REFUSED);
    };
    const guard = guardOf(judge, async () => at(answers.shift() ?? "127.0.0.1"));
    const send = sendWith({ transport, guardFor: () => guard });
    const url = `http://rebound.example:${port}/`;
    expect(await text((await send(post(url), open())).body)).toBe("ok");
    await expect(send(post(url), open())).rejects.toMatchObject(REFUSED);
    expect([visits, answers]).toEqual([1, []]);
  });

  test("a name is resolved with a connection, not with a call", async () => {
    const port = await listen();
    let resolutions = 0;
    const resolve = async () => {
      resolutions++;
      return at("127.0.0.1");
    };
    const send = sendWith({ transport, guardFor: createUpstreamGuard({ allowPrivate: true, resolve }).guardFor });
    for (let call = 0; call < 5; call++) expect(await text((await send(post(`http://provider.example:${port}/`), open())).body)).toBe("ok");
    expect([visits, resolutions]).toEqual([5, connections]);
    expect(connections).toBeLessThan(3);
  });

  test("a name that nothing resolves is an error of the network, and the next call is made", async () => {
    const port = await listen();
    const answers = [at(), at("127.0.0.1")];
    const { guardFor } = createUpstreamGuard({ allowPrivate: true, resolve: async () => answers.shift() ?? [] });
    const send = sendWith({ transport, guardFor });
    await expect(send(post(`http://provider.example:${port}/`), open())).rejects.toMatchObject({ code: "ENOTFOUND" });
    expect(await text((await send(post(`http://provider.example:${port}/`), open())).body)).toBe("ok");
  });
});

test("private are the origins of kinds of the operator's machines, and private addresses that the configuration file names", async () => {
  const guard = createUpstreamGuard({ allowPrivate: false, resolve: async () => at("10.0.0.7") });
  const isAllowed = (origin: string) => {
    try {
      guard.guardFor(origin).checkHost("10.0.0.7");
      return true;
    } catch {
      return false;
    }
  };
  const deployment = (fields: Partial<Deployment>) => Deployment.fromPartial({ id: "d", params: "{}", ...fields });
  expect(isAllowed("http://localhost:11434")).toBe(false);
  guard.update([
    deployment({ providerKind: "ollama", dbModel: true }),
    deployment({ providerKind: "vllm", dbModel: true, baseUrl: "https://gpu.example.org/v1" }),
    deployment({ providerKind: "openai", dbModel: false, baseUrl: "http://10.0.0.5:8000/v1" }),
    deployment({ providerKind: "openai", dbModel: true, baseUrl: "http://10.0.0.6:8000/v1" }),
    deployment({ providerKind: "openai", dbModel: false, baseUrl: "https://rebound.example.org/v1" }),
    deployment({ providerKind: "bedrock", params: JSON.stringify({ aws_bedrock_runtime_endpoint: "http://10.0.0.9:80" }) }),
  ]);
  const origins = ["http://localhost:11434", "https://gpu.example.org", "http://10.0.0.5:8000", "http://10.0.0.9"];
  expect(origins.map(isAllowed)).toEqual([true, true, true, true]);
  const others = ["http://10.0.0.6:8000", "https://rebound.example.org", "https://api.openai.com", "http://10.0.0.5:8001"];
  expect(others.map(isAllowed)).toEqual([false, false, false, false]);
  guard.update([]);
  expect(origins.map(isAllowed)).toEqual([false, false, false, false]);
});
