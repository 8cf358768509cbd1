import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { adminToken, buy, call, chat, newTenant, type Tenant } from "../helpers/api.ts";
import { federationWhen } from "../helpers/federations.ts";
import type { System } from "../helpers/system.ts";

/** A gateway with something to show: a group of three, one of them ill, fallbacks, guardrails and a cache that calls must ask for. */
const GATEWAY = `
model_list:
  - model_name: assistant
    litellm_params: {model: echo/echo, weight: 3, order: 1}
  - model_name: assistant
    litellm_params:
      {model: openai/large-model-with-a-rather-long-name-2026-05, api_base: "http://127.0.0.1:9/v1", api_key: none, weight: 3, order: 1}
  - model_name: assistant
    litellm_params: {model: echo/echo, order: 2}
  - model_name: pair
    litellm_params: {model: echo/echo}
    model_info: {id: pair-a}
  - model_name: pair
    litellm_params: {model: echo/echo}
    model_info: {id: pair-b}
  - model_name: assistant-small
    litellm_params: {model: echo/echo}
  - model_name: assistant-long
    litellm_params: {model: echo/echo}
  - model_name: unreachable
    litellm_params: {model: openai/nobody, api_base: "http://127.0.0.1:9/v1", api_key: none, input_cost_per_token: 0.000001, output_cost_per_token: 0.000001}
  - model_name: adrift
    litellm_params: {model: openai/nobody, api_base: "http://127.0.0.1:9/v1", api_key: none, input_cost_per_token: 0.000001, output_cost_per_token: 0.000001}
router_settings:
  fallbacks: [{assistant: [assistant-small, echo]}]
  context_window_fallbacks: [{assistant: [assistant-long]}]
  cooldown_time: 600
  allowed_fails: 0
  model_group_alias: {default: assistant}
litellm_settings:
  cache: true
  cache_params: {mode: default_off, ttl: 300}
guardrails:
  - guardrail_name: no-secrets
    litellm_params: {guardrail: word-list, mode: pre_call, words: [s3cret]}
  - guardrail_name: personal-data
    litellm_params: {guardrail: pii-masking, mode: [pre_call, post_call]}
`;

export function gatewayConfig(folder: string): string {
  const path = join(folder, "gateway.yaml");
  writeFileSync(path, GATEWAY);
  return path;
}

export interface Furnished {
  readonly tenant: Tenant;
  readonly federationId: string;
  readonly logId: string;
}

const ROUNDS = 4;

/** A tenant with teams, keys, calls good and bad, an invitation, a purchase, and a federation that trained, paid and was published. */
export async function furnish(system: System): Promise<Furnished> {
  const tenant = await newTenant(system, { creditNano: 5_000_000_000, name: "looker" });
  const [federationId] = await Promise.all([trainTogether(system, tenant), makeCalls(system, tenant), makePeople(system, tenant)]);
  const logs = await call(system.url, "GET", "/api/gw/logs?pageSize=1&status=success", { token: tenant.token });
  return { tenant, federationId, logId: logs.body.data[0].id };
}

async function makeCalls(system: System, { key }: Tenant): Promise<void> {
  const ask = (content: string, more?: object) => chat(system, key, content, more);
  for (let round = 0; round < 6; round++) {
    await Promise.all([ask("look at me"), ask("and at me, whoever you are", { model: "assistant" }), ask("twice", { caching: true })]);
  }
  const metadata = { session_id: "trip to the sea" };
  for (const question of ["where to?", "and then?"]) await ask(question, { metadata });
  await ask("by boat", { metadata, model: "unreachable" });
  await ask("the s3cret", { guardrails: ["no-secrets"] });
  await ask("write to ada@example.org", { guardrails: ["personal-data"] });
  await ask("nobody has this", { model: "no-such-model" });
}

async function makePeople(system: System, tenant: Tenant): Promise<void> {
  const ask = (path: string, body: object) => call(system.url, "POST", path, { token: tenant.token, body });
  await ask("/api/gw/teams/invite-member", { teamId: tenant.teamId, email: "invited@example.org", role: "admin" });
  const { team } = (await ask("/api/gw/teams", { name: "Customer-facing summarization, production (eu-west)" })).body;
  const made = await ask("/api/gw/api-keys", { name: "summariser-production-eu-west-2026", team_id: team.id });
  await chat(system, made.body.key, "from the other team");
  await buy(system, await adminToken(system), 1_000_000_000);
}

async function trainTogether(system: System, { token }: Tenant): Promise<string> {
  const task = {
    name: "softmax",
    config: { epochs: 1, batch_size: 20, lr: 0.05 },
    dataset: { name: "digits", partition: { scheme: "iid", of: 2 } },
  };
  const body = {
    name: "digits",
    task,
    rounds: ROUNDS,
    participants: [0, 1].map(() => ({ url: system.trainerUrl })),
    budgetNanoUsd: 1_000_000,
  };
  const made = await call(system.url, "POST", "/training/federations", { token, body });
  if (made.status !== 201) throw new Error(`the federation was not made: ${made.text}`);
  const { id } = made.body.federation;
  await federationWhen(system, { token, id });
  for (const round of [ROUNDS - 1, ROUNDS]) {
    const published = await call(system.url, "POST", `/training/federations/${id}/publish`, {
      token,
      body: { model: "our-digits", round },
    });
    if (published.status >= 300) throw new Error(`round ${round} was not published: ${published.text}`);
  }
  return id;
}
