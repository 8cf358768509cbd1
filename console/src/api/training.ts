import { queryOptions } from "@tanstack/react-query";
import { get, post } from "./client.ts";
import type { Federation, FederationMetrics, FederationRound, List, Strategy, TrainedModel, TrainedVersion, TrainerNode } from "./types.ts";

const PAGE_SIZE = 100;
const at = (...parts: readonly string[]): string => `/training/${parts.map(encodeURIComponent).join("/")}`;

export const federationsQuery = (page: number) =>
  queryOptions({
    queryKey: ["federations", page],
    queryFn: ({ signal }) => get<List<Federation>>(at("federations"), { page, pageSize: 20 }, signal),
  });

/** The newest federations, to choose from. */
export const allFederationsQuery = queryOptions({
  queryKey: ["federations", "all"],
  queryFn: async ({ signal }) => (await get<List<Federation>>(at("federations"), { pageSize: PAGE_SIZE }, signal)).data,
});

export const metricsQuery = (id: string) =>
  queryOptions({
    queryKey: ["federation", id, "metrics"],
    queryFn: ({ signal }) => get<FederationMetrics>(at("federations", id, "metrics"), undefined, signal),
  });

export const federationQuery = (id: string) =>
  queryOptions({
    queryKey: ["federation", id],
    queryFn: async ({ signal }) => (await get<{ federation: Federation }>(at("federations", id), undefined, signal)).federation,
  });

/** All rounds, in order. */
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

/** One round; rounds are listed from the first. */
export const roundQuery = (id: string, round: number) =>
  queryOptions({
    queryKey: ["federation", id, "round", round],
    queryFn: async ({ signal }) =>
      (await get<List<FederationRound>>(at("federations", id, "rounds"), { page: round, pageSize: 1 }, signal)).data[0] ?? null,
  });

export const nodesQuery = queryOptions({
  queryKey: ["nodes"],
  queryFn: ({ signal }) => get<List<TrainerNode>>(at("nodes"), { pageSize: PAGE_SIZE }, signal),
});

/** Strategies that a federation can use. */
export const strategiesQuery = queryOptions({
  queryKey: ["strategies"],
  queryFn: async ({ signal }) =>
    (await get<{ data: Strategy[] }>(at("strategies"), undefined, signal)).data.filter((one) => one.federations),
});

/** Published versions of the model of a federation. */
export const versionsQuery = (id: string, model: string | undefined) =>
  queryOptions({
    queryKey: ["federation", id, "versions", model],
    queryFn: ({ signal }) =>
      get<List<TrainedVersion> & { model: TrainedModel }>(at("federations", id, "versions"), { pageSize: PAGE_SIZE, model }, signal),
  });

export const change = (id: string, action: "pause" | "resume" | "stop"): Promise<unknown> => post(at("federations", id, action));

export const extend = (id: string, rounds: number): Promise<unknown> => post(at("federations", id, "extend"), { rounds });

export const publish = (id: string, body: object): Promise<{ model: TrainedModel; version: TrainedVersion }> =>
  post(at("federations", id, "publish"), body);

export const rollBack = (id: string, body: { model: string; version: number }): Promise<{ model: TrainedModel }> =>
  post(at("federations", id, "rollback"), body);

export interface CreatedFederation {
  federation: Federation;
  joinTokens: string[];
  joinLink: string | null;
  warnings: string[];
}

export const createFederation = (body: object): Promise<CreatedFederation> => post(at("federations"), body);

export interface Verified {
  ok: boolean;
  rounds: number;
  remade: number;
  firstBad: { round: number; reason: string } | null;
}

export const verify = (id: string): Promise<Verified> => get(at("federations", id, "verify"));

export const eventsAddress = (id: string): string => at("federations", id, "events");
