import { AppError } from "../../../../common/errors.ts";
import { applyGuardrails } from "../../../calls/guardrails/apply.ts";
import { Vault } from "../../../calls/guardrails/vault.ts";
import type { RouteCall } from "../../../upstream/routing/route-call.ts";
import { deployment } from "../../http/testing/edge-fixture.ts";
import { gatewayState } from "../gateway-state-fixture.ts";
import { presentCache, presentConfiguredCache, presentGuardrails, presentRouting } from "./present-gateway.ts";

const params = (fields: object) => JSON.stringify(fields);
const gpt = (id: string, fields: object) => deployment({ id, modelName: "gpt", providerKind: "openai", params: params(fields) });

test("routing: groups with weights and orders, fallbacks of every kind, aliases; never an address or a key", () => {
  const router_settings = {
    fallbacks: [{ gpt: ["small", "last"] }],
    context_window_fallbacks: [{ gpt: ["long"] }],
    model_group_alias: { fast: "small" },
    routing_strategy: "least-busy",
  };
  const secret = { apiKey: "canary-key", baseUrl: "http://canary-host/v1" };
  const { routing } = gatewayState({ router_settings }, [
    { ...gpt("dep_b", { weight: 3, order: 1, rpm: 60 }), ...secret },
    { ...gpt("dep_a", { weight: 1 }), ...secret },
    deployment({ id: "dep_c", modelName: "small" }),
  ]);
  const shown = presentRouting(routing, { groups: [], file: undefined });
  expect(shown.data.map(({ name }) => name)).toEqual(["gpt", "small"]);
  expect(shown.data[0]).toMatchObject({
    strategy: "least-busy",
    fallbacks: { general: ["small", "last"], contextWindow: ["long"], contentPolicy: [] },
    deployments: [
      { id: "dep_b", weight: 3, order: 1, requestsPerMinute: 60, health: { state: "up", succeeded: 0 } },
      { id: "dep_a", weight: 1, order: null, requestsPerMinute: null },
    ],
  });
  expect(shown.aliases).toEqual([{ name: "fast", model: "small", hidden: false }]);
  expect(JSON.stringify(shown)).not.toContain("canary");
});

test("routing: a deployment that refuses our key cools down, and says why and how long", async () => {
  const { routing } = gatewayState({}, [gpt("dep_a", {}), gpt("dep_b", {})]);
  const run = routing.start(aCall);
  const attempt = await run.next();
  if (!attempt) throw new Error("nothing to try");
  run.failed(attempt, new AppError("UPSTREAM_UNAVAILABLE", "no"), { visible: false, upstreamStatus: 401 });
  const health = presentRouting(routing, { groups: [], file: undefined }).data[0]?.deployments.find(
    ({ id }) => id === attempt.deployment.id,
  )?.health;
  expect(health).toMatchObject({ state: "cooling", coolingCause: "failure", failed: 1, lastFailure: { kind: "authentication" } });
  expect(health?.coolingMs).toBeGreaterThan(50_000);
});

test("guardrails: what is configured, in its order, with counts and the newest decisions first, and no text of a call", async () => {
  const guardrails = [
    { guardrail_name: "no-secrets", litellm_params: { guardrail: "regex", mode: "pre_call", default_on: true, patterns: ["s3cret"] } },
    { guardrail_name: "answers", litellm_params: { guardrail: "pii-masking", mode: ["pre_call", "post_call"] } },
  ];
  const { layers } = gatewayState({ guardrails });
  const check = (text: string, callId: string) =>
    applyGuardrails(layers.guardrails.list(), [text], {
      findings: layers.guardrails.findings,
      context: { stage: "pre", callId, caller: {} as never, signal: new AbortController().signal, vault: new Vault() },
    });
  await check("write to ada@example.org", "call_1");
  await expect(check("the s3cret", "call_2")).rejects.toThrow("no-secrets");
  const common = { enabled: true, settings: "{}", source: "configuration", file: "/etc/gateway.yaml" };
  const configured = [
    { name: "no-secrets", kind: "regex", stage: "pre", byDefault: true, ...common },
    { name: "answers", kind: "pii-masking", stage: "both", byDefault: false, ...common },
  ];
  const shown = presentGuardrails(configured, layers.guardrails);
  expect(shown.data).toMatchObject([
    { name: "no-secrets", kind: "regex", stage: "pre", byDefault: true, file: "/etc/gateway.yaml", blocked: 1, masked: 0 },
    { name: "answers", kind: "pii-masking", stage: "both", byDefault: false, settings: {}, blocked: 0, masked: 1 },
  ]);
  expect(shown.decisions.map(({ callId, action }) => [callId, action])).toEqual([
    ["call_2", "blocked"],
    ["call_1", "masked"],
  ]);
  expect(JSON.stringify(shown)).not.toMatch(/s3cret|ada@/);
});

test("cache: off is said as off; what is held is counted, and clearing forgets it", async () => {
  const off = presentConfiguredCache({ settings: undefined, source: "default", file: undefined }, undefined);
  expect(presentCache(gatewayState().layers.cache, off)).toMatchObject({
    settings: null,
    held: null,
    hits: 0,
    configured: { enabled: false },
  });
  const { cache } = gatewayState({ litellm_settings: { cache: true, cache_params: { ttl: 30 } } }).layers;
  await cache.current()?.cache.set("k", "an answer", 60_000);
  const shown = presentCache(cache, off);
  expect(shown.settings).toMatchObject({ type: "memory", ttlSeconds: 30, byDefault: true });
  expect(shown.held).toEqual({ entries: 1, bytes: 10, bytesMax: 1_000_000 });
  await cache.clear();
  expect(presentCache(cache, off).held).toMatchObject({ entries: 0, bytes: 0 });
  await expect(cache.current()?.cache.get("k")).resolves.toBeUndefined();
});

const aCall: RouteCall = {
  model: "gpt",
  callId: "call_1",
  keyId: "key_1",
  teamId: "team_1",
  organizationId: "org_1",
  stream: false,
  tags: [],
  inputTokens: 1,
  maxOutputTokens: 1,
  mayUse: () => true,
};
