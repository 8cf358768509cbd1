import type { RoutingDeployment, RoutingGroup } from "../../../api/gateway.ts";
import { formatMs } from "../../../format/words.ts";

/** Where a group's calls go, as its settings say. */
export interface Share {
  readonly deployment: RoutingDeployment;
  /** Of the calls that come this far, 0 to 1; undefined: decided call by call. */
  readonly share: number | undefined;
  /** 1: tried first. Later ones get calls only while those before them cannot take any. */
  readonly turn: number;
}

const WEIGHTS = [
  ({ weight }: RoutingDeployment) => weight,
  ({ requestsPerMinute }: RoutingDeployment) => requestsPerMinute,
  ({ tokensPerMinute }: RoutingDeployment) => tokensPerMinute,
] as const;

/** Deployments in the order in which they are tried, each with its share among those of the same turn. */
export function sharesOf({ deployments, strategy }: Pick<RoutingGroup, "deployments" | "strategy">): Share[] {
  const turns = [...new Set(deployments.map(({ order }) => order ?? Number.POSITIVE_INFINITY))].sort((left, right) => left - right);
  return turns.flatMap((order, index) => {
    const peers = deployments.filter((each) => (each.order ?? Number.POSITIVE_INFINITY) === order);
    const shares = strategy === "simple-shuffle" || peers.length === 1 ? byWeight(peers) : undefined;
    return peers.map((deployment, place) => ({ deployment, share: shares?.[place], turn: index + 1 }));
  });
}

/** By weight, else rpm, else tpm, whichever any of them has; else each the same. As the gateway picks. */
function byWeight(peers: readonly RoutingDeployment[]): number[] {
  const weights = WEIGHTS.map((read) => peers.map((peer) => read(peer) ?? 0)).find((list) => list.some((weight) => weight > 0));
  if (!weights) return peers.map(() => 1 / peers.length);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** How a deployment fares, in words. */
export function healthWords({ health }: Pick<RoutingDeployment, "health">): string {
  const { state, coolingMs, coolingCause } = health;
  if (state === "up") return "up";
  if (state === "probing") return "the next call finds out whether it is back";
  return `cooling for ${coolingMs < 120_000 ? `${Math.ceil(coolingMs / 1000)} s` : formatMs(coolingMs)} after ${coolingCause === "rate-limit" ? "a rate limit" : "failures"}`;
}

/** Groups worth a picture: those that something may happen in beyond "one name, one deployment", and what they fall back to. */
export function picturedGroups(groups: readonly RoutingGroup[], chosen: string | undefined): RoutingGroup[] {
  const byName = new Map(groups.map((group) => [group.name, group]));
  const start = chosen === undefined ? groups.filter(isInteresting) : groups.filter(({ name }) => name === chosen);
  const shown = new Map<string, RoutingGroup>();
  const visit = (group: RoutingGroup | undefined) => {
    if (!group || shown.has(group.name)) return;
    shown.set(group.name, group);
    for (const name of allFallbacks(group)) visit(byName.get(name));
  };
  start.forEach(visit);
  return [...shown.values()];
}

function allFallbacks({ fallbacks }: RoutingGroup): string[] {
  return [...new Set([...fallbacks.general, ...fallbacks.contextWindow, ...fallbacks.contentPolicy])];
}

const isInteresting = (group: RoutingGroup): boolean => group.deployments.length > 1 || allFallbacks(group).length > 0;
