import type { UsageRow } from "../domain/records.ts";
import { answerTokens } from "./answer-tokens.ts";

const row = (id: string, { key = "k", model = "m", input = 10, output = 20 } = {}): UsageRow =>
  ({
    id,
    apiKeyId: key,
    teamId: "t",
    organizationId: "o",
    userId: 7,
    model,
    deploymentId: `dep_${id}`,
    usage: { input, output },
  }) as UsageRow;

const NAMES = ["key:k", "team:t", "organization:o", "user:7"];

test("rows of one key and model are counted together, in each of their limits", () => {
  expect(answerTokens([row("a"), row("b"), row("c", { key: "l" }), row("d", { key: "l", model: "n" })], () => undefined)).toEqual([
    { names: NAMES, model: "m", deploymentId: "dep_a", tokens: 40 },
    { names: ["key:l", ...NAMES.slice(1)], model: "m", deploymentId: "dep_c", tokens: 20 },
    { names: ["key:l", ...NAMES.slice(1)], model: "n", deploymentId: "dep_d", tokens: 20 },
  ]);
});

test("a call that is known counts under the model that admitted it, whatever name it used", () => {
  const found = answerTokens([row("a", { model: "openai/x" }), row("b", { model: "openai/y" })], () => ({ tokens: 10, model: "openai/*" }));
  expect(found).toMatchObject([{ model: "openai/*", tokens: 40 }]);
});

test("a prompt that the provider counts higher than its estimate counts as the provider says; a lower one stays as it was admitted", () => {
  const admitted: Record<string, number> = { low: 4, high: 40 };
  expect(answerTokens([row("low"), row("high")], (callId) => ({ tokens: admitted[callId] ?? 0, model: "m" }))).toMatchObject([
    { names: NAMES, tokens: 46 },
  ]);
});

test("calls without an answer count nothing more", () => {
  expect(answerTokens([row("a", { output: 0 })], () => undefined)).toEqual([]);
  expect(answerTokens([], () => undefined)).toEqual([]);
});
