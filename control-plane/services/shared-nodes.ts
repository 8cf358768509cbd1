import type { ControlConfig } from "../config.ts";
import type { TrainerNode } from "../domain/training-records.ts";

type Config = Pick<ControlConfig, "serving" | "sharedTrainers">;

const FIRST = "node_local";

/** The operator's own nodes, those that serve trained models: everybody's to train on, where the operator wants that. They belong to no team. */
export function sharedNodes({ serving, sharedTrainers }: Config): readonly TrainerNode[] {
  if (!sharedTrainers) return [];
  return serving.urls.map((url, index) => ({
    id: index === 0 ? FIRST : `${FIRST}_${index + 1}`,
    name: index === 0 ? "shared trainer" : `shared trainer ${index + 1}`,
    url,
    organizationId: "",
    teamId: "",
    status: "unknown",
    updates: 0,
    failures: 0,
    bytes: 0,
    trainMs: 0,
    createdAt: 0,
  }));
}

export function sharedNode(config: Config, id: string): TrainerNode | undefined {
  return sharedNodes(config).find((node) => node.id === id);
}

/** Whether an address is one of the operator's nodes, under whatever id it was asked for: a team may have named the same one as a participant. */
export function isOperators({ serving }: Pick<Config, "serving">, url: string): boolean {
  return serving.urls.some((own) => new URL(own).origin === new URL(url).origin);
}
