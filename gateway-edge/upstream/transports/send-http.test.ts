import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { systemClock } from "../../../common/clock.ts";
import { sendContract } from "./send-contract.ts";
import { createHttpSend } from "./send-http.ts";
import { open, post } from "./send-http-fixture.ts";
import { TRANSPORTS } from "./transport.ts";

describe.each(TRANSPORTS)("%s", (transport) => sendContract(transport));

test("undici calls upstreams through the proxy of the environment, but for those of NO_PROXY", async () => {
  const proxied: string[] = [];
  const upstream = createServer((_request, response) => response.end("direct")).listen(0, "127.0.0.1");
  const proxy = createServer((request, response) => {
    proxied.push(String(request.url));
    response.end("by the proxy");
  }).listen(0, "127.0.0.1");
  await Promise.all([once(upstream, "listening"), once(proxy, "listening")]);
  const before = { ...process.env };
  process.env["http_proxy"] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  process.env["no_proxy"] = "127.0.0.1";
  try {
    const unsigned = () => Promise.reject(new Error("nothing is signed here"));
    const send = createHttpSend({ clock: systemClock, signers: { aws: unsigned, google: unsigned }, transport: "undici" });
    expect(await text((await send(post("http://upstream.test/v1"), open())).body)).toBe("by the proxy");
    expect(proxied).toEqual(["http://upstream.test/v1"]);
    expect(await text((await send(post(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`), open())).body)).toBe("direct");
  } finally {
    process.env = before;
    for (const server of [upstream, proxy]) {
      server.closeAllConnections();
      server.close();
    }
  }
});
