import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { adminToken, call, newTenant, type Tenant } from "../../helpers/api.ts";
import { type System, type SystemOptions, startSystem } from "../../helpers/system.ts";
import { type Books, check, readBooks, type Stop, type Verdict } from "./checker.ts";
import { type Asked, type ClientCall, streamCall } from "./stream-client.ts";
import { startWordUpstream, type WordUpstream, wordModel } from "./word-upstream.ts";

/** A running platform, one customer, and what everybody but the platform wrote down. */
export interface Arena {
  readonly system: System;
  readonly upstream: WordUpstream;
  readonly tenant: Tenant;
  readonly clients: ClientCall[];
  readonly purchases: number[];
  /** When an edge was stopped, and went on. */
  readonly stops: Stop[];
  /** One streamed call of the customer, written down. */
  stream(call: Pick<Asked, "name" | "words" | "betweenMs" | "leavesAfter" | "maxTokens">): Promise<ClientCall>;
  /** Waits until the edges owe the ledger nothing, and holds the books against everything written down. */
  audit(): Promise<Verdict & { readonly books: Books }>;
  close(): Promise<void>;
}

const QUIET_MAX_MS = 90_000;

export async function openArena({ creditNano, env, ...options }: SystemOptions & { creditNano: number }): Promise<Arena> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-storm-"));
  const upstream = await startWordUpstream();
  const config = join(folder, "config.yaml");
  writeFileSync(config, wordModel(upstream.url));
  const system = await startSystem({ ...options, env: { CONFIG: config, LOG_LEVEL: "warn", ...env } });
  const close = async () => {
    await system.stop();
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const tenant = await newTenant(system, { creditNano });
    const clients: ClientCall[] = [];
    const purchases = [creditNano];
    const stops: Stop[] = [];
    return {
      system,
      upstream,
      tenant,
      clients,
      purchases,
      stops,
      stream: async (asked) => {
        const client = await streamCall({ url: system.url, key: tenant.key, ...asked });
        clients.push(client);
        return client;
      },
      audit: async () => {
        await untilQuiet(system);
        const books = await readBooks(system.url, { token: tenant.token, admin: await adminToken(system) });
        return { books, ...check(books, { clients, upstream: upstream.log, purchases, stops }) };
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The errors that refused clients received, and how often. */
export function refusalsOf(clients: readonly ClientCall[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, error } of clients) {
    if (status === undefined || status === 200) continue;
    const message = /"message":"([^"]*)"/.exec(error ?? "")?.[1] ?? "";
    counts[`${status} ${message}`] = (counts[`${status} ${message}`] ?? 0) + 1;
  }
  return counts;
}

/** Until every edge says that it owes the ledger nothing. Reading money asks them to bring what they have. */
async function untilQuiet(system: System): Promise<void> {
  const deadline = performance.now() + QUIET_MAX_MS;
  for (let quiet = 0; quiet < 20; ) {
    const { text } = await call(system.url, "GET", "/metrics", { headers: { connection: "close" } });
    const pending = Number(/^tributary_settlements_pending\{[^}]*\} (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
    quiet = pending === 0 ? quiet + 1 : 0;
    if (performance.now() > deadline) throw new Error(`an edge still owes ${pending} settlements after ${QUIET_MAX_MS} ms`);
    await sleep(50);
  }
}
