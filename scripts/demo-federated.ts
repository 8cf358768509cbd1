/**
 * `make demo-federated`: ten participants train digits together, three of them attackers; the coordinator is killed twice meanwhile. The
 * result is published, called with a key and billed; the participants are paid, and count their training calls.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { call, newTenant, type Tenant } from "../test/helpers/api.ts";
import { federationWhen } from "../test/helpers/federations.ts";
import { type System, startSystem } from "../test/helpers/system.ts";
import { type Crowd, startCrowd } from "./demo/crowd.ts";
import { print, printCurve } from "./demo/print-curve.ts";
import { showProgress } from "./demo/progress.ts";

const ROUNDS = Number(process.argv[2] ?? 20);
const BUDGET_NANO_USD = 1_000_003;
const root = join(import.meta.dirname, "..");
const digits = readFileSync(join(root, "trainer-node/compute/datasets/digits.txt"), "utf8").trimEnd().split("\n");

// All child processes end with this one.
process.setMaxListeners(50);
const system = await startSystem({
  coordinator: true,
  trainer: true,
  env: { COORDINATOR_LEASE_MS: "1500", COORDINATOR_POLL_MS: "100", TRAINER_THREADS: "1" },
});
let crowd: Crowd | undefined;
try {
  crowd = await startCrowd({ root, digits });
  print(`${crowd.members.length} participants: ${crowd.kinds.join(", ")}; three of the trainer nodes are attackers`);
  process.exitCode = (await demonstrate(crowd)) ? 0 : 1;
} finally {
  await crowd?.stop();
  await system.stop();
}

async function demonstrate(participants: Crowd): Promise<boolean> {
  const owner = await newTenant(system, { name: "owner", creditNano: 10_000_000_000 });
  const partner = await newTenant(system, { name: "partner" });
  const mean = await federate({ owner, partner, participants, strategy: { name: "mean" }, rounds: Math.min(5, ROUNDS), kills: 0 });
  print(`the mean under attack: accuracy ${mean.accuracy.toFixed(3)} after ${mean.rounds} rounds`);
  const robust = await federate({ owner, partner, participants, strategy: { name: "trimmed_mean", beta: 0.3 }, rounds: ROUNDS, kills: 2 });
  print(
    `the trimmed mean under the same attack: accuracy ${robust.accuracy.toFixed(3)} after ${robust.rounds} rounds; the coordinator was killed twice`,
  );
  print(
    `the participants counted ${robust.asked} calls to train for ${robust.rounds} rounds of ${participants.members.length}; of ${robust.watched} updates that were accepted when it was killed, ${robust.askedAgain} were asked for again`,
  );
  const checks = {
    "the robust rule beats the mean": robust.accuracy > mean.accuracy + 0.2 && robust.accuracy > 0.85,
    "no accepted update was asked for again": robust.askedAgain === 0 && robust.watched > 0,
    "the record can be made again": robust.verified,
    "rewards sum to the budget in every round": robust.paidExactly,
    "a published model answers and is billed": await serve(system, owner, robust.id),
  };
  const { body } = await call(system.url, "GET", "/api/quota", { token: partner.token });
  print(`the partner's organization was paid ${body.quota.totalRewarded} nano-USD for its participants`);
  for (const [what, isTrue] of Object.entries(checks)) print(`${isTrue ? "yes" : "NO "}  ${what}`);
  return Object.values(checks).every(Boolean);
}

interface Plan {
  owner: Tenant;
  partner: Tenant;
  participants: Crowd;
  strategy: object;
  rounds: number;
  kills: number;
}

async function federate({ owner, partner, participants, strategy, rounds, kills }: Plan) {
  const { members } = participants;
  const { body } = await call(system.url, "POST", "/training/federations", {
    token: owner.token,
    body: {
      name: "digits",
      task: { name: "softmax", config: { epochs: 2, batch_size: 10, lr: 0.3 } },
      eval: { mode: "held_out", participant: 0, dataset: "digits" },
      strategy,
      rounds,
      minResults: members.length,
      budgetNanoUsd: BUDGET_NANO_USD,
      participants: members.map(({ proxy, dataset }, index) => ({
        url: proxy.url,
        ...(dataset === undefined ? {} : { dataset }),
        ...(index % 2 === 1 ? { organizationId: partner.organizationId } : {}),
      })),
    },
  });
  const { id } = body.federation;
  const killAt = Array.from({ length: kills }, (_, index) => Math.floor(((index + 1) * rounds) / (kills + 1)));
  const settled: { member: number; key: string; calls: number }[] = [];
  const askedBefore = callsOf(participants);
  const progress = showProgress({ url: system.url, token: owner.token, id, rounds });
  for (const round of killAt) {
    await federationWhen(system, { token: owner.token, id, isDone: ({ head }) => (head?.round ?? 0) >= round, withinMs: 300_000 });
    // In the middle of a round: some updates have arrived, others have not.
    while ((await acceptedNow(owner, id, participants)).length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
    await system.killCoordinator();
    settled.push(...(await acceptedNow(owner, id, participants)));
    print(`killed the coordinator in or after round ${round + 1}; ${settled.length} accepted updates are watched`);
  }
  const federation = await federationWhen(system, { token: owner.token, id, withinMs: 600_000 });
  await progress.stop();
  if (federation.state !== "completed") throw new Error(`the federation ${federation.state}: ${JSON.stringify(federation.failure)}`);
  const history = await allRounds(owner, id);
  printCurve(history.map(({ accuracy }) => accuracy));
  const verified = await call(system.url, "GET", `/training/federations/${id}/verify`, { token: owner.token });
  return {
    id,
    rounds: history.length,
    accuracy: Number(federation.head.accuracy),
    verified: verified.body.ok === true && verified.body.remade === history.length,
    paidExactly: history.every(({ participants: paid }) => paid.reduce((sum, { reward }) => sum + reward, 0) === BUDGET_NANO_USD),
    asked: callsOf(participants) - askedBefore,
    askedAgain: settled.filter(({ member, key, calls }) => (members[member]?.proxy.calls.get(key) ?? 0) !== calls).length,
    watched: settled.length,
  };
}

/** Number of training calls, as counted by the participants. */
function callsOf({ members }: Crowd): number {
  return members.flatMap(({ proxy }) => [...proxy.calls.values()]).reduce((sum, calls) => sum + calls, 0);
}

interface RoundShown {
  round: number;
  accuracy: number;
  participants: { participantId: string; state: string; reward: number }[];
}

async function allRounds({ token }: Tenant, id: string): Promise<RoundShown[]> {
  return (await call(system.url, "GET", `/training/federations/${id}/rounds?pageSize=100`, { token })).body.data;
}

/** Accepted updates of the open round, and the number of training calls of each participant. */
async function acceptedNow(owner: Tenant, id: string, { members }: Crowd): Promise<{ member: number; key: string; calls: number }[]> {
  const open = (await allRounds(owner, id)).at(-1);
  return (open?.participants ?? []).flatMap(({ participantId, state }) => {
    const member = Number(participantId.slice(1)) - 1;
    const key = `${id}/${open?.round}`;
    const calls = members[member]?.proxy.calls.get(key);
    return state === "accepted" && calls !== undefined ? [{ member, key, calls }] : [];
  });
}

/** Publishes the trained model and calls it through the official client, with the owner's key. */
async function serve({ url }: System, owner: Tenant, id: string): Promise<boolean> {
  const published = await call(url, "POST", `/training/federations/${id}/publish`, {
    token: owner.token,
    body: { model: "our-digits", pricing: { unit: "call", input: 1_000_000_000_000, output: 0 } },
  });
  if (published.status !== 201) {
    print(`publish failed with ${published.status}: ${published.text.slice(0, 300)}`);
    return false;
  }
  const line = digits.at(-1) ?? "";
  const row = [...line.slice(0, 64)].map((digit) => Number.parseInt(digit, 17) / 16);
  const before = (await call(url, "GET", "/api/balance", { token: owner.token })).body.balance;
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: owner.key });
  const answer = await openai.chat.completions.create({
    model: "our-digits",
    messages: [{ role: "user", content: JSON.stringify(row) }],
  });
  const after = (await call(url, "GET", "/api/balance", { token: owner.token })).body.balance;
  const label = answer.choices[0]?.message.content;
  print(`called through the OpenAI client, the model labels a ${line.at(-1)} as ${label}; the call cost ${before - after} nano-USD`);
  return before > after;
}
