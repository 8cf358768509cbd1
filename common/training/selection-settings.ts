import { z } from "zod";
import { ownStrategy, ownStrategyName } from "../strategies/shared/own-strategy.ts";
import { findStrategy } from "../strategies/shared/registry.ts";
import type { GivenStrategy } from "../strategies/shared/strategy.ts";
import { wholeUp } from "../strategies/shared/whole.ts";
import { mostParticipants } from "./enrollment-settings.ts";
import { rootOf } from "./root-settings.ts";
import { SECURE_PARTICIPANTS } from "./secure-settings.ts";

/** Properties of a joined participant as JSON, sent with each request for work because it cannot be asked for /v1/info. */
export const PROPERTIES_HEADER = "x-properties";
/** Most characters of that header. */
export const PROPERTIES_LENGTH_MAX = 4096;
const COUNT_MAX = 10_000;

/** What a participant says about itself, such as its region. */
export type Properties = Readonly<Record<string, unknown>>;

const count = z.int().min(1, "must be at least 1").max(COUNT_MAX, `must be at most ${COUNT_MAX}`);
const value = z.union([z.string().max(200), z.number(), z.boolean()], "must be a text, a number, true or false");

/** Which participants a round asks; `fraction` says how many of them. */
const requestedFields = {
  /** What a participant must declare as its `properties`: a value, or one of several. */
  properties: z
    .record(z.string().min(1).max(100), z.union([value, z.array(value).min(1).max(100)], "must be a value or a list of values"))
    .optional(),
  /** A round asks at least so many, and waits until there are as many. */
  min: count.optional(),
  /** A round waits for at most so many results. */
  max: count.optional(),
  /** The name of an own function (`POST /training/strategies`) `select(participants, context)`, which returns the ids of the participants. */
  function: ownStrategyName.optional(),
};

export const requestedSelection = z.strictObject(requestedFields);
/** As a federation has it: with a copy of its function. */
export const selectionSettings = z.strictObject({ ...requestedFields, own: ownStrategy.optional() });
export type Selection = z.infer<typeof selectionSettings>;

/** How many results a round waits for. */
export function wantedOf({
  participants,
  fraction,
  selection,
}: {
  readonly participants: number;
  readonly fraction: number;
  readonly selection?: Pick<Selection, "min" | "max"> | undefined;
}): number {
  const { min = 1, max = Number.POSITIVE_INFINITY } = selection ?? {};
  return Math.min(Math.max(1, participants), max, Math.max(min, wholeUp(participants * fraction)));
}

/** Whether a participant with these properties may be selected. */
export function isEligible(declared: Properties, asked: Selection["properties"] = {}): boolean {
  return Object.entries(asked).every(([name, wanted]) =>
    (Array.isArray(wanted) ? wanted : [wanted]).some((one) => Object.hasOwn(declared, name) && declared[name] === one),
  );
}

/** Reads properties; anything but a JSON object has none. */
export function readProperties(text: string | undefined): Properties {
  if (text === undefined || text.length > PROPERTIES_LENGTH_MAX) return {};
  try {
    const given: unknown = JSON.parse(text);
    return typeof given === "object" && given !== null && !Array.isArray(given) ? (given as Properties) : {};
  } catch {
    return {};
  }
}

interface Asked {
  readonly fraction: number;
  readonly selection?: Selection | undefined;
  readonly strategy: GivenStrategy;
  readonly secureAggregation?: unknown;
  readonly enrollment?: "listed" | "open" | undefined;
  readonly maxParticipants?: number | undefined;
  readonly participants: { readonly length: number };
}

interface Problem {
  readonly path: string[];
  readonly message: string;
}

/** What is wrong with how many participants a round asks, and which, by path. */
export function selectionProblems(asked: Asked): Problem[] {
  const { selection, strategy } = asked;
  const problems = secureProblem(asked);
  if (!selection) return problems;
  const { min, max } = selection;
  if (min !== undefined && max !== undefined && min > max)
    problems.push({ path: ["selection", "min"], message: `must be at most selection.max, ${max}` });
  // Rounds do not select the participant with the root data set: each has it anyway.
  const most = mostParticipants(asked) - (rootOf(strategy) === undefined ? 0 : 1);
  if (min !== undefined && min > most)
    problems.push({ path: ["selection", "min"], message: `must be at most ${most}, the number of participants to select from` });
  if (findStrategy(strategy.name)?.timing === "asynchronous")
    problems.push({ path: ["selection"], message: `does not work with ${strategy.name}, whose rounds do not select participants` });
  return problems;
}

/** Rounds of too few participants that mask. Too few participants at all are a problem of their own. */
function secureProblem({ secureAggregation, participants: { length: participants }, fraction, selection }: Asked): Problem[] {
  const { min: least } = SECURE_PARTICIPANTS;
  if (!secureAggregation) return [];
  if (selection?.max !== undefined && selection.max < least)
    return [{ path: ["selection", "max"], message: `must be at least ${least} with secureAggregation` }];
  const wanted = wantedOf({ participants, fraction, selection });
  if (participants < least || wanted >= least) return [];
  const message = `selects ${wanted} of ${participants} participants, and secureAggregation needs at least ${least} in a round; raise it, or set selection.min`;
  return [{ path: ["fraction"], message }];
}
