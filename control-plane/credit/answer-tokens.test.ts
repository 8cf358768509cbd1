import type { UsageRow } from "../domain/records.ts";
import { answerTokens } from "./answer-tokens.ts";

const row = (id: string, { key = "k", model = "m", input = 10, output = 20 } = {}): UsageRow =>
  ({ id, apiKeyId: key, teamId: "t", organizationId: "o", userId: 7, model, usage: { input, output } }) as UsageRow;

const NAMES = ["key:k", "team:t", "organization:o", "model:m", "user:7"];

test("rows of one key and model are counted together, in each of their limits", () => {
  expect(answerTokens([row("a"), row("b"), row("c", { key: "l" })], () => undefined)).toEqual([
    { names: NAMES, tokens: 40 },
    { names: ["key:l", ...NAMES.slice(1)], tokens: 20 },
  ]);
});

test("a prompt that the provider counts higher than its estimate counts as the provider says; a lower one stays as it was admitted", () => {
  const admitted: Record<string, number> = { low: 4, high: 40 };
  expect(answerTokens([row("low"), row("high")], (callId) => admitted[callId])).toEqual([{ names: NAMES, tokens: 46 }]);
});

test("calls without an answer count nothing more", () => {
  expect(answerTokens([row("a", { output: 0 })], () => undefined)).toEqual([]);
  expect(answerTokens([], () => undefined)).toEqual([]);
});
