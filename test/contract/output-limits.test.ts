import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, chat, newTenant } from "../helpers/api.ts";
import { evidence } from "../helpers/evidence.ts";
import { type SlowUpstream, startSlowUpstream } from "../helpers/slow-upstream.ts";
import { type System, startSystem } from "../helpers/system.ts";

const configFor = (url: string) => `
model_list:
  - model_name: unbounded
    litellm_params:
      model: openai/of-unknown-length
      api_base: ${url}
      api_key: sk-upstream
      input_cost_per_token: 0.000001
      output_cost_per_token: 0.000002
`;

let system: System;
let folder: string;
let upstream: SlowUpstream;
beforeAll(async () => {
  upstream = await startSlowUpstream(UPSTREAM_MS);
  folder = mkdtempSync(join(tmpdir(), "tributary-limits-"));
  writeFileSync(join(folder, "config.yaml"), configFor(upstream.url));
  system = await startSystem({ edges: 2, env: { CONFIG: join(folder, "config.yaml") } });
});
afterAll(async () => {
  await system.stop();
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
});

const UPSTREAM_MS = 20;
const CALLS = 120;
const LOOPS = 3;
const INT32_MAX = 2_147_483_647;

describe.each([Number.MAX_SAFE_INTEGER, 1e15, INT32_MAX])("while one key asks for answers of %d tokens", (maxTokens) => {
  test("another key of the organization goes on calling, and nothing is answered with 500", async () => {
    const tenant = await newTenant(system, { creditNano: 970_000_000_000 });
    const other = { name: "other", team_id: tenant.teamId };
    const { body } = await call(system.url, "POST", "/api/gw/api-keys", { token: tenant.token, body: other });
    const statuses = new Set<number>();
    let isOver = false;
    const loop = async () => {
      while (!isOver) {
        const { status } = await chat(system, body.key, "x", { model: "unbounded", max_tokens: maxTokens });
        statuses.add(status);
      }
    };
    const loops = Array.from({ length: LOOPS }, loop);
    const answered: number[] = [];
    for (let made = 0; made < CALLS; made++) answered.push((await chat(system, tenant.key, "hello")).status);
    isOver = true;
    await Promise.all(loops);
    expect(answered.filter((status) => status !== 200)).toEqual([]);
    expect([...statuses]).toEqual([maxTokens > INT32_MAX ? 422 : 200]);
    evidence("F5", `max_tokens ${maxTokens} in ${LOOPS} loops: 0 of ${CALLS} calls of another key failed`);
  });
});
