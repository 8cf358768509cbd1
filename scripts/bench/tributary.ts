import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { VERSION } from "../../common/version.ts";
import { STORE_FOLDER } from "../../control-plane/backup/manifest.ts";
import { openEmbeddedStore } from "../../control-plane/stores/embedded/store.ts";
import type { Store } from "../../control-plane/stores/store.ts";
import type { Tenant } from "../../test/helpers/api.ts";
import { freePort } from "../../test/helpers/processes.ts";
import { type System, startSystem } from "../../test/helpers/system.ts";
import { benchConfig } from "./config-text.ts";
import type { Contender, Stage } from "./contender.ts";
import { watchEdge } from "./edge-samples.ts";
import { limitedCustomer } from "./limited-customer.ts";

/** A running platform with everything on, and its paying customer. */
export interface Tributary extends Contender {
  readonly system: System;
  readonly customer: Tenant;
}

/** How a platform differs from the plain one. */
export interface TributaryOptions {
  readonly name?: string | undefined;
  /** The configuration of its models. */
  readonly config?: string | undefined;
  /** Absent: one. */
  readonly edges?: number | undefined;
  /** Writes into its store while the control plane is stopped. */
  readonly fill?: ((store: Store, about: { customer: Tenant; folder: string }) => Promise<void>) | undefined;
}

const BACK_MS = 60_000;

export async function startTributary({ folder, upstreamUrl }: Stage, options: TributaryOptions = {}): Promise<Tributary> {
  const { name = "Tributary", config = benchConfig(upstreamUrl), edges = 1, fill } = options;
  const file = join(folder, `${name.replaceAll(/\W+/g, "-")}.yaml`);
  writeFileSync(file, config);
  const metricsPort = await freePort();
  const beganMs = performance.now();
  // The benchmark measures what calls cost, so none is refused.
  const edgeEnv = { METRICS_PORT: String(metricsPort), OVERLOAD_TURN_MS: "0" };
  const system = await startSystem({ env: { CONFIG: file, LOG_LEVEL: "warn" }, edgeEnv, edges });
  const startMs = performance.now() - beganMs;
  const { customer, headers } = await limitedCustomer(system);
  const target = { url: system.url, headers };
  if (fill) {
    await system.killControlPlane(async () => {
      const store = openEmbeddedStore(join(system.folder, STORE_FOLDER));
      await fill(store, { customer, folder: system.folder });
      await store.close();
    });
    await untilAnswered(target);
  }
  return {
    ...{ ...target, name, version: VERSION, startMs, system, customer },
    roots: [system.controlPlane.pid, ...system.edges.map(({ pid }) => pid)],
    settled: async () => {
      await Promise.all(system.edges.map(({ pid }, index) => watchEdge({ metricsPort: metricsPort + index, pid }).settled()));
    },
    stop: () => system.stop(),
  };
}

/** The edge finds its control plane again after a restart. */
async function untilAnswered({ url, headers }: Pick<Contender, "url" | "headers">): Promise<void> {
  const untilMs = performance.now() + BACK_MS;
  const body = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "a question" }] });
  for (;;) {
    const init = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
    const answer = await fetch(`${url}/v1/chat/completions`, init);
    const text = await answer.text();
    if (answer.status === 200) return;
    if (performance.now() > untilMs) throw new Error(`the edge answers ${answer.status}: ${text}`);
    await sleep(100);
  }
}
