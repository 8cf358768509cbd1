import { setImmediate as turn } from "node:timers/promises";
import type { NanoUsd } from "../../../common/money.ts";
import { unit } from "../../../common/vectors.ts";
import type { Caller } from "../../../proto/gen/tributary/access/v1/access.ts";
import type { Filter, SearchAnswer, VectorStoreObject } from "../../schemas/stored/vector-stores.ts";
import { type EmbedDeps, embed } from "./embed.ts";
import { decodeIndex, similarities } from "./file-index.ts";
import { passes } from "./filters.ts";
import { filesOf, type StoredDeps } from "./stored-files.ts";

export interface StoreQuery {
  readonly queries: readonly string[];
  readonly filter: Filter | undefined;
  readonly limit: number;
  readonly threshold: number;
}

interface Searcher {
  readonly caller: Caller;
  readonly store: VectorStoreObject;
  readonly signal: AbortSignal;
  readonly onceFor?: string;
  /** Called with the cost of each billed call. */
  readonly onBill?: (cost: NanoUsd) => void;
}

type Found = SearchAnswer["data"][number];

/** The chunks of a store that are nearest to any of the queries. Files are read one after the other, with turns for other calls in between. */
export async function searchStore(
  deps: StoredDeps & EmbedDeps,
  { store, ...by }: Searcher,
  { queries, filter, limit, threshold }: StoreQuery,
): Promise<Found[]> {
  const { caller, signal } = by;
  const vectors = (await embed(deps, { ...by, model: store.embedding_model, texts: queries })).map(unit);
  let best: Found[] = [];
  for await (const { id, body } of filesOf(deps, { teamId: caller.teamId, storeId: store.id })) {
    const { file, filename } = body;
    if (file.status !== "completed" || (filter && !passes(file.attributes, filter))) continue;
    signal.throwIfAborted();
    const content = await deps.records.getContent(caller.teamId, id);
    if (!content) continue;
    const index = decodeIndex(Buffer.concat(await Array.fromAsync(content)));
    const scores = vectors.map((vector) => similarities(index, vector)).filter((each) => each !== undefined);
    const found = index.texts.map((text, chunk) => {
      const score = Math.max(0, ...scores.map((each) => each[chunk] ?? 0));
      return { file_id: file.id, filename, score, attributes: file.attributes, content: [{ type: "text" as const, text }] };
    });
    best = [...best, ...found.filter(({ score }) => score >= threshold)].sort((one, other) => other.score - one.score).slice(0, limit);
    await turn();
  }
  return best;
}
