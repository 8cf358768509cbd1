import type { RoutingDeployment, RoutingGroup } from "../../../api/gateway.ts";
import { formatMs } from "../../../format/text.ts";

/** The configured traffic share of a deployment. */
export interface Share {
  readonly deployment: RoutingDeployment;
  /** Share of the calls that reach this order, 0 to 1; undefined if the strategy decides per call. */
  readonly share: number | undefined;
  /** 1 is tried first. Deployments of a later order get calls only while no earlier one is available. */
  readonly turn: number;
}

const WEIGHTS = [
  ({ weight }: RoutingDeployment) => weight,
  ({ requestsPerMinute }: RoutingDeployment) => requestsPerMinute,
  ({ tokensPerMinute }: RoutingDeployment) => tokensPerMinute,
] as const;

/** Deployments in the order in which they are tried, each with its share among those of the same order. */
export function sharesOf({ deployments, strategy }: Pick<RoutingGroup, "deployments" | "strategy">): Share[] {
  const turns = [...new Set(deployments.map(({ order }) => order ?? Number.POSITIVE_INFINITY))].sort((left, right) => left - right);
  return turns.flatMap((order, index) => {
    const peers = deployments.filter((each) => (each.order ?? Number.POSITIVE_INFINITY) === order);
    const shares = strategy === "simple-shuffle" || peers.length === 1 ? byWeight(peers) : undefined;
    return peers.map((deployment, place) => ({ deployment, share: shares?.[place], turn: index + 1 }));
  });
}

/** Shares by weight, else by RPM, else by TPM, else equal, as the gateway picks. */
function byWeight(peers: readonly RoutingDeployment[]): number[] {
  const weights = WEIGHTS.map((read) => peers.map((peer) => read(peer) ?? 0)).find((list) => list.some((weight) => weight > 0));
  if (!weights) return peers.map(() => 1 / peers.length);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** The health of a deployment as text. */
export function healthText({ health }: Pick<RoutingDeployment, "health">): string {
  const { state, coolingMs, coolingCause } = health;
  if (state === "up") return "up";
  if (state === "probing") return "probing with the next call";
  return `in cool-down for ${coolingMs < 120_000 ? `${Math.ceil(coolingMs / 1000)} s` : formatMs(coolingMs)} after ${coolingCause === "rate-limit" ? "a rate limit" : "failures"}`;
}

/** Groups to draw: the chosen one, or all with several deployments or fallbacks, and the groups they fall back to. */
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
