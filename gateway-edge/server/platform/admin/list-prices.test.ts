import { findModelData } from "../../../../common/model-data/model-data.ts";
import { listPricesAnswer, listPricesQuery } from "../../../schemas/platform/catalog.ts";
import { listPrices } from "./list-prices.ts";

async function ask(query: Record<string, string>) {
  const input = { body: undefined, query: listPricesQuery.parse(query), params: undefined };
  // Admins are proven before the handler, which needs nothing of the request.
  return listPricesAnswer.parse(await listPrices.handler(input, undefined as never));
}

test("a page has the list prices that a model without an own price gets", async () => {
  const { data, meta } = await ask({ kind: "openai", search: "GPT-4o-mini", pageSize: "100" });
  expect(meta).toMatchObject({ page: 1, pageSize: 100, total: data.length, totalPages: 1 });
  const mini = data.find(({ inferenceModelId }) => inferenceModelId === "gpt-4o-mini");
  const listed = findModelData({ kind: "openai", model: "gpt-4o-mini" });
  expect(mini).toMatchObject({ type: "chat", contextWindow: 128_000, pricing: { unit: "token", inputUsd: "0.15", outputUsd: "0.60" } });
  expect(mini?.pricing).toMatchObject({ input: listed?.pricing?.input, cachedInput: listed?.pricing?.cachedInput });
});

test("pages of a kind have every model once, and only names that have data", async () => {
  const first = await ask({ kind: "bedrock", pageSize: "100" });
  const second = await ask({ kind: "bedrock", pageSize: "100", page: "2" });
  const names = [...first.data, ...second.data].map(({ inferenceModelId }) => inferenceModelId);
  expect(names).toHaveLength(first.meta.total);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => name.startsWith("regional."))).toEqual([]);
});

test("a kind without a price list has no models, and an unknown kind is not valid", async () => {
  expect(await ask({ kind: "ollama" })).toEqual({ data: [], meta: { page: 1, pageSize: 20, total: 0, totalPages: 0 } });
  expect(listPricesQuery.safeParse({ kind: "telepathy" }).success).toBe(false);
});
