import { queryOptions } from "@tanstack/react-query";
import { get } from "./client.ts";
import type { Federation, FederationRound, List, TrainedModel, TrainedVersion, TrainerNode } from "./types.ts";

const PAGE_SIZE = 100;
const at = (...parts: readonly string[]): string => `/training/${parts.map(encodeURIComponent).join("/")}`;

export const federationsQuery = (page: number) =>
  queryOptions({
    queryKey: ["federations", page],
    queryFn: ({ signal }) => get<List<Federation>>(at("federations"), { page, pageSize: 20 }, signal),
  });

export const federationQuery = (id: string) =>
  queryOptions({
    queryKey: ["federation", id],
    queryFn: async ({ signal }) => (await get<{ federation: Federation }>(at("federations", id), undefined, signal)).federation,
  });

/** Every round, in order. */
export const roundsQuery = (id: string) =>
  queryOptions({
    queryKey: ["federation", id, "rounds"],
    queryFn: async ({ signal }) => {
      const rounds: FederationRound[] = [];
      for (let page = 1; ; page++) {
        const { data, meta } = await get<List<FederationRound>>(at("federations", id, "rounds"), { page, pageSize: PAGE_SIZE }, signal);
        rounds.push(...data);
        if (page >= meta.totalPages) return rounds;
      }
    },
  });

export const nodesQuery = queryOptions({
  queryKey: ["nodes"],
  queryFn: ({ signal }) => get<List<TrainerNode>>(at("nodes"), { pageSize: PAGE_SIZE }, signal),
});

export const trainedModelsQuery = queryOptions({
  queryKey: ["trained-models"],
  queryFn: ({ signal }) => get<List<TrainedModel>>(at("models"), { pageSize: PAGE_SIZE }, signal),
});

export const versionsQuery = (model: string) =>
  queryOptions({
    queryKey: ["trained-models", model, "versions"],
    queryFn: ({ signal }) => get<List<TrainedVersion>>(at("models", model, "versions"), { pageSize: PAGE_SIZE }, signal),
  });
