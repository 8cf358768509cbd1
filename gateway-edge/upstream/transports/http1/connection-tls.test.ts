import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import tls, { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { promisify } from "node:util";
import { open, post, sendWith } from "../send-http-fixture.ts";

const fixture = (name: string) =>
  readFileSync(new URL(`../../../../trainer-node/operations/__fixtures__/${name}`, import.meta.url), "utf8");
const certificate = fixture("loopback-certificate.pem");
const trusted = getCACertificates("default");
const servers: Server[] = [];
const sockets = new Set<Socket>();

beforeEach(() => setDefaultCACertificates([...trusted, certificate]));

afterEach(async () => {
  setDefaultCACertificates(trusted);
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((closed) => server.close(closed));
});

async function listen(server: Server): Promise<number> {
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

function keep(socket: Socket): Socket {
  sockets.add(socket);
  return socket.on("error", () => {});
}

/** Whether a greeting of TLS 1.3 goes on from an earlier connection. */
function hasTicket(greeting: Buffer): boolean {
  let at = 43;
  at += 1 + greeting.readUInt8(at);
  at += 2 + greeting.readUInt16BE(at);
  at += 1 + greeting.readUInt8(at);
  const end = at + 2 + greeting.readUInt16BE(at);
  for (at += 2; at < end; at += 4 + greeting.readUInt16BE(at + 2)) if (greeting.readUInt16BE(at) === 41) return true;
  return false;
}

async function serveHttps() {
  let connections = 0;
  const server = createHttpsServer({ key: fixture("loopback-key.pem"), cert: certificate }, (request, response) => {
    response.write(`${request.url} `);
    request.on("data", () => {}).on("end", () => response.end("a".repeat(100_000)));
  });
  server.on("secureConnection", (socket) => {
    connections++;
    keep(socket);
  });
  return { url: `https://127.0.0.1:${await listen(server)}/v1/x`, connections: () => connections };
}

test("calls are answered over one verified connection", async () => {
  const { url, connections } = await serveHttps();
  const send = sendWith();
  for (let each = 0; each < 3; each++) expect(await text((await send(post(url), open())).body)).toBe(`/v1/x ${"a".repeat(100_000)}`);
  expect(connections()).toBe(1);
});

test("an untrusted certificate is refused", async () => {
  setDefaultCACertificates(trusted);
  const { url } = await serveHttps();
  await expect(sendWith()(post(url), open())).rejects.toMatchObject({ code: expect.stringMatching(/SELF_SIGNED|UNABLE_TO_VERIFY/) });
});

test("a ticket that the upstream cannot take costs one call, not all that follow", async () => {
  const asked: Socket[] = [];
  const behind = createTlsServer({ key: fixture("loopback-key.pem"), cert: certificate }, (socket) => {
    keep(socket).on("data", () => {
      // The second answer is held back: an upstream without a connection is forgotten, and its ticket with it.
      const body = asked.push(socket) === 2 ? "o" : "ok";
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n${body}`);
    });
  });
  const port = await listen(behind);
  const tickets: boolean[] = [];
  const upstream = createServer((socket) => {
    keep(socket).once("data", (greeting: Buffer) => {
      tickets.push(hasTicket(greeting));
      if (tickets.at(-1)) return void socket.destroy();
      const through = keep(connect(port, "127.0.0.1"));
      through.write(greeting);
      socket.pipe(through).pipe(socket);
    });
  });
  const url = `https://127.0.0.1:${await listen(upstream)}/`;
  const send = sendWith();
  const call = async () => text((await send(post(url), open())).body);

  expect(await call()).toBe("ok");
  const busy = call();
  while (asked.length < 2) await sleep(5);
  await expect(call()).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(await call()).toBe("ok");
  asked[1]?.write("k");
  expect(await busy).toBe("ok");
  expect(tickets).toEqual([false, true, false]);
});

test("an untrusted certificate is refused, whatever the environment says", async () => {
  const behind = createTlsServer({ key: fixture("loopback-key.pem"), cert: certificate }, (socket) => {
    keep(socket).on("data", () => socket.write("HTTP/1.1 204 No Content\r\n\r\n"));
  });
  const url = `https://127.0.0.1:${await listen(behind)}/`;
  // A process of its own: the environment is read where no test can change it.
  const script = `
    import { createHttpSend } from ${JSON.stringify(new URL("../send-http.ts", import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL("../../../../common/clock.ts", import.meta.url).href)};
    const call = createHttpSend({ clock: systemClock, signers: {} })({ url: ${JSON.stringify(url)}, headers: {}, body: "{}" }, new AbortController().signal);
    process.stdout.write(await call.then(({ status }) => String(status), ({ code }) => code));
    process.exit();
  `;
  const env = { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0" };
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { env });
  expect(stdout).toMatch(/SELF_SIGNED|UNABLE_TO_VERIFY/);
});

test("a connection that cannot be created fails its call, and leaves nothing behind", async () => {
  const asked: Socket[] = [];
  const behind = createTlsServer({ key: fixture("loopback-key.pem"), cert: certificate }, (socket) => {
    keep(socket).on("data", () => asked.push(socket));
  });
  const url = `https://127.0.0.1:${await listen(behind)}/`;
  const send = sendWith({ connectionsMax: 1, originsMax: 1 });
  const client = new AbortController();
  const call = () => send(post(url), client.signal);
  const first = call();
  const waiting = [call(), call()].map((each) => expect(each).rejects.toMatchObject({ code: "ERR_TLS_INVALID_PROTOCOL_VERSION" }));
  while (asked.length < 1) await sleep(5);
  const before = tls.DEFAULT_MAX_VERSION;
  tls.DEFAULT_MAX_VERSION = "none" as typeof before;
  try {
    asked[0]?.end("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    expect((await first).status).toBe(204);
    await Promise.all(waiting);
    const listening = jest.spyOn(client.signal, "addEventListener");
    const left = jest.spyOn(client.signal, "removeEventListener");
    await expect(call()).rejects.toMatchObject({ code: "ERR_TLS_INVALID_PROTOCOL_VERSION" });
    expect(left).toHaveBeenCalledTimes(listening.mock.calls.length);
  } finally {
    tls.DEFAULT_MAX_VERSION = before;
  }
  const again = call();
  while (asked.length < 2) await sleep(5);
  asked[1]?.write("HTTP/1.1 204 No Content\r\n\r\n");
  expect((await again).status).toBe(204);
});
