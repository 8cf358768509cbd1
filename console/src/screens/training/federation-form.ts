import { epsilonAfter } from "../../../../common/training/privacy-account.ts";
import type { Strategy } from "../../api/types.ts";
import { nanoNumber, readUsd } from "../../format/money.ts";

export interface FederationForm {
  readonly name: string;
  readonly task: string;
  readonly dataset: string;
  readonly strategy: string;
  /** Settings of the strategy that differ from their defaults, by name. */
  readonly settings: Readonly<Record<string, number | string>>;
  readonly rounds: number;
  /** Addresses of known nodes. */
  readonly chosenNodes: readonly string[];
  /** Other addresses, one per line. */
  readonly nodes: string;
  readonly places: number;
  readonly budget: string;
  readonly privacy: "none" | "central" | "local";
  readonly clipNorm: number;
  readonly noiseMultiplier: number;
  readonly delta: number;
  readonly isSecure: boolean;
}

/** Of each part of the form. */
export interface FieldsProps {
  readonly form: FederationForm;
  readonly set: (change: Partial<FederationForm>) => void;
}

export const NEW_FEDERATION: FederationForm = {
  name: "",
  task: "softmax",
  dataset: '{"name": "digits"}',
  strategy: "fedavg",
  settings: {},
  rounds: 5,
  chosenNodes: [],
  nodes: "",
  places: 0,
  budget: "",
  privacy: "none",
  clipNorm: 1,
  noiseMultiplier: 1,
  delta: 1e-5,
  isSecure: false,
};

/** The request that creates the federation. Throws an error for people if a field cannot be read. */
export function bodyOf(form: FederationForm): object {
  const { name, task, strategy, settings, rounds, chosenNodes, nodes, places, budget, privacy, isSecure } = form;
  const urls = [...chosenNodes, ...nodes.split(/\s+/).filter(Boolean)];
  const usd = readUsd(budget);
  if (budget.trim() !== "" && Number(budget) !== 0 && usd === undefined) throw new Error("Enter the reward in USD, such as 0.50.");
  const { clipNorm, noiseMultiplier, delta } = form;
  return {
    name,
    task: { name: task, ...datasetOf(form) },
    strategy: { name: strategy, ...settings },
    rounds,
    participants: [...urls.map((url) => ({ url })), ...Array.from({ length: places }, () => ({ join: true }))],
    ...(usd === undefined ? {} : { budgetNanoUsd: nanoNumber(usd) }),
    ...(privacy === "none" ? {} : { dp: { mode: privacy, clipNorm, noiseMultiplier, delta } }),
    ...(isSecure ? { secureAggregation: true } : {}),
  };
}

function datasetOf({ dataset }: FederationForm): object {
  if (dataset.trim() === "") return {};
  try {
    return { dataset: JSON.parse(dataset) as unknown };
  } catch (cause) {
    throw new Error('The dataset must be JSON, such as {"name": "digits"}.', { cause });
  }
}

/** The epsilon that all rounds together cost; undefined without noise or with values that no mechanism has. */
export function epsilonOf({ privacy, noiseMultiplier, delta, rounds }: FederationForm): number | undefined {
  if (privacy === "none" || !(noiseMultiplier > 0) || !(delta > 0 && delta < 1) || rounds < 1) return undefined;
  return epsilonAfter({ noiseMultiplier, delta }, rounds);
}

/** The settings of a strategy that a federation can set. */
export const ownSettings = (strategy: Strategy | undefined): Strategy["settings"] =>
  (strategy?.settings ?? []).filter(({ only, type }) => only !== "aggregate" && type !== "list");

/** What starts a participant behind NAT, with everything that it needs. */
export const joinCommand = (origin: string, token: string): string =>
  `TRAINER_JOIN_URL=${origin} TRAINER_JOIN_TOKEN=${token} node trainer-node/main.ts`;
