import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../common/clock.ts";
import { ignore } from "../../../common/ignore.ts";
import type { ReadyIterator } from "../../../common/ready-iterator.ts";
import type { UpstreamRequest } from "../providers/provider.ts";
import { createHttpSend, type HttpSendOptions } from "./send-http.ts";
import { open, post } from "./send-http-fixture.ts";
import type { TransportName } from "./transport.ts";

const signers: HttpSendOptions["signers"] = {
  aws: async ({ signing: _signing, ...request }, { region }) => ({
    ...request,
    headers: { ...request.headers, authorization: `AWS ${region}` },
  }),
  google: async ({ signing: _signing, ...request }) => ({ ...request, headers: { ...request.headers, authorization: "Bearer g" } }),
};
/** What every transport does with a request: the suite that both adapters pass. */
export function sendContract(transport: TransportName): void {
  const send = createHttpSend({ clock: systemClock, signers, transport });
  const servers: Server[] = [];

  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    }
  });

  async function serve(listener: RequestListener): Promise<{ url: string; server: Server }> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/x?y=1`, server };
  }

  test("only what the adapter built is sent; status, headers and bytes come back", async () => {
    const { url } = await serve(async (request, response) => {
      response.writeHead(418, { "x-seen": JSON.stringify(request.headers), "set-cookie": ["a=1", "b=2"] });
      response.end(`${request.method} ${request.url} ${await text(request)}`);
    });
    const response = await send(post(url), open());
    expect(response.status).toBe(418);
    expect(await text(response.body)).toBe("POST /v1/x?y=1 {}");
    expect(response.headers["set-cookie"]).toBe("a=1, b=2");
    expect(Object.keys(JSON.parse(response.headers["x-seen"] ?? "{}")).sort()).toEqual(
      ["accept-encoding", "connection", "content-length", "host", "x-own"].sort(),
    );
  });

  test("the ids of a call are sent with it, unless the request has its own", async () => {
    const { url } = await serve((request, response) => {
      const { "x-request-id": id, traceparent } = request.headers;
      response.end(JSON.stringify([id, traceparent]));
    });
    const ids = { requestId: "req_1", traceparent: "00-1-2-01", queued: () => {}, started: () => {} };
    const sent = async (headers: Record<string, string>, wait = ids) =>
      JSON.parse(await text((await send(post(url, { headers }), open(), wait)).body));
    expect(await sent({})).toEqual(["req_1", "00-1-2-01"]);
    expect(await sent({ "x-request-id": "own", traceparent: "own" })).toEqual(["own", "own"]);
    expect(await sent({}, { ...ids, traceparent: undefined } as unknown as typeof ids)).toEqual(["req_1", null]);
  });

  test("bytes arrive while the upstream is still writing, and a form is written while it is read", async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { url } = await serve(async (request, response) => {
      response.write(await text(request));
      await released;
      response.end("second");
    });
    async function* form() {
      yield Buffer.from("fi");
      await sleep(5);
      yield Buffer.from("rst");
    }
    const bytes = (await send(post(url, { body: form() }), open())).body[Symbol.asyncIterator]();
    expect(Buffer.from((await bytes.next()).value ?? "").toString()).toBe("first");
    release();
    expect(Buffer.from((await bytes.next()).value ?? "").toString()).toBe("second");
    expect((await bytes.next()).done).toBe(true);
  });

  test("a reader that waits without a promise is woken by a read, by the end and by an abort", async () => {
    const releases: (() => void)[] = [];
    const { url } = await serve(async (_request, response) => {
      response.write("first");
      await new Promise<void>((resolve) => releases.push(resolve));
      response.write("second");
      await new Promise<void>((resolve) => releases.push(resolve));
      response.end();
    });
    const client = new AbortController();
    const reader = async (signal: AbortSignal) => {
      const bytes: ReadyIterator<Uint8Array> = (await send(post(url), signal)).body[Symbol.asyncIterator]();
      expect(Buffer.from((await bytes.next()).value as Uint8Array).toString()).toBe("first");
      return { bytes, woken: () => new Promise<void>((resolve) => expect(bytes.wake?.(resolve)).toBe(true)) };
    };
    const { bytes, woken } = await reader(open());
    const second = woken();
    releases.shift()?.();
    await second;
    expect([bytes.wake?.(() => {}), Buffer.from(bytes.ready?.() ?? "").toString(), bytes.ready?.()]).toEqual([false, "second", undefined]);
    const ended = woken();
    await until(() => releases.length === 1);
    releases.shift()?.();
    await ended;
    expect([bytes.wake?.(() => {}), bytes.ready?.(), (await bytes.next()).done]).toEqual([false, undefined, true]);
    const aborted = await reader(client.signal);
    const left = aborted.woken();
    client.abort();
    await left;
    expect([aborted.bytes.wake?.(() => {}), aborted.bytes.ready?.()]).toEqual([false, undefined]);
    await expect(aborted.bytes.next()).rejects.toMatchObject({ name: "AbortError" });
  });

  test("an abort ends a call within a second and frees its connection, before the headers and after", async () => {
    let closed = 0;
    const { url } = await serve((request, response) => {
      response.on("close", () => closed++);
      if (request.headers["x-own"] === "stream") response.write("a");
    });
    const early = new AbortController();
    const waiting = send(post(url), early.signal);
    setTimeout(() => early.abort(), 50);
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    const late = new AbortController();
    const { body } = await send(post(url, { headers: { "x-own": "stream" } }), late.signal);
    setTimeout(() => late.abort(), 50);
    const startedMs = performance.now();
    await expect(text(body)).rejects.toMatchObject({ name: "AbortError" });
    expect(performance.now() - startedMs).toBeLessThan(1000);
    await until(() => closed === 2);
    await expect(send(post(url), AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
  });

  test("a reader that stops frees the connection too", async () => {
    let closed = false;
    const { url } = await serve((_request, response) => {
      response.on("close", () => {
        closed = true;
      });
      response.write("a");
    });
    for await (const _chunk of (await send(post(url), open())).body) break;
    await until(() => closed);
  });

  test("a reader that stops at the last event leaves the connection to the next call, unless more comes than an end", async () => {
    const sockets = new Set<unknown>();
    const { url } = await serve(async (request, response) => {
      sockets.add(request.socket);
      response.write("last event");
      await sleep(20);
      response.end(request.headers["x-own"] === "long" ? Buffer.alloc(1024 * 1024) : "\n");
    });
    for (const kind of ["short", "short", "long", "short"]) {
      for await (const _chunk of (await send(post(url, { headers: { "x-own": kind } }), open())).body) break;
      await sleep(60);
    }
    expect(sockets.size).toBe(2);
  });

  test("a call that waits for a connection ends with its client", async () => {
    const { url } = await serve((_request, response) => void response.write("a"));
    const single = createHttpSend({ clock: systemClock, signers, transport, connectionsMax: 1 });
    const first = new AbortController();
    await single(post(url), first.signal);
    const second = new AbortController();
    const waiting = single(post(url), second.signal);
    second.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    first.abort();
    const { body } = await single(post(url), open());
    expect(Buffer.from((await body[Symbol.asyncIterator]().next()).value ?? "").toString()).toBe("a");
  });

  test("a reset in the middle is an error with a code, and so is a closed port and an unknown name", async () => {
    const { url, server } = await serve((_request, response) => {
      response.write("half", () => response.socket?.resetAndDestroy());
    });
    await expect(send(post(url), open()).then(({ body }) => text(body))).rejects.toMatchObject({ code: expect.any(String) });
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
    await expect(send(post(url), open())).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await expect(send(post("http://no-such-name.invalid/"), open())).rejects.toMatchObject({
      code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/),
    });
  });

  test("slow headers are waited for, but no call is longer than the cap", async () => {
    const { url } = await serve(async (request, response) => {
      if (request.headers["x-own"] === "never") return;
      await sleep(300);
      response.end("late");
    });
    expect(await text((await send(post(url), open())).body)).toBe("late");
    const capped = createHttpSend({ clock: systemClock, signers, transport, totalMs: 100 });
    await expect(capped(post(url, { headers: { "x-own": "never" } }), open())).rejects.toMatchObject({ code: "ETIMEDOUT" });
  });

  test("who reads slowly slows the upstream", async () => {
    let written = 0;
    const { url } = await serve(async (_request, response) => {
      const block = Buffer.alloc(64 * 1024);
      while (written < 64 * 1024 * 1024 && !response.destroyed) {
        written += block.length;
        if (!response.write(block)) await ignore(once(response, "drain"), "the loop ends when the reader is gone");
      }
      response.end();
    });
    const bytes = (await send(post(url), open())).body[Symbol.asyncIterator]();
    await bytes.next();
    await sleep(300);
    const paused = written;
    expect(paused).toBeLessThan(32 * 1024 * 1024);
    await sleep(100);
    expect(written).toBe(paused);
    await bytes.return?.();
  });

  test("redirects are answers, not orders", async () => {
    let visits = 0;
    const { url } = await serve((_request, response) => {
      visits++;
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    const response = await send(post(url), open());
    await text(response.body);
    expect([response.status, visits]).toEqual([307, 1]);
  });

  test("signing is done by who was handed in, and addresses of other kinds are refused", async () => {
    const { url } = await serve((request, response) => response.end(request.headers.authorization));
    const keys = { accessKeyId: "a", secretAccessKey: "s" };
    const aws = await send(post(url, { signing: { type: "aws-sigv4", region: "eu-1", service: "bedrock", ...keys } }), open());
    expect(await text(aws.body)).toBe("AWS eu-1");
    expect(await text((await send(post(url, { signing: { type: "google" } }), open())).body)).toBe("Bearer g");
    for (const other of ["file:///etc/passwd", "http://user:pass@127.0.0.1/"]) {
      await expect(send(post(other), open())).rejects.toMatchObject({ code: "UPSTREAM_UNAVAILABLE" });
    }
  });

  test("upstreams and connections are bounded", async () => {
    let most = 0;
    let now = 0;
    const { url } = await serve(async (_request, response) => {
      most = Math.max(most, ++now);
      await sleep(20);
      now--;
      response.end("x");
    });
    const { url: second } = await serve((_request, response) => response.end("y"));
    const bounded = createHttpSend({ clock: systemClock, signers, transport, connectionsMax: 2, originsMax: 1 });
    await Promise.all(Array.from({ length: 10 }, async () => text((await bounded(post(url), open())).body)));
    expect(most).toBe(2);
    await expect(bounded(post(second), open())).rejects.toMatchObject({ code: expect.stringContaining("ORIGINS") });
  });

  test("headers of a connection are not passed on, a host is, and text beyond ASCII arrives as Latin-1", async () => {
    const { url } = await serve((request, response) => response.end(JSON.stringify(request.headers)));
    const headers = {
      Connection: "close",
      "Transfer-Encoding": "gzip",
      te: "trailers",
      "content-length": "7",
      host: "other.test",
      "x-name": "Zo\u00eb",
    };
    const { body } = await send(post(url, { headers }), open());
    const seen = JSON.parse(await text(body)) as Record<string, string>;
    expect(seen).toMatchObject({ host: "other.test", "content-length": "2", "x-name": "Zo\u00eb", "accept-encoding": "identity" });
    expect(seen["connection"]).toBe("keep-alive");
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(["te"]));
  });

  test("a header that HTTP cannot express fails the call, and nothing is sent", async () => {
    let requests = 0;
    const { url } = await serve((_request, response) => {
      requests++;
      response.end();
    });
    for (const headers of [{ "x-a": "1\r\nx-b: 2" }, { "x a": "1" }, { "x-a": "\u20ac" }])
      await expect(send(post(url, { headers }), open())).rejects.toThrow();
    expect(requests).toBe(0);
  });

  test.each(["HEAD", "DELETE", "PUT", "OPTIONS"])("%s is sent with its body and its answer is read to its end", async (method) => {
    const { url } = await serve(async (request, response) => {
      const sent = await text(request);
      response.writeHead(200, { "x-seen": `${request.method} ${sent} ${request.headers["content-length"] ?? "-"}`, "content-length": "4" });
      response.end("body");
    });
    const body = method === "PUT" ? Buffer.from([0xc3, 0xab]) : "";
    for (let time = 0; time < 2; time++) {
      const answer = await send(post(url, { method, body }), open());
      expect(await text(answer.body)).toBe(method === "HEAD" ? "" : "body");
      expect(Buffer.from(answer.headers["x-seen"] ?? "", "latin1").toString()).toMatch(
        method === "PUT" ? /^PUT . 2$/ : new RegExp(`^${method}  -$`),
      );
    }
  });

  test("an upload ends with its call: the source is closed, and the next call has a connection of its own", async () => {
    let isClosed = false;
    async function* endless() {
      try {
        for (;;) {
          yield Buffer.alloc(1024);
          await sleep(1);
        }
      } finally {
        isClosed = true;
      }
    }
    const { url } = await serve((request, response) => {
      if (request.headers["x-own"] === "early") response.writeHead(413).end("too large");
    });
    const client = new AbortController();
    const waiting = send(post(url, { body: endless() }), client.signal);
    setTimeout(() => client.abort(), 30);
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    await until(() => isClosed);
    isClosed = false;
    const refused = await send(post(url, { body: endless(), headers: { "x-own": "early" } }), open());
    expect([refused.status, await text(refused.body)]).toEqual([413, "too large"]);
    await until(() => isClosed);
    const next = await send(post(url, { headers: { "x-own": "early" } }), open());
    expect(await text(next.body)).toBe("too large");
  });

  test("a form of a known size is sent with its length, and not in chunks", async () => {
    const { url } = await serve(async (request, response) => {
      const { "content-length": length, "transfer-encoding": encoding } = request.headers;
      response.end(JSON.stringify([length, encoding, await text(request)]));
    });
    const sent = async (more: Partial<UpstreamRequest>) => JSON.parse(await text((await send(post(url, more), open())).body)) as unknown;
    expect(await sent({ body: pieces("RI", "", "FF"), bodyBytes: 4 })).toEqual(["4", null, "RIFF"]);
    expect(await sent({ body: pieces("RI", "FF") })).toEqual([null, "chunked", "RIFF"]);
    const large = Array.from({ length: 64 }, () => "x".repeat(64 * 1024));
    expect(await sent({ body: pieces(...large), bodyBytes: large.length * 64 * 1024 })).toEqual(["4194304", null, large.join("")]);
  });

  test.each([
    ["too short", ["RI"]],
    ["too long by a piece", ["RIFF", "x"]],
    ["too long within a piece", ["RI", "FFx"]],
  ])(
    "a form that is %s for its size is an error: no upstream takes it for complete, and its connection is closed",
    async (_kind, parts) => {
      const bodies: string[] = [];
      const sockets: Socket[] = [];
      const { url, server } = await serve((request, response) => {
        void text(request).then(
          (body) => {
            bodies.push(body);
            response.end(body);
          },
          () => {},
        );
      });
      server.on("connection", (socket) => sockets.push(socket));
      await expect(send(post(url, { body: pieces(...parts), bodyBytes: 4 }), open())).rejects.toMatchObject({ code: "SERVER_ERROR" });
      await until(() => sockets.length > 0 && sockets.every(({ destroyed }) => destroyed));
      expect(await text((await send(post(url, { body: pieces("RIFF"), bodyBytes: 4 }), open())).body)).toBe("RIFF");
      expect(bodies).toEqual(["RIFF"]);
      expect(sockets.at(-1)?.destroyed).toBe(false);
    },
  );

  test("a source that breaks fails the call with its error", async () => {
    async function* broken() {
      yield Buffer.from("a");
      throw new Error("the file is gone");
    }
    const { url } = await serve((request) => void request.resume());
    await expect(send(post(url, { body: broken() }), open())).rejects.toThrow("the file is gone");
  });
}

async function* pieces(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 100 && !condition(); tries++) await sleep(10);
  expect(condition()).toBe(true);
}
