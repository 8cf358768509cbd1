import { setImmediate as nextTurn } from "node:timers/promises";
import { findModelData, listedModels, type ModelData } from "../../../../common/model-data/model-data.ts";
import { priceMessage } from "../../../../common/pricing.ts";
import * as schemas from "../../../schemas/platform/catalog.ts";
import { operation } from "../../middleware/operation.ts";
import { presentPrice } from "../present-catalog.ts";

export const listPrices = operation({
  method: "get",
  path: "/api/admin/list-prices",
  summary: "List the models of a provider kind that the public price lists know, with their list prices",
  tag: "Admin",
  auth: "admin",
  // The price lists are part of the edge.
  adminFirst: true,
  query: schemas.listPricesQuery,
  status: 200,
  answer: schemas.listPricesAnswer,
  handler: async ({ query: { kind, search = "", page, pageSize } }) => {
    const text = search.toLowerCase();
    const found = (await callableModels(kind)).filter((model) => model.toLowerCase().includes(text));
    const data = found
      .slice((page - 1) * pageSize, page * pageSize)
      .flatMap((model) => presentListed(model, findModelData({ kind, model })));
    return { data, meta: { page, pageSize, total: found.length, totalPages: Math.ceil(found.length / pageSize) } };
  },
});

const MODELS_PER_TURN = 20;
const known = new Map<string, readonly string[]>();

/** Some entries of the lists are no names that a provider takes: those have no data. Calls of others run between a few models of a long list. */
async function callableModels(kind: string): Promise<readonly string[]> {
  const before = known.get(kind);
  if (before) return before;
  const callable: string[] = [];
  for (const [index, model] of listedModels(kind).entries()) {
    if (index % MODELS_PER_TURN === 0) await nextTurn();
    if (findModelData({ kind, model })) callable.push(model);
  }
  known.set(kind, callable);
  return callable;
}

function presentListed(model: string, data: ModelData | undefined) {
  if (!data) return [];
  const { mode, pricing, contextWindow = null, maxOutputTokens = null, capabilities } = data;
  return [
    {
      inferenceModelId: model,
      type: mode,
      contextWindow,
      maxOutputTokens,
      pricing: pricing ? presentPrice(priceMessage(pricing)) : null,
      capabilities: [...capabilities],
    },
  ];
}
