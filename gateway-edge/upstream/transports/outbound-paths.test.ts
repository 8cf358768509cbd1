import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { WebSocketServer } from "ws";
import { type Authority, createAuthority, type Issued } from "../../../cli/certs/issue.ts";
import { OPERATOR_GUARD } from "../../../common/outbound.ts";
import { type ConnectProxy, startConnectProxy } from "./connect-proxy-fixture.ts";
import { openSocket } from "./open-socket.ts";
import { readProxies } from "./proxies.ts";
import { open, post, sendWith } from "./send-http-fixture.ts";
import { upstreamTls } from "./tls-identity.ts";
import { TRANSPORTS } from "./transport.ts";
import { createUpstreamGuard } from "./upstream-guard.ts";

let authority: Authority;
let server: Issued;
let client: Issued;
const opened: { close(): unknown }[] = [];

beforeAll(async () => {
  authority = await createAuthority(Date.now());
  server = await authority.issue({ role: "trainer", name: "upstream" }, { hosts: ["upstream.test", "127.0.0.1"], days: 1 });
  client = await authority.issue({ role: "edge", name: "edge-1" }, { hosts: [], days: 1 });
});

afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

const tlsOf = (own: Issued | undefined) => upstreamTls({ ca: authority.cert, cert: own?.cert, key: own?.key });

async function listen(created: Server): Promise<number> {
  opened.push({ close: () => created.close().closeAllConnections() });
  created.listen(0, "127.0.0.1");
  await once(created, "listening");
  return (created.address() as AddressInfo).port;
}

/** A server of its own authority that accepts only clients with a certificate of it, and answers with the name in the certificate. */
function demandingServer(): Server {
  const options = { cert: server.cert, key: server.key, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
  return createHttpsServer(options, (request, response) => {
    request.resume();
    response.end(`${request.method} ${request.url} by ${(request.socket as TLSSocket).getPeerCertificate().subject.CN}`);
  });
}

async function startProxy(options: { refuse?: boolean; hangUp?: boolean } = {}): Promise<ConnectProxy> {
  const proxy = await startConnectProxy(options);
  opened.push(proxy);
  return proxy;
}

const proxiesOf = (proxy: ConnectProxy) => readProxies({ HTTPS_PROXY: proxy.url.replace("//", "//user:secret@"), HTTP_PROXY: proxy.url });

describe.each(TRANSPORTS)("%s", (transport) => {
  test("a deployment's own authority and client certificate are used, for its calls alone", async () => {
    const port = await listen(demandingServer());
    const send = sendWith({ transport });
    const url = `https://127.0.0.1:${port}/v1`;
    const call = async (tls: ReturnType<typeof tlsOf> | undefined) => text((await send(post(url, { tls }), open())).body);
    expect(await call(tlsOf(client))).toBe("POST /v1 by edge-1");
    // The connection above is idle: calls of deployments with other certificates must not use it.
    await expect(call(undefined)).rejects.toMatchObject({ code: expect.stringMatching(/UNABLE_TO_VERIFY|SELF_SIGNED/) });
    await expect(call(tlsOf(undefined))).rejects.toMatchObject({ code: expect.stringMatching(/ERR_SSL|ECONNRESET|UND_ERR_SOCKET/) });
    const other = await (await createAuthority(Date.now())).issue({ role: "edge", name: "stranger" }, { hosts: [], days: 1 });
    await expect(call(tlsOf(other))).rejects.toThrow();
    expect(await call(tlsOf(client))).toBe("POST /v1 by edge-1");
  });

  test("https goes through a tunnel of the proxy, and the certificates are those of the deployment, not of the proxy", async () => {
    const port = await listen(demandingServer());
    const proxy = await startProxy();
    const send = sendWith({ transport, proxyOf: proxiesOf(proxy) });
    const url = `https://upstream.test:${port}/v1`;
    for (let call = 0; call < 3; call++) {
      expect(await text((await send(post(url, { tls: tlsOf(client) }), open())).body)).toBe("POST /v1 by edge-1");
    }
    expect(new Set(proxy.targets)).toEqual(new Set([`upstream.test:${port}`]));
    expect(new Set(proxy.authorizations)).toEqual(new Set([`Basic ${Buffer.from("user:secret").toString("base64")}`]));
    // A tunnel is used for more than one call.
    expect(proxy.targets.length).toBeLessThan(3);
    // A certificate for another name is refused inside the tunnel, too.
    const misnamed = post(`https://other.test:${port}/v1`, { tls: tlsOf(client) });
    await expect(send(misnamed, open())).rejects.toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  });

  test("http names its upstream to the proxy, and upstreams of NO_PROXY and of this machine are called directly", async () => {
    const port = await listen(
      createServer((request, response) => request.resume().on("end", () => response.end(`${request.headers.host}${request.url}`))),
    );
    const proxy = await startProxy();
    const send = sendWith({ transport, proxyOf: proxiesOf(proxy) });
    const call = async (url: string) => text((await send(post(url), open())).body);
    expect(await call(`http://upstream.test:${port}/v1`)).toBe(`upstream.test:${port}/v1`);
    expect(await call(`http://127.0.0.1:${port}/v2`)).toBe(`127.0.0.1:${port}/v2`);
    expect(proxy.targets).toEqual([`http://upstream.test:${port}/v1`]);
  });

  test("a tunnel that the proxy refuses or that never opens fails the call", async () => {
    const refusing = await startProxy({ refuse: true });
    const url = "https://upstream.test:443/v1";
    await expect(sendWith({ transport, proxyOf: proxiesOf(refusing) })(post(url), open())).rejects.toThrow(/proxy|Proxy|407/);
    const silent = await startConnectProxy();
    silent.close();
    const send = sendWith({ transport, proxyOf: proxiesOf(silent), connectMs: 500 });
    await expect(send(post(url), open())).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("ssrf: a proxy resolves names itself, so private hosts are refused by their text", async () => {
    const proxy = await startProxy();
    const { guardFor } = createUpstreamGuard({ allowPrivate: false });
    const send = sendWith({ transport, guardFor, proxyOf: proxiesOf(proxy) });
    for (const url of ["https://10.0.0.1/", "http://169.254.169.254/", "http://printer.local/", "https://127.0.0.1/"]) {
      await expect(send(post(url), open())).rejects.toMatchObject({ code: "EPLACE" });
    }
    expect(proxy.targets).toEqual([]);
  });
});

test("a realtime session passes the proxy in a tunnel and presents the deployment's certificate", async () => {
  const upstream = demandingServer();
  const sockets = new WebSocketServer({ server: upstream });
  sockets.on("connection", (socket) => socket.on("message", (message) => socket.send(`echo ${String(message)}`)));
  const port = await listen(upstream);
  const proxy = await startProxy();
  const target = { url: `https://upstream.test:${port}/v1/realtime`, headers: {}, tls: tlsOf(client) };
  const options = { guard: OPERATOR_GUARD, signal: open(), handshakeMs: 2000, messageBytesMax: 1024 };
  const socket = await openSocket(target, { ...options, proxyOf: proxiesOf(proxy) });
  socket.resume();
  socket.send("hello");
  const [message] = (await once(socket, "message")) as [Buffer];
  expect(String(message)).toBe("echo hello");
  expect(proxy.targets).toEqual([`upstream.test:${port}`]);
  const refusing = await startProxy({ refuse: true });
  await expect(openSocket(target, { ...options, proxyOf: proxiesOf(refusing) })).rejects.toMatchObject({ code: "EPROXY" });
  const leaving = await startProxy({ hangUp: true });
  await expect(openSocket(target, { ...options, proxyOf: proxiesOf(leaving) })).rejects.toMatchObject({ code: "EPROXY" });
  socket.terminate();
  sockets.close();
});
