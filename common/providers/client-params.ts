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

/** LiteLLM's list as rules, or what is wrong with it. */
export type ReadClientParams =
  | { readonly rules: ClientParamRules; readonly problem?: undefined }
  | { readonly rules?: undefined; readonly problem: string };

/** Entries are names, or `{api_base: pattern}`; a pattern has to match the whole address. */
export function readClientParams(kind: string, listed: unknown): ReadClientParams {
  const refusal = findKind(kind)?.noClientParams;
  if (refusal !== undefined) return { problem: `models of ${kind} take none, because ${refusal}` };
  if (!Array.isArray(listed)) return { problem: "it must be a list" };
  const names = new Set<ClientParam>();
  const patterns: RegExp[] = [];
  for (const entry of listed as unknown[]) {
    const name = CLIENT_PARAMS.find((each) => each === entry);
    const pattern = name === undefined ? patternIn(entry) : undefined;
    if (typeof pattern === "string") return { problem: pattern };
    names.add(name ?? "api_base");
    if (pattern || name === "api_base") patterns.push(pattern ?? ANY_ADDRESS);
  }
  return { rules: { names, allowsAddress: (address) => patterns.some((pattern) => pattern.test(address)) } };
}

const ANY_ADDRESS = /^/;

/** The pattern of an entry that is not a name, or what is wrong with it. */
function patternIn(entry: unknown): RegExp | string {
  const source = isMap(entry) && Object.keys(entry).length === 1 ? entry["api_base"] : undefined;
  if (typeof source !== "string" || source === "") {
    return `${JSON.stringify(entry)} is none of ${CLIENT_PARAMS.join(", ")} and {api_base: pattern}`;
  }
  try {
    // Python's flag at the start, as in patterns of guardrails.
    const [, flag = ""] = /^\(\?(i)\)/.exec(source) ?? [];
    return new RegExp(`^(?:${flag === "" ? source : source.slice("(?i)".length)})$`, flag);
  } catch {
    return `${JSON.stringify(source)} is not a regular expression`;
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
