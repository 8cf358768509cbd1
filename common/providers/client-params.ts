import { findKind } from "./shared/registry.ts";

/** What a client may give of the provider for its own call, where `configurable_clientside_auth_params` of a deployment lists it. */
export const CLIENT_PARAMS = ["api_base", "api_key", "api_version"] as const;
export type ClientParam = (typeof CLIENT_PARAMS)[number];

/** The parameters that a deployment takes from clients. */
export interface ClientParamRules {
  readonly names: ReadonlySet<ClientParam>;
  /** Whether a client may name this address; only asked where `names` has api_base. */
  allowsAddress(address: string): boolean;
}

/** LiteLLM's list as rules, with what of it has no effect, or what is wrong with it. */
export type ReadClientParams =
  | { readonly rules: ClientParamRules; readonly ignored: readonly string[]; readonly problem?: undefined }
  | { readonly rules?: undefined; readonly problem: string };

/** Entries are names, or `{api_base: pattern}`; a pattern has to match the whole address. */
export function readClientParams(kind: string, listed: unknown): ReadClientParams {
  if (!Array.isArray(listed)) return { problem: "it must be a list" };
  const refusal = findKind(kind)?.noClientParams;
  const names = new Set<ClientParam>();
  const patterns: RegExp[] = [];
  const ignored = refusal === undefined ? [] : [`it has no effect, because ${refusal}`];
  for (const entry of refusal === undefined ? (listed as unknown[]) : []) {
    const [name, source] = entryOf(entry);
    const pattern = source === undefined ? ANY_ADDRESS : patternOf(source);
    if (!pattern) return { problem: `${JSON.stringify(source)} is not a regular expression` };
    if (name === undefined) ignored.push(`${JSON.stringify(entry)} has no effect: it is none of ${CLIENT_PARAMS.join(", ")}`);
    else names.add(name);
    if (name === "api_base") patterns.push(pattern);
  }
  return { rules: { names, allowsAddress: (address) => patterns.some((pattern) => pattern.test(address)) }, ignored };
}

const ANY_ADDRESS = /^/;

/** The name of an entry, and its pattern. */
function entryOf(entry: unknown): readonly [name: ClientParam | undefined, source?: string] {
  const source = isMap(entry) && Object.keys(entry).length === 1 ? entry["api_base"] : undefined;
  if (typeof source === "string" && source !== "") return ["api_base", source];
  return [CLIENT_PARAMS.find((each) => each === entry)];
}

function patternOf(source: string): RegExp | undefined {
  try {
    // Python's flag at the start, as in patterns of guardrails.
    const [, flag = ""] = /^\(\?(i)\)/.exec(source) ?? [];
    return new RegExp(`^(?:${flag === "" ? source : source.slice("(?i)".length)})$`, flag);
  } catch {
    return undefined;
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
