import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { credentials, Metadata } from "@grpc/grpc-js";
import { ignore } from "../../common/ignore.ts";
import { CONTROL_TOKEN_KEY } from "../../common/peers/control-token.ts";
import { AccessServiceClient, SettleRequest } from "../../proto/gen/tributary/access/v1/access.ts";
import { UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import { call } from "../../test/helpers/api.ts";
import { federationWhen } from "../../test/helpers/federations.ts";
import { CONTROL_TOKEN, SMALL_DISK_BYTES, SPARES, type Stage } from "./stage.ts";

/** Something that is done to running processes, and the alerts that must fire because of it. */
export interface Condition {
  readonly what: string;
  readonly alerts: readonly string[];
  /** Makes the condition, and holds it until the signal. */
  hold(stage: Stage, signal: AbortSignal): Promise<void>;
}

const CALLS_AT_ONCE = 8;
/** What the rule of unsettled calls wants, and some more. */
const UNSETTLED_CALLS = 1_300;
const [FLOOD_CALLERS, FLOOD_WORDS] = [64, 5_000];
const NOT_HELD = async () => {};

/** Before the others, which take the trainer node's thread and most of the second edge's time. */
export const FIRST_CONDITIONS: readonly Condition[] = [
  { what: "round without an aggregate", alerts: ["TributaryRoundsFailing"], hold: failRound },
  { what: "certificate of 10 days", alerts: ["TributaryCertificateEndsSoon"], hold: NOT_HELD },
  { what: "disk of backups is full", alerts: ["TributaryBackupTooOld"], hold: NOT_HELD },
  { what: "5 % of the disk left", alerts: ["TributaryDiskNearlyFull"], hold: fillDisk },
];

/** Conditions of a platform whose roles all run; they are held at the same time. */
export const CONDITIONS: readonly Condition[] = [
  { what: "provider answers 500", alerts: ["TributaryCallErrors", "TributaryProviderErrors"], hold: callFailing },
  { what: "first token after 6 s", alerts: ["TributaryFirstTokenSlow"], hold: streamSlow },
  { what: "edge gets no processor time", alerts: ["TributaryEventLoopSlow"], hold: slowEdge },
  { what: "one call settled twice, differently", alerts: ["TributarySettlementRefused"], hold: settleTwice },
  { what: "24 long tasks, one thread", alerts: ["TributaryTrainerQueueLong"], hold: floodTrainer },
  { what: "mongod stopped for 3.5 s of 4", alerts: ["TributaryTransactionsSlow"], hold: slowStore },
];

/** By itself: the calls that the edge does serve would hide the errors of others. */
export const OVERLOAD: Condition = { what: "more calls than the edge serves", alerts: ["TributaryOverloaded"], hold: floodEdge };

/** After the others: the store is away for as long as it is held. */
export const STORE_AWAY: Condition = {
  what: "mongod stopped",
  alerts: ["TributaryStoreUnreachable", "TributarySlotsWithoutOwner"],
  hold: async ({ mongo }, signal) => {
    mongo.pause(0);
    await aborted(signal);
    mongo.resume(0);
  },
};

/** The control plane of both edges is dead meanwhile, and calls go on at one of them. */
export const CONTROL_PLANE_AWAY: Condition = {
  what: "control plane killed",
  alerts: [
    "TributaryControlPlaneDown",
    "TributaryMirrorStale",
    "TributaryEdgeNotReady",
    "TributaryJournalLag",
    "TributaryUnsettledCallsGrowing",
    "TributaryCoordinatorCannotGetWork",
  ],
  hold: async ({ platform, smallEdge, tenant }, signal) => {
    await echo(smallEdge.url, tenant.key);
    await platform.kill("tributary-control-plane");
    let left = UNSETTLED_CALLS;
    await Promise.all(
      Array.from({ length: CALLS_AT_ONCE }, async () => {
        while (left-- > 0 && !signal.aborted) await echo(smallEdge.url, tenant.key);
      }),
    );
    await aborted(signal);
  },
};

const echo = (url: string, key: string) => chat(url, key, { model: "echo" });

function chat(url: string, key: string, more: object): Promise<unknown> {
  const body = { messages: [{ role: "user", content: "hello" }], ...more };
  const headers = { authorization: `Bearer ${key}` };
  return ignore(call(url, "POST", "/v1/chat/completions", { headers, body }), "an edge that is stopped or dead may end a connection");
}

/** The edge gets its disk back afterwards: the conditions that follow need a journal with room for their calls. */
async function fillDisk({ platform, smallEdge }: Stage, signal: AbortSignal): Promise<void> {
  const inside = join(`/proc/${platform.pid(SPARES.edge)}/root`, smallEdge.dataDir, "filler");
  writeFileSync(inside, Buffer.alloc(Math.floor(SMALL_DISK_BYTES * 0.94)));
  await aborted(signal);
  rmSync(inside);
}

async function callFailing({ platform, tenant }: Stage, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await chat(platform.url, tenant.key, { model: "failing" });
    await sleep(200);
  }
}

async function streamSlow({ platform, tenant }: Stage, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await Promise.all([1, 2, 3].map(() => chat(platform.url, tenant.key, { model: "slow", stream: true })));
}

/** Prompts that cost the edge more than they cost this process, from more callers than it can answer at once. */
async function floodEdge({ smallEdge, tenant }: Stage, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "hello, ".repeat(FLOOD_WORDS) }], max_tokens: 1 });
  const headers = { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" };
  const flooding = Array.from({ length: FLOOD_CALLERS }, async () => {
    while (!signal.aborted) {
      const answer = await fetch(`${smallEdge.url}/v1/chat/completions`, { method: "POST", headers, body });
      await answer.arrayBuffer();
    }
  });
  await Promise.all(flooding);
}

/** Stops the edge for two thirds of the time. */
async function slowEdge({ platform }: Stage, signal: AbortSignal): Promise<void> {
  const edgePid = platform.pid(SPARES.edge);
  while (!signal.aborted) {
    process.kill(edgePid, "SIGSTOP");
    await sleep(650);
    process.kill(edgePid, "SIGCONT");
    // Enough for a scrape, which Prometheus awaits for a second.
    await sleep(250);
  }
}

async function settleTwice({ platform, tenant }: Stage): Promise<void> {
  const client = new AccessServiceClient(platform.controlAddress, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set(CONTROL_TOKEN_KEY, CONTROL_TOKEN);
  const settle = (latencyMs: number) =>
    new Promise<Error | null>((settled) => {
      const request = SettleRequest.fromPartial({ edgeId: "edge-of-alerts", settlements: [{ log: logOf(latencyMs) }] });
      client.settle(request, metadata, (error) => settled(error));
    });
  const { organizationId, teamId, keyId: apiKeyId } = tenant;
  const at = new Date();
  const logOf = (latencyMs: number) =>
    UsageLog.fromPartial({
      ...{ callId: "call_settled_twice", createdAt: at, completedAt: at, organizationId, teamId, apiKeyId, latencyMs },
      ...{ endpoint: "/chat/completions", model: "echo", provider: "echo", type: "chat", status: "success", httpStatus: 200, usage: {} },
    });
  const [first, second] = [await settle(1), await settle(2)];
  client.close();
  if (first || !second) throw new Error(`the first settlement: ${String(first)}, the second: ${String(second)}`);
}

async function failRound({ platform, tenant, trainerUrl }: Stage): Promise<void> {
  // No node has this dataset.
  const task = { name: "softmax", config: { epochs: 1, batch_size: 16, lr: 0.05 }, dataset: { name: "nothing" } };
  const body = { name: "fails", task, rounds: 1, participants: [{ url: trainerUrl }] };
  const made = await call(platform.url, "POST", "/training/federations", { token: tenant.token, body });
  if (made.status !== 201) throw new Error(`the federation was not made: ${made.text}`);
  await federationWhen(platform, { token: tenant.token, id: made.body.federation.id, withinMs: 60_000 });
}

async function floodTrainer({ trainerUrl }: Stage, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify({ dataset: { name: "digits" }, config: { epochs: 1000, batch_size: 1 } });
  const tasks = Array.from({ length: 24 }, () => fetch(`${trainerUrl}/train`, { method: "POST", body, signal }));
  await Promise.allSettled(tasks);
}

/** Each transaction that meets the pause takes longer than the rule allows. */
async function slowStore({ mongo }: Stage, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    mongo.pause(0);
    await sleep(3_500);
    mongo.resume(0);
    await sleep(500);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((settle) => {
    if (signal.aborted) settle();
    else signal.addEventListener("abort", () => settle(), { once: true });
  });
}
