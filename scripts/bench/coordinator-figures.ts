import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { COORDINATOR_ENV } from "../../common/node-flags.ts";
import { call, newTenant } from "../../test/helpers/api.ts";
import { federationWhen } from "../../test/helpers/federations.ts";
import { startSystem } from "../../test/helpers/system.ts";
import { giveBack } from "../../trainer-node/stream/give-back.ts";
import { containerOf } from "./training-figures.ts";

/** The compile cache, as `make run` sets it, so that the compiler does not take memory. */
const compiled = join(import.meta.dirname, "../../.cache/compiled");

interface RoundFigures {
  /** Of the second round, in which participants also receive a model. */
  readonly seconds: number;
  /** Of the whole coordinator process, over both rounds. */
  readonly peakBytes: number;
  readonly restBytes: number;
}

/** Two rounds through a real coordinator with participants that respond immediately, so that the figure is the coordinator's own cost. */
async function coordinatorRound({ clients, answer }: { clients: number; answer: Answer }): Promise<RoundFigures> {
  const system = await startSystem({
    coordinator: true,
    env: { LOG_LEVEL: "warn", COORDINATOR_POLL_MS: "50", NODE_COMPILE_CACHE: compiled, ...COORDINATOR_ENV },
  });
  const crowd = await answerAtOnce(answer);
  try {
    const pid = system.coordinator?.pid ?? 0;
    const restBytes = peakBytes(pid);
    const { token } = await newTenant(system, { name: "bench" });
    const { body } = await call(system.url, "POST", "/training/federations", {
      token,
      body: {
        task: "softmax",
        rounds: 2,
        minResults: clients,
        eval: { mode: "none" },
        participants: Array.from({ length: clients }, (_, index) => ({ url: `${crowd.url}/${index}` })),
      },
    });
    const { id } = body.federation;
    const federation = await federationWhen(system, { token, id, withinMs: 300_000 });
    if (federation.state !== "completed") throw new Error(`the federation ${federation.state}: ${JSON.stringify(federation.failure)}`);
    const { body: rounds } = await call(system.url, "GET", `/training/federations/${id}/rounds`, { token });
    const { openedAt, committedAt } = rounds.data[1];
    return { seconds: (Date.parse(committedAt) - Date.parse(openedAt)) / 1000, peakBytes: peakBytes(pid), restBytes };
  } finally {
    crowd.close();
    await system.stop();
  }
}

type Answer = (who: number, request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Every path is a separate participant. */
async function answerAtOnce(answer: Answer): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    const who = Number(/^\/(\d+)/.exec(request.url ?? "")?.[1] ?? 0);
    void answer(who, request, response);
  }).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}

/**
 * A trainer node, whose update differs from the others in its first number: updates of real participants differ there, and a coordinator can
 * sort them without reading them whole. Data sent to a participant is drained and freed at once, because on one machine its garbage
 * collection would be part of the figure.
 */
function trainerNode(length: number): Answer {
  const bytes = Buffer.from(containerOf(1, length));
  const begin = bytes.byteLength - length * Float32Array.BYTES_PER_ELEMENT;
  return async (who, request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify({ formats: ["safetensors"] }));
    await once(request.on("data", giveBack), "end");
    const first = Buffer.alloc(Float32Array.BYTES_PER_ELEMENT);
    first.writeFloatLE(who / 7);
    response.setHeader("content-type", "application/octet-stream");
    response.setHeader("content-length", String(bytes.byteLength));
    response.setHeader("x-result", JSON.stringify({ num_samples: who + 1 }));
    for (const part of [bytes.subarray(0, begin), first]) response.write(part);
    response.end(bytes.subarray(begin + first.byteLength));
  };
}

/** A FLock node with a pickle, in base64, whose third byte is its own. All aggregate to the same bytes. */
function flockNode(length: number): Answer {
  const text = Buffer.from(Buffer.alloc(length * Float32Array.BYTES_PER_ELEMENT, Buffer.of(0x80, 4, 200)).toString("base64"));
  return async (who, request, response) => {
    const [, , route] = (request.url ?? "").split("/");
    if (request.method === "GET") return void response.writeHead(route === "v1" ? 404 : 405).end();
    await once(request.on("data", giveBack), "end");
    response.write('{"parameters":"');
    response.write(route === "train" ? Buffer.of(0x80, 4, who).toString("base64") : text.subarray(0, 4));
    response.write(text.subarray(4));
    response.end('"}');
  };
}

/** Peak memory of this process since its start. */
function peakBytes(pid: number): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** Prints the row of `make bench-training` and returns the seconds of the round. */
export async function printCoordinatorRound(print: (what: string, value: number, aim: string) => void, length: number): Promise<number> {
  const clients = 10;
  const { seconds, peakBytes: peak, restBytes } = await coordinatorRound({ clients, answer: trainerNode(length) });
  const bound = 3 * length * 4 + 80e6;
  print(`coordinator, a round of ${clients} x ${length}: its whole peak memory over three models and 80 MB`, peak / bound, "at most 1");
  print("  the same in megabytes", peak / 1e6, "");
  print("  of which it had before its first round, in megabytes", restBytes / 1e6, "");
  print("  seconds from opening the round to its commit, participants answering at once", seconds, "at most 3 on an idle machine");
  return seconds;
}

/** Prints the row of FLock's JSON dialect, with models of 100 MB at the default length. */
export async function printFlockRound(print: (what: string, value: number, aim: string) => void, length: number): Promise<void> {
  const [clients, numbers] = [5, length * 2.5];
  const { seconds, peakBytes: peak, restBytes } = await coordinatorRound({ clients, answer: flockNode(numbers) });
  const model = numbers * Float32Array.BYTES_PER_ELEMENT;
  print(
    `coordinator, a round of ${clients} FLock participants with pickles of ${model / 1e6} MB in JSON: peak memory above rest, in models`,
    (peak - restBytes) / model,
    "at most 3",
  );
  print("  seconds from opening the round to its commit", seconds, "");
}
