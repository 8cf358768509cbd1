import { countedShare } from "../../../../common/training/client-sampling.ts";
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
  /** Whether everyone with the join link takes part. */
  readonly isOpen: boolean;
  /** Of the participants, for each round, in percent. */
  readonly sharePercent: number;
  /** Fewest and most participants of a round; undefined for no limit. */
  readonly clientsMin: number | undefined;
  readonly clientsMax: number | undefined;
  /** Most samples that a participant may declare; undefined for no limit of its own. */
  readonly samplesMax: number | undefined;
  readonly budget: string;
  readonly privacy: "none" | "central" | "local";
  readonly clipNorm: number;
  readonly noiseMultiplier: number;
  readonly delta: number;
  /** The federation ends before the round that would spend more; undefined for no limit. */
  readonly epsilonBudget: number | undefined;
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
  isOpen: false,
  sharePercent: 100,
  clientsMin: undefined,
  clientsMax: undefined,
  samplesMax: undefined,
  budget: "",
  privacy: "none",
  clipNorm: 1,
  noiseMultiplier: 1,
  delta: 1e-5,
  epsilonBudget: undefined,
  isSecure: false,
};

/** The request that creates the federation. Throws an error for people if a field cannot be read. */
export function bodyOf(form: FederationForm): object {
  const { name, task, strategy, settings, rounds, places, budget, privacy, isSecure, isOpen, epsilonBudget, samplesMax } = form;
  const usd = readUsd(budget);
  if (budget.trim() !== "" && Number(budget) !== 0 && usd === undefined) throw new Error("Enter the reward in USD, such as 0.50.");
  const { clipNorm, noiseMultiplier, delta } = form;
  return {
    name,
    task: { name: task, ...datasetOf(form) },
    strategy: { name: strategy, ...settings },
    rounds,
    participants: [...urlsOf(form).map((url) => ({ url })), ...Array.from({ length: places }, () => ({ join: true }))],
    ...(isOpen ? { enrollment: "open" } : {}),
    ...samplingOf(form),
    ...(samplesMax === undefined ? {} : { maxSamples: samplesMax }),
    ...(usd === undefined ? {} : { budgetNanoUsd: nanoNumber(usd) }),
    ...(privacy === "none"
      ? {}
      : { dp: { mode: privacy, clipNorm, noiseMultiplier, delta, ...(epsilonBudget === undefined ? {} : { epsilonBudget }) } }),
    ...(isSecure ? { secureAggregation: true } : {}),
  };
}

const urlsOf = ({ chosenNodes, nodes }: FederationForm): string[] => [...chosenNodes, ...nodes.split(/\s+/).filter(Boolean)];

/** Which participants a round asks. */
function samplingOf({ sharePercent, clientsMin: min, clientsMax: max }: FederationForm): { fraction?: number; selection?: object } {
  return {
    ...(sharePercent < 100 ? { fraction: sharePercent / 100 } : {}),
    ...(min === undefined && max === undefined
      ? {}
      : { selection: { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) } }),
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

/** What rounds with noise cost. */
export interface Privacy {
  /** Of all rounds together. */
  readonly epsilon: number;
  /** Whether the sampling of participants makes it smaller. */
  readonly isSampled: boolean;
  /** How many rounds fit the budget. */
  readonly roundsInBudget: number;
}

/** The epsilon that the rounds cost, as the coordinator counts it; undefined without noise or with values that no mechanism has. */
export function privacyOf(form: FederationForm, strategy: Pick<Strategy, "sees"> | undefined): Privacy | undefined {
  const { privacy, noiseMultiplier, delta, rounds, epsilonBudget = Number.POSITIVE_INFINITY } = form;
  if (privacy === "none" || !(noiseMultiplier > 0) || !(delta > 0 && delta < 1) || rounds < 1) return undefined;
  const { fraction = 1, selection } = samplingOf(form);
  const secureAggregation = form.isSecure ? true : undefined;
  const asked = { dp: { mode: privacy }, secureAggregation, fraction, overSelect: 0, selection, isOpen: form.isOpen };
  const share = countedShare({ ...asked, isSum: strategy?.sees === "sum" });
  const participants = urlsOf(form).length + form.places;
  const sampling = share === undefined || participants === 0 ? undefined : { share, participants };
  const spent = (count: number) => epsilonAfter({ noiseMultiplier, delta }, count, sampling);
  const epsilon = spent(rounds);
  const isSampled = sampling !== undefined && epsilon < epsilonAfter({ noiseMultiplier, delta }, rounds);
  return { epsilon, isSampled, roundsInBudget: epsilon <= epsilonBudget ? rounds : lastWithin(spent, { rounds, epsilonBudget }) };
}

/** The most rounds whose epsilon, which grows with them, is within the budget. */
function lastWithin(spent: (rounds: number) => number, { rounds, epsilonBudget }: { rounds: number; epsilonBudget: number }): number {
  let [fits, exceeds] = [0, rounds];
  while (exceeds - fits > 1) {
    const middle = Math.floor((fits + exceeds) / 2);
    if (spent(middle) <= epsilonBudget) fits = middle;
    else exceeds = middle;
  }
  return fits;
}

/** The settings of a strategy that a federation can set. */
export const ownSettings = (strategy: Strategy | undefined): Strategy["settings"] =>
  (strategy?.settings ?? []).filter(({ only, type }) => only !== "aggregate" && type !== "list");

/** What starts a participant behind NAT, with everything that it needs. */
export const joinCommand = (origin: string, token: string): string =>
  `TRAINER_JOIN_URL=${origin} TRAINER_JOIN_TOKEN=${token} node trainer-node/main.ts`;
