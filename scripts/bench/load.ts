import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";

/** Where calls go, and with which key. */
export interface Target {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is called, and how. */
export interface Load {
  readonly stream: boolean;
  /** Whether the chunks of a stream come every 20 ms. */
  readonly isPaced?: boolean | undefined;
  readonly connections: number;
  readonly calls: number;
  /** Calls per second, begun whether earlier ones have ended or not; absent: each connection calls again when it has its answer. */
  readonly rate?: number | undefined;
  /** Keys that the calls use in turn, instead of that of the target. */
  readonly keys?: readonly string[] | undefined;
}

/** Makes the calls; resolves with the milliseconds of each. If one is not answered 200, no other is begun, and it throws when all have ended. */
export async function load(
  { url, headers }: Target,
  { stream, isPaced = false, connections, calls, rate, keys = [] }: Load,
): Promise<number[]> {
  const pool = new Pool(url, { connections });
  const content = `${isPaced ? "every 20 ms, " : ""}${"a question of some length, ".repeat(8)}`;
  const body = JSON.stringify({ model: "bench", stream, messages: [{ role: "user", content }] });
  const times: number[] = [];
  let begun = 0;
  const call = async () => {
    const key = keys[begun++ % keys.length];
    const own = key === undefined ? headers : { ...headers, authorization: `Bearer ${key}` };
    const beganMs = performance.now();
    const answer = await pool.request({
      path: "/v1/chat/completions",
      method: "POST",
      headers: { "content-type": "application/json", ...own },
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
    times.push(performance.now() - beganMs);
  };
  try {
    await (rate === undefined ? closedLoop(call, { connections, calls }) : openLoop(call, { calls, rate }));
    return times;
  } finally {
    await pool.close();
  }
}

async function closedLoop(call: () => Promise<void>, { connections, calls }: { connections: number; calls: number }): Promise<void> {
  const failures: unknown[] = [];
  let left = calls;
  const worker = async () => {
    while (left-- > 0 && failures.length === 0) await call().catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: connections }, worker));
  if (failures.length > 0) throw failures[0];
}

async function openLoop(call: () => Promise<void>, { calls, rate }: { calls: number; rate: number }): Promise<void> {
  const beganMs = performance.now();
  const failures: unknown[] = [];
  const running: Promise<unknown>[] = [];
  while (running.length < calls && failures.length === 0) {
    const due = Math.min(calls, Math.floor(((performance.now() - beganMs) / 1000) * rate));
    while (running.length < due) running.push(call().catch((error: unknown) => failures.push(error)));
    await sleep(1);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
