import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../../common/clock.ts";
import { open, post, sendWith } from "../send-http-fixture.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) await new Promise((closed) => server.close(closed));
});

interface Raw {
  url: string;
  /** Every request that came, with the number of the connection it came on. */
  seen: { connection: number; text: string }[];
  connections(): number;
}

/** An upstream that writes what it likes. */
async function serveRaw(answer: (socket: Socket, request: string, connection: number) => void): Promise<Raw> {
  const seen: Raw["seen"] = [];
  let connections = 0;
  const server = createServer((socket) => {
    const connection = ++connections;
    let text = "";
    sockets.add(socket.on("error", () => {}));
    socket.on("data", (bytes) => {
      text += bytes.toString();
      const length = Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0);
      const bodyAt = text.indexOf("\r\n\r\n") + 4;
      if (bodyAt < 4 || Buffer.byteLength(text.slice(bodyAt)) < length) return;
      seen.push({ connection, text });
      const request = text;
      text = "";
      answer(socket, request, connection);
    });
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/x`, seen, connections: () => connections };
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

test("a request is serialized exactly, its length in bytes", async () => {
  const upstream = await serveRaw((socket) => socket.write(OK));
  const send = sendWith();
  await text((await send(post(`${upstream.url}?q=%20`, { body: '{"a":"ü"}' }), open())).body);
  await text((await send(post(upstream.url, { method: "GET", body: "" }), open())).body);
  const { host } = new URL(upstream.url);
  const common = `host: ${host}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\nx-own: 1\r\n`;
  expect(upstream.seen.map((request) => request.text)).toEqual([
    `POST /v1/x?q=%20 HTTP/1.1\r\n${common}content-length: 10\r\n\r\n{"a":"ü"}`,
    `GET /v1/x HTTP/1.1\r\n${common}\r\n`,
  ]);
});

test("answers are requested uncompressed, whatever a deployment's headers say", async () => {
  const upstream = await serveRaw((socket) => socket.write(OK));
  const send = sendWith();
  for (const more of [{}, { "x-name": "Jürgen" }]) {
    const headers = { "Accept-Encoding": "gzip", "accept-encoding": "br", ...more };
    await text((await send(post(upstream.url, { headers }), open())).body);
  }
  expect(upstream.seen.map((request) => request.text.match(/accept-encoding: .*/gi))).toEqual([
    ["accept-encoding: identity"],
    ["accept-encoding: identity"],
  ]);
});

test("calls one after the other take one connection; calls at once take one each", async () => {
  const upstream = await serveRaw((socket) => setTimeout(() => socket.write(OK), 20));
  const send = sendWith();
  const call = async () => text((await send(post(upstream.url), open())).body);
  for (let each = 0; each < 3; each++) expect(await call()).toBe("ok");
  expect(upstream.connections()).toBe(1);
  await Promise.all(Array.from({ length: 5 }, call));
  expect(upstream.connections()).toBe(5);
});

test.each([
  ["says that it closes", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"],
  ["keeps it no longer than a call may be on its way", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nkeep-alive: timeout=2\r\n\r\nok"],
  ["sends more than its answer", `${OK}HTTP/1.1 200 OK\r\n`],
])("a connection is not used again when the upstream %s", async (_what, answer) => {
  const upstream = await serveRaw((socket) => socket.write(answer));
  const send = sendWith();
  for (let each = 0; each < 3; each++) expect(await text((await send(post(upstream.url), open())).body)).toBe("ok");
  expect(upstream.seen.map(({ connection }) => connection)).toEqual([1, 2, 3]);
});

test("a connection that the upstream closed while nothing happened on it costs no call", async () => {
  const upstream = await serveRaw((socket) => {
    socket.write(OK);
    setTimeout(() => socket.end(), 20);
  });
  const send = sendWith();
  for (let each = 0; each < 3; each++) {
    expect(await text((await send(post(upstream.url), open())).body)).toBe("ok");
    await sleep(60);
  }
  expect(upstream.connections()).toBe(3);
});

test("an idle connection stays open for ten seconds, and no longer", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const upstream = await serveRaw((socket) => socket.write(OK));
  const send = sendWith({ clock });
  const call = async () => text((await send(post(upstream.url), open())).body);
  await call();
  nowMs += 9_900;
  await call();
  expect(upstream.connections()).toBe(1);
  nowMs += 10_100;
  await call();
  expect(upstream.connections()).toBe(2);
});

test("a call that was not sent does not make the silence any shorter", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const upstream = await serveRaw((socket) => socket.write(OK));
  const send = sendWith({ clock });
  await text((await send(post(upstream.url), open())).body);
  nowMs += 9_900;
  const left = new AbortController();
  const call = send(post(upstream.url), left.signal);
  left.abort(new Error("the client left"));
  await expect(call).rejects.toThrow("the client left");
  await sleep(10);
  nowMs += 200;
  expect(await text((await send(post(upstream.url), open())).body)).toBe("ok");
  expect(upstream.connections()).toBe(2);
});

test("an answer without a length ends with its connection; one that is cut short is an error", async () => {
  const upstream = await serveRaw((socket, request) => {
    if (request.includes("x-cut")) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
    else socket.end("HTTP/1.1 200 OK\r\n\r\nall of it");
  });
  const send = sendWith();
  expect(await text((await send(post(upstream.url), open())).body)).toBe("all of it");
  const cut = await send(post(upstream.url, { headers: { "x-cut": "1" } }), open());
  await expect(text(cut.body)).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("what is no answer is an error with a code, and the connection goes with it", async () => {
  const upstream = await serveRaw((socket, _request, connection) =>
    socket.write(connection === 1 ? "SSH-2.0-x\r\n\r\n" : "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
  );
  const send = sendWith();
  await expect(send(post(upstream.url), open())).rejects.toMatchObject({ code: "EPROTO" });
  const second = await send(post(upstream.url), open());
  await expect(text(second.body)).rejects.toMatchObject({ code: "EPROTO" });
  expect(upstream.connections()).toBe(2);
});

test("a call whose client leaves before it was sent is not sent, and leaves the connection to the next", async () => {
  const upstream = await serveRaw((socket) => socket.write(OK));
  const send = sendWith({ connectionsMax: 1 });
  await text((await send(post(upstream.url), open())).body);
  const left = new AbortController();
  const call = send(post(upstream.url, { headers: { "x-left": "1" } }), left.signal);
  left.abort(new Error("the client left"));
  await expect(call).rejects.toThrow("the client left");
  expect(await text((await send(post(upstream.url), open())).body)).toBe("ok");
  expect(upstream.connections()).toBe(1);
  expect(upstream.seen.some((request) => request.text.includes("x-left"))).toBe(false);
});

test("waiting calls whose clients disconnected do not delay the others", async () => {
  const upstream = await serveRaw((socket) => setTimeout(() => socket.write(OK), 20));
  const send = sendWith({ connectionsMax: 1 });
  const left = new AbortController();
  const first = send(post(upstream.url), open());
  const leaving = Array.from({ length: 2000 }, () => send(post(upstream.url), left.signal));
  const last = send(post(upstream.url), open());
  const refusals = Promise.allSettled(leaving);
  left.abort(new Error("all left"));
  expect(await text((await first).body)).toBe("ok");
  expect(await text((await last).body)).toBe("ok");
  expect((await refusals).every(({ status }) => status === "rejected")).toBe(true);
  expect(upstream.seen).toHaveLength(2);
});

test("an upstream that never takes the connection is given up in time", async () => {
  // An address without a host; where the network refuses it at once, that is an error too.
  const call = sendWith({ connectMs: 150 })(post("http://192.0.2.1:9/"), open());
  await expect(call).rejects.toMatchObject({ code: expect.stringMatching(/^E(TIMEDOUT|NETUNREACH|HOSTUNREACH|CONNREFUSED|ACCES|PERM)$/) });
});
