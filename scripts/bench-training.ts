/**
 * `make bench-training`: what the training participant costs, as ratios of one run on one machine. Prints figures and the aim of each;
 * asserts nothing, for the machine may be busy. LENGTH=1000000 for a quick look.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort, startProcess } from "../test/helpers/processes.ts";
import { flowerAggregate, flowerPython } from "./bench/flower.ts";
import { aggregateFigures, containerOf, mlpRowsPerSecond, parseThenDecode, runFromDisk } from "./bench/training-figures.ts";
import { framePieces, jsonPieces, postPieces } from "./bench/training-wire.ts";

const length = Number(process.env["LENGTH"] ?? 10_000_000);
const CLIENTS = 10;
const MANY = { clients: 1000, length: Math.max(1000, length / 100) };
const MIB = 1024 * 1024;

if (process.argv[2] === "from-disk") {
  runFromDisk(String(process.argv[3]), CLIENTS, length);
  console.log(process.resourceUsage().maxRSS * 1024);
} else {
  const [few, many] = [aggregateFigures(CLIENTS, length), aggregateFigures(MANY.clients, MANY.length)];
  print(
    `mean of ${CLIENTS} x ${length} float32, over reading them once (wall)`,
    few.mean.wallSeconds / few.read.wallSeconds,
    "at most 1.3",
  );
  print(
    `mean of ${MANY.clients} x ${MANY.length} float32, over reading them once (wall)`,
    many.mean.wallSeconds / many.read.wallSeconds,
    "",
  );
  await compareFlower(few.mean.cpuSeconds, many.mean.cpuSeconds);
  printPeaks();
  await printWire(few.mean.wallSeconds, { inMemory: true });
  await printWire(few.mean.wallSeconds, { inMemory: false });
  print(
    "perceptron training, WASM over plain TypeScript (rows a second)",
    mlpRowsPerSecond("wasm", 20_000) / mlpRowsPerSecond("plain", 2000),
    "at least 10",
  );
}

async function compareFlower(fewCpu: number, manyCpu: number): Promise<void> {
  const flower = await flowerPython(resolve(import.meta.dirname, "../.cache"));
  if ("reason" in flower) return console.log(`Flower could not be had here: ${flower.reason}`);
  const name = `Flower ${flower.version}`;
  print(
    `${name}: its CPU over ours, ${CLIENTS} x ${length}`,
    (await flowerAggregate(flower.python, CLIENTS, length)) / fewCpu,
    "at least 5",
  );
  print(
    `${name}: its CPU over ours, ${MANY.clients} x ${MANY.length}`,
    (await flowerAggregate(flower.python, MANY.clients, MANY.length)) / manyCpu,
    "at least 5",
  );
}

/** Peaks are of a process of its own, less what an idle one has. */
function printPeaks(): void {
  const models = 2 * length * 4 + 200 * MIB;
  for (const strategy of ["median", "trimmed_mean"]) {
    const peak = Number(execFileSync(process.execPath, [import.meta.filename, "from-disk", strategy], { encoding: "utf8" }).trim());
    print(`${strategy} of ${CLIENTS} x ${length}: peak memory over two models and 200 MB`, peak / models, "at most 1");
  }
}

/** Once with room for all clients in memory, for speed, and once as nodes are set by default, where all but 64 MB go to disk. */
async function printWire(inMemorySeconds: number, { inMemory }: { inMemory: boolean }): Promise<void> {
  console.log(inMemory ? "TRAINER_RECORD_BYTES of 2 GiB:" : "TRAINER_RECORD_BYTES of 64 MiB (default):");
  const container = containerOf(1, length);
  const base64 = Buffer.from(Buffer.from(container).toString("base64"));
  const parsed = parseThenDecode(JSON.stringify({ parameters: base64.toString("latin1") }), CLIENTS);
  const folder = mkdtempSync(join(tmpdir(), "tributary-bench-"));
  const port = await freePort();
  const env = {
    TRAINER_PORT: String(port),
    DATA_DIR: folder,
    TRAINER_TEMP_DIR: folder,
    TRAINER_THREADS: "1",
    LOG_LEVEL: "warn",
    TRAINER_RECORD_BYTES: String(inMemory ? 2 ** 31 : 64 * MIB),
  };
  const trainer = startProcess({ entry: "trainer-node/main.ts", name: "trainer", env });
  try {
    await trainer.ready;
    const url = `http://127.0.0.1:${port}/aggregate`;
    await postPieces(url, "application/octet-stream", framePieces(containerOf(1, 1000), 2));
    const octets = await postPieces(url, "application/octet-stream", framePieces(container, CLIENTS));
    const json = await postPieces(url, "application/json", jsonPieces(base64, CLIENTS));
    if (octets.status !== 200 || json.status !== 200) throw new Error(`aggregates were answered ${octets.status} and ${json.status}`);
    print(
      `octets /aggregate of ${CLIENTS} x ${length} over the in-memory mean (wall, network and answer included)`,
      octets.seconds / inMemorySeconds,
      "at most 3",
    );
    print(
      "parse-then-decode (no network, no mean) over base64 JSON /aggregate (all of it), wall",
      parsed.wallSeconds / json.seconds,
      "at least 3",
    );
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${trainer.pid}/status`, "utf8")) ?? [];
    print(
      `trainer's peak memory after both, in models of ${Math.round((length * 4) / MIB)} MB`,
      (Number(kilobytes) * 1024) / (length * 4),
      "about 3 and a fixed part",
    );
  } finally {
    await trainer.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(what: string, value: number, aim: string): void {
  console.log(`${value.toFixed(2).padStart(8)}  ${what}${aim && ` (${aim})`}`);
}
