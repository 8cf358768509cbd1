import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { createServer } from "../../../common/node-http.ts";
import { type FakeClock, fakeClock } from "../../access/clock-fixture.ts";
import type { CallRequest, CallResponse } from "../../calls/http-exchange.ts";
import { CallConnections } from "./call-connections.ts";

let server: Server;
let calls: CallConnections;
let clock: FakeClock;
let nodesRequests: number;
let late: Socket[];
let refuseLate: (socket: Socket) => void;
let answer: (request: CallRequest, response: CallResponse) => void;

const bodyOf = (request: CallRequest) => ("wholeBody" in request ? request.wholeBody.toString() : "not whole");
const reply = (response: CallResponse, text: string) => {
  response.writeHead(200, ["content-length", String(Buffer.byteLength(text))]);
  response.end(text);
};

beforeEach(async () => {
  clock = fakeClock();
  late = [];
  answer = (request, response) => void setImmediate(() => reply(response, `call ${bodyOf(request)}`));
  nodesRequests = 0;
  server = createServer((request, response) => {
    nodesRequests++;
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => response.end(`node ${request.url} ${body}`));
  });
  refuseLate = (socket) => {
    late.push(socket);
    socket.destroy();
  };
  calls = new CallConnections(server, {
    clock,
    paths: ["/call"],
    answer: (request, response) => answer(request, response),
    refuseLate: (socket) => refuseLate(socket),
  });
  server.on("connection", (socket) => void accepted.push(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  for (const socket of accepted.splice(0)) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const [clients, accepted]: [Socket[], Socket[]] = [[], []];

function open(): { socket: Socket; text: () => string; closed: Promise<unknown> } {
  const socket = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  clients.push(socket);
  let text = "";
  socket
    .on("error", () => {})
    .on("data", (data: Buffer) => {
      text += data.toString();
    });
  return { socket, text: () => text, closed: new Promise((resolve) => socket.once("end", resolve).once("close", resolve)) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function until(condition: () => boolean): Promise<void> {
  const endMs = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${String(condition)}`);
    await turn();
  }
}

/** What is alive. */
function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

const call = (body: string, more = "") =>
  `POST /call HTTP/1.1\r\nhost: a\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const other = (body: string) => `PUT /other HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
/** The bodies of whole answers, in their order. */
const answersIn = (text: string) => [...text.matchAll(/(?:call|node \/other) [^H]*/g)].map(([body]) => body.trim());

test("requests are answered in their order, however their bytes are split, calls and others", async () => {
  const message = fc.record({ isCall: fc.boolean(), body: fc.stringMatching(/^[a-z]{0,30}$/) });
  const any = fc.tuple(fc.array(message, { minLength: 1, maxLength: 5 }), fc.array(fc.nat(400), { maxLength: 4 }));
  await fc.assert(
    fc.asyncProperty(any, async ([messages, cuts]) => {
      const { socket, text } = open();
      const bytes = messages.map(({ isCall, body }) => (isCall ? call(body) : other(body))).join("");
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
      for (let at = 1; at < places.length; at++) {
        socket.write(bytes.slice(places[at - 1], places[at]));
        await turn();
        await turn();
      }
      await until(() => answersIn(text()).length === messages.length && text().endsWith(messages.at(-1)?.body ?? ""));
      const seen = answersIn(text());
      // After the first request that is none of ours, all are Node's.
      for (const [at, { isCall, body }] of messages.entries()) {
        const byNode = `node ${isCall ? "/call" : "/other"} ${body}`.trim();
        expect([byNode, ...(isCall ? [`call ${body}`.trim()] : [])]).toContain(seen[at]?.replace(/\s+$/, ""));
      }
      socket.destroy();
    }),
    { numRuns: 60 },
  );
}, 60_000);

test("a connection keeps its calls until a request is none, and is Node's from there on", async () => {
  const { socket, text } = open();
  for (const body of ["one", "two"]) {
    socket.write(call(body));
    await until(() => text().endsWith(`call ${body}`));
  }
  socket.write("GET /other HTTP/1.1\r\nhost: a\r\n\r\n");
  await until(() => text().includes("node /other"));
  socket.write(call("three"));
  await until(() => text().includes("node /call three"));
});

test("a body of 64 KiB that comes in pieces is read here, and a longer one is left to Node", async () => {
  for (const [bytes, reader] of [
    [64 * 1024, "call"],
    [64 * 1024 + 1, "node /call"],
  ] as const) {
    const { socket, text } = open();
    const message = call("b".repeat(bytes));
    for (let at = 0; at < message.length; at += 10_000) {
      socket.write(message.slice(at, at + 10_000));
      await turn();
    }
    await until(() => text().endsWith("bbb") && text().length >= bytes);
    expect(text()).toContain(`\r\n\r\n${reader} b`);
  }
});

test("requests that have not arrived are held up to 16 MiB in all, and further ones are Node's", async () => {
  const half = call("b".repeat(64 * 1024)).slice(0, -1024);
  const holding = Array.from({ length: 255 }, open);
  for (const { socket } of holding) await new Promise((resolve) => socket.write(half, resolve));
  await until(() => accepted.length === 255);
  for (let turns = 0; turns < 50; turns++) await turn();
  expect(nodesRequests).toBe(0);
  open().socket.write(half);
  await until(() => nodesRequests === 1);
  // One that leaves and one that is answered make room.
  holding[0]?.socket.resetAndDestroy();
  holding[1]?.socket.write("b".repeat(1024));
  await until(() => holding[1]?.text().endsWith("b") === true && accepted.filter(({ destroyed }) => destroyed).length === 1);
  for (let more = 0; more < 2; more++) open().socket.write(half);
  for (let turns = 0; turns < 50; turns++) await turn();
  expect(nodesRequests).toBe(1);
  open().socket.write(half);
  await until(() => nodesRequests === 2);
});

test("a body that comes byte by byte takes no more memory than its bytes", async () => {
  const body = "b".repeat(60_000);
  const { socket, text } = open();
  socket.write(call(body).slice(0, -body.length));
  await until(() => accepted.length === 1);
  for (let turns = 0; turns < 50; turns++) await turn();
  const [server] = accepted as [Socket];
  const bytes = Array.from({ length: body.length - 1 }, () => Buffer.from("b"));
  const before = heapBytes();
  // As if each came alone: packets that are sent one after the other arrive together.
  for (const byte of bytes) server.emit("data", Buffer.from(byte));
  expect(heapBytes() - before).toBeLessThan(20 * body.length);
  socket.write("b");
  await until(() => text().endsWith(`call ${body}`));
});

test("what a client sends before its answer is not read without limit", async () => {
  let running: CallResponse | undefined;
  answer = (_request, response) => {
    running = response;
  };
  const { socket } = open();
  socket.write(call("one"));
  await until(() => running !== undefined);
  const more = Buffer.alloc(64 * 1024 * 1024, call("x"));
  socket.write(more);
  const before = socket.bytesWritten;
  for (let turns = 0; turns < 200; turns++) await turn();
  expect(socket.writableLength).toBeGreaterThan(more.length / 2);
  expect(before).toBeGreaterThan(0);
});

test("a client that leaves ends its response, which was not sent; one that has its answer ends it as sent", async () => {
  const ended: [boolean, boolean][] = [];
  let running: CallResponse | undefined;
  answer = (_request, response) => {
    running = response;
    response.on("close", () => ended.push([response.writableFinished, response.destroyed]));
  };
  const leaving = open();
  leaving.socket.write(call("one"));
  await until(() => running !== undefined);
  leaving.socket.destroy();
  await until(() => ended.length === 1);
  // What is written for it later goes nowhere.
  running?.write("late");
  running?.end("late");
  running = undefined;
  const staying = open();
  staying.socket.write(call("two"));
  await until(() => running !== undefined);
  reply(running as unknown as CallResponse, "done");
  await until(() => ended.length === 2);
  staying.socket.destroy();
  await staying.closed;
  expect(ended).toEqual([
    [false, true],
    [true, false],
  ]);
});

test("a client that ends its side before its answer is left, as Node's server does", async () => {
  let isClosed = false;
  answer = (_request, response) => {
    response.on("close", () => {
      isClosed = true;
    });
  };
  const { socket, closed } = open();
  socket.end(call("one"));
  await until(() => isClosed);
  await closed;
});

test("a client that reads slowly is waited for, and the writer hears when it reads again", async () => {
  let drains = 0;
  let running: CallResponse | undefined;
  answer = (_request, response) => {
    running = response;
    response.on("drain", () => drains++);
    response.writeHead(200, []);
  };
  const { socket } = open();
  socket.pause();
  socket.write(call("one"));
  await until(() => running !== undefined);
  const response = running as unknown as CallResponse;
  while (!response.writableNeedDrain) response.write("x".repeat(1_000_000));
  expect(response.writableLength).toBeGreaterThan(0);
  socket.resume();
  await until(() => drains > 0);
  expect(response.writableNeedDrain).toBe(false);
});

test("from the announcement of a stop on, each response closes its connection; idle ones are closed by the stop, running ones answered", async () => {
  const responses: CallResponse[] = [];
  answer = (_request, response) => void responses.push(response);
  const [idle, running, later] = [open(), open(), open()];
  for (const { socket } of [idle, running]) socket.write(call("one"));
  await until(() => responses.length === 2);
  const [first, second] = responses as [CallResponse, CallResponse];
  reply(first, "first");
  await until(() => idle.text().endsWith("first") || running.text().endsWith("first"));
  calls.isStopping = true;
  later.socket.write(call("three"));
  await until(() => responses.length === 3);
  reply(responses[2] as CallResponse, "third");
  await later.closed;
  expect(later.text()).toMatch(/Connection: close\r\n/);
  calls.closeIdle();
  const [answered, waiting] = idle.text().endsWith("first") ? [idle, running] : [running, idle];
  await answered.closed;
  reply(second, "second");
  await waiting.closed;
  expect(waiting.text()).toMatch(/Connection: close\r\n[\s\S]*second$/);
});

test("what comes after the last answer of a connection, or after its refusal, is no call", async () => {
  const seen: string[] = [];
  answer = (request, response) => {
    seen.push(bodyOf(request));
    response.setHeader("connection", "close");
    setImmediate(() => reply(response, "last"));
  };
  const { socket, closed } = open();
  socket.write(call("one") + call("two"));
  await closed;
  expect(seen).toEqual(["one"]);
  late = [];
  const slow = open();
  await once(slow.socket, "connect");
  for (let turns = 0; turns < 50; turns++) await turn();
  refuseLate = (refused) => {
    late.push(refused);
    refused.write("too late");
  };
  for (let passed = 0; passed < 70_000; passed += 5000) await clock.advance(5000);
  await until(() => slow.text() === "too late");
  slow.socket.write(call("slow"));
  for (let turns = 0; turns < 50; turns++) await turn();
  expect([seen, late.length]).toEqual([["one"], 1]);
});

test("connections without a request and without the next one are closed in their time; running calls never", async () => {
  let running: CallResponse | undefined;
  answer = (request, response) => {
    if (bodyOf(request) === "long") running = response;
    else reply(response, "done");
  };
  const [fresh, idle, long] = [open(), open(), open()];
  await once(fresh.socket, "connect");
  idle.socket.write(call("one"));
  long.socket.write(call("long"));
  await until(() => running !== undefined && idle.text().endsWith("done") && accepted.length === 3);
  const isClosed = ({ socket }: { socket: Socket }) => socket.destroyed || socket.readableEnded;
  const closedAfter = async (milliseconds: number) => {
    for (let passed = 0; passed < milliseconds; passed += 5000) await clock.advance(5000);
    for (let turns = 0; turns < 50; turns++) await turn();
    return [fresh, idle, long].map(isClosed);
  };
  expect(await closedAfter(10_000)).toEqual([false, false, false]);
  expect(await closedAfter(5000)).toEqual([true, false, false]);
  expect(late).toHaveLength(1);
  expect(await closedAfter(50_000)).toEqual([true, false, false]);
  expect(await closedAfter(5000)).toEqual([true, true, false]);
  expect(await closedAfter(600_000)).toEqual([true, true, false]);
  reply(running as unknown as CallResponse, "in the end");
  await until(() => long.text().endsWith("in the end"));
});

test("a request whose body does not come is Node's after some seconds, and what came of it is not lost", async () => {
  const { socket, text } = open();
  socket.write(call("half").slice(0, -2));
  await until(() => accepted.length === 1);
  for (let turns = 0; turns < 50; turns++) await turn();
  await clock.advance(5000);
  expect(nodesRequests).toBe(0);
  await clock.advance(5000);
  await until(() => nodesRequests === 1);
  socket.write("lf");
  await until(() => text().endsWith("\r\n\r\nnode /call half"));
});

test("a client that ends its side within a request is told that it is incomplete", async () => {
  const { socket, text, closed } = open();
  socket.end(call("half").slice(0, -2));
  await closed;
  expect(text()).toMatch(/^HTTP\/1\.1 400 /);
});

test("without connections nothing wakes up", async () => {
  const { socket, text } = open();
  socket.write(call("one"));
  await until(() => text().endsWith("call one"));
  expect(clock.waiting()).toBe(1);
  socket.destroy();
  await until(() => clock.waiting() === 0);
});
