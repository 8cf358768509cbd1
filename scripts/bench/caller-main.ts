/**
 * The load generator of `make bench-overload` and `make bench-soak`: connections of bare sockets, each of which calls again when it has its answer.
 * A process of its own that takes a few microseconds a call, so that what it measures is the edge. See caller.ts.
 */
import { connect, type Socket } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { AnswerReader } from "./answer-reader.ts";
import type { CallerReport, CallerTask } from "./caller.ts";
import { percentile } from "./load.ts";

process.on("message", async (task: CallerTask) => process.send?.(await run(task)));
process.on("disconnect", () => process.exit(0));
process.send?.("ready");

/** After a connection that was closed without an answer. */
const RECONNECT_MS = 1000;
const SPREAD_MS = 100;

interface Tally {
  readonly answered: number[];
  readonly refused: number[];
  /** First calls of connections, which contain the time until they were accepted. */
  readonly connecting: number[];
  readonly firstEvent: number[];
  readonly firstText: number[];
  broken: number;
  readonly statuses: Record<string, number>;
}

async function run(task: CallerTask): Promise<CallerReport> {
  const tally: Tally = { answered: [], refused: [], connecting: [], firstEvent: [], firstText: [], broken: 0, statuses: {} };
  const idle = await openIdle(task);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const untilMs = performance.now() + task.seconds * 1000;
  await Promise.all(Array.from({ length: task.callers }, () => new Caller(task, tally, untilMs).ended));
  delay.disable();
  const lostIdle = idle.filter((socket) => socket.destroyed).length;
  for (const socket of idle) socket.destroy();
  const times = (values: readonly number[]) => ({ p50: percentile(values, 0.5), p99: percentile(values, 0.99) });
  return {
    answered: tally.statuses["200"] ?? 0,
    refused: Object.entries(tally.statuses).reduce((sum, [status, count]) => sum + (status === "200" ? 0 : count), 0),
    broken: tally.broken + lostIdle,
    statuses: tally.statuses,
    answeredMs: times(tally.answered),
    refusedMs: times(tally.refused),
    connectingMs: times(tally.connecting),
    firstEventMs: times(tally.firstEvent),
    firstTextMs: times(tally.firstText),
    ownDelayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - 5),
  };
}

/** Connections that are open and never called. */
async function openIdle({ url, idle = 0 }: CallerTask): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  while (sockets.length < idle) {
    const batch = Array.from({ length: Math.min(200, idle - sockets.length) }, () => connect(Number(port), hostname));
    await Promise.all(
      batch.map(
        (socket) =>
          new Promise<void>((resolve, reject) => {
            socket.once("connect", resolve).once("error", reject);
          }),
      ),
    );
    for (const socket of batch) socket.on("error", () => socket.destroy());
    sockets.push(...batch);
  }
  return sockets;
}

/** One connection, opened again when it is closed. */
class Caller {
  readonly ended: Promise<void>;
  readonly #task: CallerTask;
  readonly #tally: Tally;
  readonly #untilMs: number;
  readonly #request: Buffer;
  readonly #address: { readonly port: number; readonly host: string };
  #end: () => void = () => undefined;
  #socket: Socket | undefined;
  #reader = new AnswerReader();
  #beganMs = 0;
  #isConnecting = true;

  constructor(task: CallerTask, tally: Tally, untilMs: number) {
    [this.#task, this.#tally, this.#untilMs] = [task, tally, untilMs];
    const { hostname: host, port } = new URL(task.url);
    this.#address = { host, port: Number(port) };
    const headers = { host: `${host}:${port}`, "content-type": "application/json", ...task.headers };
    const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(task.body) }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    this.#request = Buffer.from(`POST /v1/chat/completions HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${task.body}`);
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    setTimeout(() => this.#call(), Math.random() * (task.spreadMs ?? SPREAD_MS));
  }

  #call(): void {
    if (performance.now() >= this.#untilMs) {
      this.#socket?.destroy();
      this.#end();
      return;
    }
    this.#socket ??= this.#open();
    this.#reader = new AnswerReader();
    this.#beganMs = performance.now();
    this.#socket.write(this.#request);
  }

  #open(): Socket {
    this.#isConnecting = true;
    const socket = connect({ ...this.#address, noDelay: true });
    socket.on("data", (chunk) => this.#read(chunk));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      if (this.#beganMs === 0) return;
      this.#tally.broken++;
      this.#later(this.#task.isHasty ? 0 : RECONNECT_MS);
    });
    return socket;
  }

  #read(chunk: Buffer): void {
    const { hasEvent, hasText } = this.#reader;
    const isComplete = this.#reader.add(chunk);
    const tookMs = performance.now() - this.#beganMs;
    if (!hasEvent && this.#reader.hasEvent) this.#tally.firstEvent.push(tookMs);
    if (!hasText && this.#reader.hasText) this.#tally.firstText.push(tookMs);
    if (!isComplete) return;
    const { status, retryAfterMs } = this.#reader;
    this.#beganMs = 0;
    this.#tally.statuses[status] = (this.#tally.statuses[status] ?? 0) + 1;
    if (this.#isConnecting) this.#tally.connecting.push(tookMs);
    else (status === 200 ? this.#tally.answered : this.#tally.refused).push(tookMs);
    this.#isConnecting = false;
    if (status === 200) this.#call();
    else this.#later(this.#task.isHasty ? 0 : (retryAfterMs ?? RECONNECT_MS));
  }

  #later(waitMs: number): void {
    if (waitMs === 0) this.#call();
    else setTimeout(() => this.#call(), waitMs);
  }
}
