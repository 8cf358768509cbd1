import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SERVICE_NODE_FLAGS } from "../../common/node-flags.ts";
import { adminToken, call, newTenant } from "../../test/helpers/api.ts";
import { freePort, type ServiceProcess, startProcess } from "../../test/helpers/processes.ts";
import { ADMIN_PASSWORD, MASTER_KEY } from "../../test/helpers/system.ts";
import type { LimitReport } from "../cluster/limits.ts";
import type { Release } from "../cluster/rolling.ts";

const CALLS = 20;

/** One embedded store and one journal, opened by each release in turn and again by the first: every call is billed, and the ledger verifies. */
export async function swapEmbedded(releases: readonly [Release, Release]): Promise<LimitReport> {
  const folder = mkdtempSync(join(tmpdir(), "tributary-upgrade-"));
  const [port, controlPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...{ DATA_DIR: folder, PORT: String(port), CONTROL_PORT: String(controlPort), CONTROL_ADDRESS: `127.0.0.1:${controlPort}` },
    ...{ ADMIN_PASSWORD, MASTER_KEY, BUILT_IN_MODELS: "false", LOG_LEVEL: "warn", CONTROL_TOKEN: "what-this-machine's-processes-present" },
  };
  const running: ServiceProcess[] = [];
  const start = async (entry: string, { name, root }: Release) => {
    const child = startProcess({ entry, name: `${entry} of ${name}`, env, nodeFlags: SERVICE_NODE_FLAGS, root });
    running.push(child);
    await child.ready;
  };
  const stop = async () => {
    for (const child of running.splice(0).toReversed()) await child.stop();
  };
  const failed: string[] = [];
  let tenant: Awaited<ReturnType<typeof newTenant>> | undefined;
  const [previous, current] = releases;
  try {
    for (const release of [previous, current, previous]) {
      await start("control-plane/main.ts", release);
      await start("gateway-edge/main.ts", release);
      tenant ??= await newTenant({ url }, { creditNano: 1_000_000_000 });
      for (let count = 0; count < CALLS; count++) failed.push(...(await callOnce(url, tenant.key)));
      failed.push(...(await verifyOnce(url)));
      await stop();
    }
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
  const figure = `${3 * CALLS} calls, ${failed.length} failed${failed[0] === undefined ? "" : `: ${failed[0]}`}`;
  return { what: `embedded store and journal: ${previous.name}, ${current.name}, ${previous.name}`, figure, holds: failed.length === 0 };
}

async function callOnce(url: string, key: string): Promise<string[]> {
  const body = { model: "echo", messages: [{ role: "user", content: "Still there?" }] };
  const { status, text } = await call(url, "POST", "/v1/chat/completions", { key, body });
  return status === 200 ? [] : [`${status} ${text.slice(0, 200)}`];
}

async function verifyOnce(url: string): Promise<string[]> {
  const { status, body, text } = await call(url, "GET", "/api/admin/ledger/verify", { token: await adminToken({ url }) });
  return status === 200 && body.ok === true && body.sum === 0 ? [] : [`verify: ${status} ${text.slice(0, 200)}`];
}
