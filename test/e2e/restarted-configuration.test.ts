import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { type FakeUpstream, startFakeUpstream } from "../helpers/fake-upstream/server.ts";
import { MASTER_KEY, type System, startSystem } from "../helpers/system.ts";

const PATIENCE_MS = 10_000;

let upstream: FakeUpstream;
let system: System;
let tenant: Tenant;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  system = await startSystem();
  tenant = await newTenant(system, { creditNano: 1_000_000_000 });
});
afterAll(async () => {
  await system?.stop();
  await upstream?.stop();
});

const configPath = () => join(system.folder, "config.yaml");

function writeConfig({ inputUsd }: { inputUsd: number }): void {
  const model = [
    "model_list:",
    "  - model_name: fresh",
    "    litellm_params:",
    "      model: openai/pong",
    `      api_base: ${upstream.url}/openai/v1`,
    "      api_key: os.environ/UPSTREAM_KEY",
    `      input_cost_per_token: ${inputUsd}`,
    "      output_cost_per_token: 0",
  ];
  writeFileSync(configPath(), `${model.join("\n")}\n`);
}

const ask = (): Promise<Answer> => chat(system, tenant.key, "one two three", { model: "fresh" });

async function waitUntil(condition: (answer: Answer) => boolean): Promise<Answer> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (condition(answer) || performance.now() > deadline) return answer;
    await sleep(50);
  }
}

test("a configuration that a control plane reads at its start reaches the edges that run already", async () => {
  expect((await ask()).status).toBe(404);
  writeConfig({ inputUsd: 0.000001 });
  await system.restartControlPlane({ CONFIG: configPath(), UPSTREAM_KEY: "key-before" });
  const first = await waitUntil(({ status }) => status === 200);
  expect([first.status, first.body?.error]).toEqual([200, undefined]);
  expect(upstream.requests.at(-1)?.headers["authorization"]).toBe("Bearer key-before");

  // Another price, as a rollout brings it: the file is there before the process that reads it.
  const cost = Number(first.headers.get("x-gw-cost-nano"));
  expect(cost).toBeGreaterThan(0);
  await system.controlPlane.stop();
  writeConfig({ inputUsd: 0.000003 });
  await system.restartControlPlane({});
  const dearer = await waitUntil(({ headers }) => Number(headers.get("x-gw-cost-nano")) === 3 * cost);
  expect([dearer.status, Number(dearer.headers.get("x-gw-cost-nano"))]).toEqual([200, 3 * cost]);

  await system.restartControlPlane({ UPSTREAM_KEY: "key-after", MASTER_KEY: "sk-another-master-key-of-this-test" });
  await waitUntil(() => upstream.requests.at(-1)?.headers["authorization"] === "Bearer key-after");
  expect(upstream.requests.at(-1)?.headers["authorization"]).toBe("Bearer key-after");
  const models = (key: string) => call(system.url, "GET", "/v1/models", { key });
  expect((await models("sk-another-master-key-of-this-test")).status).toBe(200);
  expect((await models(MASTER_KEY)).status).toBe(401);
});
