import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { adminToken, call } from "../../test/helpers/api.ts";
import { CLUSTER_SECRET_KEY, type Cluster } from "../../test/helpers/cluster.ts";
import { makeOrganizations } from "../../test/helpers/organizations.ts";
import { percentile } from "../bench/load.ts";
import type { LimitReport } from "./limits.ts";

const MINUTE_MS = 60_000;
const CREDIT_NANO = 1_000_000_000n;
/** Before the minutes that count: all processes have just started, and none has compiled its code. */
const WARM_CALLS = 1_500;
const BODY = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "one two" }], max_tokens: 5 });
/** Of the caller to each edge: far more than calls that are under way. */
const CONNECTIONS = 512;

/**
 * Every organization makes one call a minute, evenly over the minute and over the edges, whether earlier calls have been answered or not.
 * So each call finds no lease at its edge: a lease that is not used is given back within seconds.
 */
export async function callFromMany(
  cluster: Cluster,
  { organizations, minutes }: { organizations: number; minutes: number },
): Promise<LimitReport> {
  const beganMs = performance.now();
  const made = await makeOrganizations(
    { uri: cluster.store.uri, secretKey: CLUSTER_SECRET_KEY },
    { count: organizations, creditNano: CREDIT_NANO },
  );
  console.log(`${organizations} organizations made in ${seconds(performance.now() - beganMs)} s`);
  const keys = made.map(({ secret }) => secret);
  const warmed = await callEach(cluster, { keys, calls: WARM_CALLS, perMinute: organizations / 2 });
  console.log(`${warmed.length} calls at half the rate to warm up, ${refusedOf(warmed).length} refused`);
  const outcomes = await callEach(cluster, { keys, calls: organizations * minutes, perMinute: organizations });
  const refused = refusedOf(outcomes);
  for (const [refusal, those] of Map.groupBy(refused, ({ refusal: why }) => why)) console.log(`  ${those.length} × ${refusal}`);
  const verdict = await verify(cluster);
  const [half, most] = [0.5, 0.99].map((share) =>
    Math.round(
      percentile(
        outcomes.map(({ ms }) => ms),
        share,
      ),
    ),
  );
  return {
    what: `${organizations} organizations × ${minutes} calls, one a minute`,
    figure: `${outcomes.length} calls, ${refused.length} refused, p50 ${half} ms, p99 ${most} ms, verify ${verdict}`,
    holds: refused.length === 0 && verdict === "ok",
  };
}

interface Outcome {
  readonly ms: number;
  readonly refusal: string | undefined;
}

const refusedOf = (outcomes: readonly Outcome[]) => outcomes.filter(({ refusal }) => refusal !== undefined);

interface Load {
  readonly keys: readonly string[];
  readonly calls: number;
  readonly perMinute: number;
}

async function callEach(cluster: Cluster, { keys, calls, perMinute }: Load): Promise<Outcome[]> {
  const edges = cluster.urls.map((url) => new Pool(url, { connections: CONNECTIONS }));
  const beganMs = performance.now();
  const running: Promise<Outcome>[] = [];
  while (running.length < calls) {
    const due = Math.min(calls, Math.floor(((performance.now() - beganMs) / MINUTE_MS) * perMinute) + 1);
    while (running.length < due) running.push(callOnce(edges, keys, running.length));
    await sleep(5);
  }
  const outcomes = await Promise.all(running);
  await Promise.all(edges.map((edge) => edge.close()));
  return outcomes;
}

async function callOnce(edges: readonly Pool[], keys: readonly string[], number: number): Promise<Outcome> {
  const beganMs = performance.now();
  // Another edge in each minute.
  const edge = edges[(number + Math.floor(number / keys.length)) % edges.length];
  const authorization = `Bearer ${keys[number % keys.length]}`;
  const headers = { "content-type": "application/json", authorization };
  try {
    const answer = await edge?.request({ path: "/v1/chat/completions", method: "POST", headers, body: BODY });
    const text = await answer?.body.text();
    const isServed = answer?.statusCode === 200;
    return { ms: performance.now() - beganMs, refusal: isServed ? undefined : `${answer?.statusCode} ${text?.slice(0, 300)}` };
  } catch (thrown) {
    return { ms: performance.now() - beganMs, refusal: String((thrown as { cause?: unknown }).cause ?? thrown) };
  }
}

async function verify({ urls: [url = ""] }: Cluster): Promise<string> {
  const answer = await call(url, "GET", "/api/admin/ledger/verify", { token: await adminToken({ url }) });
  return answer.status === 200 && answer.body.ok === true && answer.body.sum === 0 ? "ok" : `${answer.status} ${answer.text.slice(0, 200)}`;
}

const seconds = (ms: number) => (ms / 1000).toFixed(1);
