import { Deployment } from "../../proto/gen/tributary/access/v1/access.ts";
import { AttemptDetail, UsageLog } from "../../proto/gen/tributary/usage/v1/usage.ts";
import { CallCounts, type CallStatus, UPSTREAM_STATUSES } from "./call-counts.ts";

const deployment = (id: string, modelName: string, providerKind: string, organizationIds: string[] = []) =>
  Deployment.fromPartial({ id, modelName, providerKind, organizationIds });

const log = (fields: Parameters<typeof UsageLog.fromPartial>[0]) => UsageLog.fromPartial({ status: "success", cost: 0n, ...fields });

function open(...deployments: Deployment[]) {
  const counts = new CallCounts();
  counts.update(deployments);
  const slot = (model: string, provider: string) => counts.slots.find((each) => each.model === model && each.provider === provider);
  const errors = (model: string, provider: string) =>
    Object.fromEntries(
      (slot(model, provider)?.upstreamErrors ?? []).flatMap((count, at) => (count ? [[UPSTREAM_STATUSES[at], count]] : [])),
    );
  return { counts, slot, errors };
}

test("a call counts for the configured group of its deployment, whatever name its caller sent", () => {
  const { counts, slot } = open(deployment("d1", "gpt", "openai"));
  const usage = { input: 10n, cachedInput: 4n, cacheWrite: 1n, output: 5n, reasoning: 2n, audio: 3n, audioOutput: 1n, total: 24n };
  counts.count(
    log({ deploymentId: "d1", model: "sk-a-secret-as-model", stream: true, firstTokenMs: 300, latencyMs: 2000, usage, cost: 7n }),
  );
  counts.count(log({ deploymentId: "d1", model: "alias", latencyMs: 100, firstTokenMs: 100 }));
  expect(counts.slots.map(({ model, provider }) => [model, provider])).toEqual([
    ["none", "none"],
    ["gpt", "openai"],
  ]);
  const found = slot("gpt", "openai");
  expect(found).toMatchObject({ calls: { success: 2, error: 0 }, tokens: { input: 12, cached: 4, output: 8 }, costNano: 7 });
  // A whole answer has no first token of its own.
  expect(found?.firstToken.cumulative().at(-1)?.value).toBe(1);
  expect(found?.latency.cumulative().map(({ le, value }) => `${le}: ${value}`)).toEqual(
    expect.arrayContaining(["0.1: 1", "1: 1", "2.5: 2", "+Inf: 2"]),
  );
  expect(found?.latency.sum).toBeCloseTo(2.1);
});

test("a call that no deployment answered counts where it was tried last; one that was refused counts as often as its row says", () => {
  const { counts, slot } = open(deployment("d1", "gpt", "openai"));
  counts.count(log({ status: "error", attemptsDetail: [AttemptDetail.fromPartial({ deploymentId: "d1", status: 500, errorText: "x" })] }));
  counts.count(log({ status: "refused", refused: 40n }));
  counts.count(log({ status: "refused" }));
  counts.count(log({ status: "error", deploymentId: "removed-meanwhile" }));
  expect(slot("gpt", "openai")?.calls).toMatchObject({ error: 1, refused: 0 });
  expect(slot("none", "none")?.calls).toMatchObject({ error: 1, refused: 41 });
});

test("failed attempts count by the provider's status, rare ones together", () => {
  const { counts, errors } = open(deployment("d1", "gpt", "openai"), deployment("d2", "gpt", "azure"));
  for (const status of [500, 500, 429, 418, 599, undefined]) counts.countFailed("d1", status);
  counts.countFailed("d2", 503);
  expect(errors("gpt", "openai")).toEqual({ none: 1, 429: 1, 500: 2, other: 2 });
  expect(errors("gpt", "azure")).toEqual({ 503: 1 });
});

test("models of single organizations are one group, so that no metric names what belongs to a tenant", () => {
  const { counts } = open(
    deployment("d1", "acme-secret", "tributary", ["org_1"]),
    deployment("d2", "other-secret", "tributary", ["org_2"]),
  );
  for (const deploymentId of ["d1", "d2"]) counts.count(log({ deploymentId }));
  expect(counts.slots.map(({ model, calls }) => [model, calls.success])).toEqual([
    ["none", 0],
    ["organization", 2],
  ]);
});

test("the number of slots is bounded: further models count as `other`, by provider as far as there are few, and no call is lost", () => {
  const many = Array.from({ length: 200 }, (_, index) => deployment(`d${index}`, `model-${index}`, `provider-${index % 10}`));
  const { counts, slot } = open(...many);
  for (const { id } of many) counts.count(log({ deploymentId: id }));
  expect(counts.slots.length).toBeLessThanOrEqual(32);
  expect(slot("model-0", "provider-0")?.calls.success).toBe(1);
  expect(slot("other", "provider-5")?.calls.success).toBeGreaterThan(10);
  expect(slot("other", "other")?.calls.success).toBeGreaterThan(10);
  expect(counts.slots.reduce((sum, { calls }) => sum + calls.success, 0)).toBe(200);
});

test("counts stay when the catalog changes, also those of removed deployments", () => {
  const { counts, slot } = open(deployment("d1", "gpt", "openai"));
  counts.count(log({ deploymentId: "d1" }));
  counts.update([deployment("d2", "gpt", "openai")]);
  counts.count(log({ deploymentId: "d2" }));
  const calls: Record<CallStatus, number> = { success: 2, error: 0, cancelled: 0, refused: 0 };
  expect(slot("gpt", "openai")?.calls).toEqual(calls);
});
