import type { RoutingDeployment, RoutingGroup } from "../../../api/gateway.ts";

export type FallbackField = keyof RoutingGroup["fallbacks"];
export const FALLBACK_FIELDS: readonly FallbackField[] = ["general", "contextWindow", "contentPolicy"];

/** One deployment of the form. */
export interface DeploymentDraft {
  readonly id: string;
  readonly weight: string;
  /** Shares the calls with the deployment before it, instead of being used when that one is not available. */
  readonly joins: boolean;
}

/** The routing of a model group as the form has it. */
export interface RouteDraft {
  /** Empty: the default of the gateway. */
  readonly strategy: string;
  readonly deployments: readonly DeploymentDraft[];
  readonly fallbacks: Readonly<Record<FallbackField, readonly string[]>>;
}

/** Whether the order of the group's deployments can be set here: the file sets none, and none is a version of a trained model. */
export function canOrder({ deployments, fileFields }: Pick<RoutingGroup, "deployments" | "fileFields">): boolean {
  return deployments.every(({ id, source }) => source !== "training" && !fileFields.includes(`order/${id}`));
}

export function canWeigh(
  { fileFields }: Pick<RoutingGroup, "fileFields">,
  { id, source }: Pick<RoutingDeployment, "id" | "source">,
): boolean {
  return source !== "training" && !fileFields.includes(`weight/${id}`);
}

export function routeDraft({ deployments, stored }: RoutingGroup): RouteDraft {
  const last = Number.POSITIVE_INFINITY;
  const inOrder = deployments.toSorted((left, right) => (left.order ?? last) - (right.order ?? last) || 0);
  return {
    strategy: stored.strategy ?? "",
    deployments: inOrder.map(({ id, weight, order }, index) => ({
      id,
      weight: weight === null ? "" : String(weight),
      joins: index > 0 && order === (inOrder[index - 1]?.order ?? null),
    })),
    fallbacks: {
      general: stored.fallbacks.general ?? [],
      contextWindow: stored.fallbacks.contextWindow ?? [],
      contentPolicy: stored.fallbacks.contentPolicy ?? [],
    },
  };
}

/** The same deployments in another order; the first one joins no other. */
export function reordered(deployments: readonly DeploymentDraft[], ids: readonly string[]): DeploymentDraft[] {
  const byId = new Map(deployments.map((deployment) => [deployment.id, deployment]));
  return ids.flatMap((id, index) => {
    const deployment = byId.get(id);
    return deployment ? [index === 0 ? { ...deployment, joins: false } : deployment] : [];
  });
}

/** What is wrong with a weight; undefined: nothing. */
export function weightProblem(weight: string): string | undefined {
  const number = Number(weight);
  return weight.trim() === "" || (Number.isFinite(number) && number >= 0) ? undefined : "Must be a number, zero or more";
}

/** What is sent: only what can be set here, and no order where all deployments share the calls. */
export function routeBody(group: RoutingGroup, { strategy, deployments, fallbacks }: RouteDraft) {
  const has = (field: string) => !group.fileFields.includes(field);
  const isOrdered = canOrder(group) && deployments.some(({ joins }, index) => index > 0 && !joins);
  let order = 0;
  const settings = deployments.flatMap(({ id, weight, joins }) => {
    if (!joins) order++;
    const deployment = group.deployments.find((own) => own.id === id);
    const isWeighed = deployment !== undefined && canWeigh(group, deployment) && weight.trim() !== "";
    if (!isWeighed && !isOrdered) return [];
    return [{ id, weight: isWeighed ? Number(weight) : null, order: isOrdered ? order : null }];
  });
  const lists = FALLBACK_FIELDS.flatMap((field) =>
    has(`fallbacks.${field}`) && fallbacks[field].length > 0 ? [[field, fallbacks[field]] as const] : [],
  );
  return { strategy: has("strategy") && strategy !== "" ? strategy : null, deployments: settings, fallbacks: Object.fromEntries(lists) };
}
