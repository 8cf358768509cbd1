/**
 * `make bench-training`: costs of the training participant, as ratios of one run on one machine. Prints each figure with its target;
 * asserts nothing, because the machine may have other load. LENGTH=1000000 for a quick run.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort, startProcess } from "../test/helpers/processes.ts";
import { printCoordinatorRound, printFlockRound } from "./bench/coordinator-figures.ts";
import { cpuSeconds } from "./bench/cpu.ts";
import { flowerAggregate, flowerPython } from "./bench/flower.ts";
import { printFlowerRound, printTinyRounds } from "./bench/round-figures.ts";
import { printSimulation } from "./bench/simulation-figures.ts";
import { aggregateFigures, containerOf, mlpRowsPerSecond, runFromDisk } from "./bench/training-figures.ts";
import { aggregateInMemory, parseThenDecode, readJsonStreamed } from "./bench/training-memory.ts";
import { framePieces, jsonPieces, postPieces } from "./bench/training-wire.ts";

const length = Number(process.env["LENGTH"] ?? 10_000_000);
const CLIENTS = 10;
const STREAMED_CLIENTS = 100;
const MANY = { clients: 1000, length: Math.max(1000, length / 100) };
const MIB = 1024 * 1024;

if (process.argv[2] === "from-disk") {
  runFromDisk(String(process.argv[3]), CLIENTS, length);
  console.log(peakBytes("self"));
} else if (process.argv[2] === "discard") {
  serveDiscarding();
} else {
  const [few, many] = [aggregateFigures(CLIENTS, length), aggregateFigures(MANY.clients, MANY.length)];
  for (const [{ mean, read, copy }, clients, size, aim] of [
    [few, CLIENTS, length, "at most 1.3"],
    [many, MANY.clients, MANY.length, ""],
  ] as const) {
    print(`mean of ${clients} x ${size} float32, over reading them once by a SIMD sum (CPU)`, mean.cpuSeconds / read.cpuSeconds, aim);
    print("  the same over the system's memory copy of them to a block in cache (CPU)", mean.cpuSeconds / copy.cpuSeconds, "");
    print("  the same over the SIMD sum by wall time, which other work disturbs", mean.wallSeconds / read.wallSeconds, "");
  }
  const flower = await flowerPython(resolve(import.meta.dirname, "../.cache"));
  if ("reason" in flower) console.log(`Flower could not be had here: ${flower.reason}`);
  else await compareFlower(flower, few.mean.cpuSeconds, many.mean.cpuSeconds);
  printPeaks();
  const container = containerOf(1, length);
  const base64 = Buffer.from(Buffer.from(container).toString("base64"));
  const whole = await aggregateInMemory(() => framePieces(container, CLIENTS));
  print(
    "all of /aggregate without a network (reading, checks, mean, reports, hash, answer), over the mean alone (CPU)",
    whole.cpuSeconds / few.mean.cpuSeconds,
    "",
  );
  const body = () => jsonPieces(base64, CLIENTS);
  const [parsed, streamed] = [parseThenDecode(body), readJsonStreamed(body)];
  print(
    "base64 JSON to checked tensors: parsed whole and then decoded, over our stream (CPU, no network)",
    parsed.cpuSeconds / streamed.cpuSeconds,
    "at least 3",
  );
  for (const inMemory of [true, false])
    await printWire({ meanSeconds: few.mean.wallSeconds, wholeSeconds: whole.wallSeconds, container, base64, inMemory });
  await printManyStreamed(container, base64);
  const ourSeconds = await printCoordinatorRound(print, length);
  await printFlockRound(print, length);
  if ("python" in flower) await printFlowerRound(print, { ...flower, length, ourSeconds });
  await printTinyRounds(print);
  await printSimulation(print);
  print(
    "perceptron training, WASM over plain TypeScript (rows a second)",
    mlpRowsPerSecond("wasm", 20_000) / mlpRowsPerSecond("plain", 2000),
    "at least 10",
  );
}

async function compareFlower(flower: { python: string; version: string }, fewCpu: number, manyCpu: number): Promise<void> {
  const name = `Flower ${flower.version}`;
  for (const [clients, size, ours] of [
    [CLIENTS, length, fewCpu],
    [MANY.clients, MANY.length, manyCpu],
  ] as const) {
    const { bare, fedAvg } = await flowerAggregate(flower.python, clients, size);
    print(
      `${name}: CPU of its FedAvg over replies' records, over that of our mean over records, ${clients} x ${size}`,
      fedAvg / ours,
      "at least 5",
    );
    print("  the same of its bare function over numpy arrays", bare / ours, "at least 5");
  }
}

/** Peak memory is that of a separate process, including the interpreter. */
function printPeaks(): void {
  const models = 2 * length * 4 + 200 * MIB;
  for (const strategy of ["median", "trimmed_mean"]) {
    const peak = Number(execFileSync(process.execPath, [import.meta.filename, "from-disk", strategy], { encoding: "utf8" }).trim());
    print(`${strategy} of ${CLIENTS} x ${length}: peak memory over two models and 200 MB`, peak / models, "at most 1");
  }
}

interface WireInput {
  readonly meanSeconds: number;
  readonly wholeSeconds: number;
  readonly container: Uint8Array;
  readonly base64: Uint8Array;
  readonly inMemory: boolean;
}

/** Once with all clients in memory, for speed, and once with default settings, where all but 64 MB go to disk. */
async function printWire(input: WireInput): Promise<void> {
  const { inMemory, container, base64 } = input;
  console.log(inMemory ? "TRAINER_RECORD_BYTES of 2 GiB:" : "TRAINER_RECORD_BYTES of 64 MiB (default):");
  await withTrainer(inMemory ? 2 ** 31 : 64 * MIB, async ({ url, pid }) => {
    // A first run warms up the threads.
    await postFrames(url, container, CLIENTS);
    const { seconds, cpuSeconds: cpu } = await leastCost(pid, () => postFrames(url, container, CLIENTS));
    const bare = await discardCost(container);
    print(`octets /aggregate of ${CLIENTS} x ${length} over the same without a network (wall)`, seconds / input.wholeSeconds, "at most 3");
    print("  the same over a bare node:http server that throws the body away (wall)", seconds / bare.seconds, "");
    print("  the same (CPU)", cpu / bare.cpuSeconds, "");
    print("  the same over the in-memory mean alone (wall)", seconds / input.meanSeconds, "");
    print(
      "  that bare server over the in-memory mean alone, which no server in Node.js can go below (wall)",
      bare.seconds / input.meanSeconds,
      "",
    );
    const json = await postPieces(url, "application/json", jsonPieces(base64, CLIENTS));
    if (json.status !== 200) throw new Error(`an aggregate of JSON was answered ${json.status}`);
    print("base64 JSON /aggregate over the octets one (wall)", json.seconds / seconds, "");
  });
}

/** Memory of a node while many clients stream in: each is on disk before the next is read. */
async function printManyStreamed(container: Uint8Array, base64: Uint8Array): Promise<void> {
  for (const [name, type, pieces] of [
    ["octets", "application/octet-stream", () => framePieces(container, STREAMED_CLIENTS)],
    ["base64 JSON", "application/json", () => jsonPieces(base64, STREAMED_CLIENTS)],
  ] as const) {
    await withTrainer(64 * MIB, async ({ url, pid }) => {
      const rest = peakBytes(pid);
      const { status } = await postPieces(url, type, pieces());
      if (status !== 200) throw new Error(`an aggregate of ${name} was answered ${status}`);
      const [peak, model] = [peakBytes(pid), length * 4];
      print(
        `peak memory of ${name} /aggregate of ${STREAMED_CLIENTS} x ${length} above the node at rest, in models of ${model / 1e6} MB`,
        (peak - rest) / model,
        "about 3",
      );
      print("  the same in all, in megabytes", peak / 1e6, "");
    });
  }
}

async function withTrainer(recordBytes: number, work: (trainer: { url: string; pid: number }) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-bench-"));
  const port = await freePort();
  const env = {
    TRAINER_PORT: String(port),
    DATA_DIR: folder,
    TRAINER_TEMP_DIR: folder,
    TRAINER_THREADS: "1",
    LOG_LEVEL: "warn",
    TRAINER_RECORD_BYTES: String(recordBytes),
  };
  const trainer = startProcess({ entry: "trainer-node/main.ts", name: "trainer", env });
  try {
    await trainer.ready;
    await work({ url: `http://127.0.0.1:${port}/aggregate`, pid: trainer.pid ?? 0 });
  } finally {
    await trainer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function postFrames(url: string, container: Uint8Array, clients: number): Promise<number> {
  const { status, seconds } = await postPieces(url, "application/octet-stream", framePieces(container, clients));
  if (status !== 200) throw new Error(`an aggregate of octets was answered ${status}`);
  return seconds;
}

interface CallCost {
  readonly seconds: number;
  /** Of the server process. */
  readonly cpuSeconds: number;
}

/** The minimum of several calls, for time and CPU. */
async function leastCost(pid: number, call: () => Promise<number>): Promise<CallCost> {
  const costs: CallCost[] = [];
  for (let run = 0; run < 3; run++) {
    const before = cpuSeconds(pid);
    const seconds = await call();
    costs.push({ seconds, cpuSeconds: cpuSeconds(pid) - before });
  }
  return { seconds: Math.min(...costs.map((one) => one.seconds)), cpuSeconds: Math.min(...costs.map((one) => one.cpuSeconds)) };
}

/** The lower bound: a server that ignores the same body. */
async function discardCost(container: Uint8Array): Promise<CallCost> {
  const child = spawn(process.execPath, [import.meta.filename, "discard"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const port = await new Promise<string>((resolve) => child.stdout.once("data", (text: Buffer) => resolve(String(text).trim())));
    const url = `http://127.0.0.1:${port}/`;
    await postFrames(url, container, CLIENTS);
    return await leastCost(child.pid ?? 0, () => postFrames(url, container, CLIENTS));
  } finally {
    child.kill();
  }
}

function serveDiscarding(): void {
  const server = createServer((request, response) => {
    request.on("data", () => {});
    request.on("end", () => response.end());
  });
  server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
}

/** Of the process itself, because a child inherits the value of resourceUsage from its parent. */
function peakBytes(process: number | "self" | undefined): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${process}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

function print(what: string, value: number, aim: string): void {
  console.log(`${value.toFixed(2).padStart(8)}  ${what}${aim && ` (${aim})`}`);
}
