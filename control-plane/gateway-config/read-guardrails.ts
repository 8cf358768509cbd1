import { GUARDRAIL_KINDS, type GuardrailKind, type GuardrailSettingType, PII_ENTITIES } from "../../common/guardrails/kinds.ts";
import type { ConfigIssues, Located, LocatedMap, SourcePosition } from "./located.ts";
import { checkType, type ValueType } from "./value-types.ts";

type Params = Readonly<Record<string, ValueType>>;

const VALUE_TYPES: Readonly<Record<GuardrailSettingType, ValueType>> = {
  text: "text",
  texts: "texts",
  patterns: "list",
  flag: "flag",
  count: "count",
  object: "map",
};
/** LiteLLM's other name of a setting. */
const OTHER_NAMES: Readonly<Record<string, Params>> = { "pii-masking": { output_parse_pii: "flag" } };
const COMMON: Params = { guardrail: "text", mode: "text or texts", default_on: "flag" };
const MODES: readonly string[] = ["pre_call", "post_call", "during_call"];
const ACTIONS: readonly string[] = ["block", "mask", "BLOCK", "MASK"];
const GUARDRAILS_MAX = 200;

/** Reads the supported entries of the `guardrails` section. An unsupported kind is a warning, an invalid entry a problem. */
export function readGuardrails(
  node: Located | undefined,
  resolve: (node: Located, where: string) => unknown,
  issues: ConfigIssues,
): Record<string, unknown>[] {
  if (!node || (node.kind === "scalar" && node.value === null)) return [];
  if (node.kind !== "list" || node.items.length > GUARDRAILS_MAX) {
    issues.problem(node.at, `guardrails must be a list of at most ${GUARDRAILS_MAX} entries`);
    return [];
  }
  const taken = new Map<string, SourcePosition>();
  return node.items.flatMap((item) => {
    const entry = entryOf(item, taken, issues);
    if (!entry || !isUsable(entry, issues)) return [];
    const params = resolve(entry.params, `guardrail ${entry.name}`) as Record<string, unknown>;
    checkPatterns(entry, params, issues);
    return [{ guardrail_name: entry.name, litellm_params: params }];
  });
}

interface GuardrailEntry {
  readonly name: string;
  readonly kind: string;
  readonly params: LocatedMap;
}

function entryOf(item: Located, taken: Map<string, SourcePosition>, issues: ConfigIssues): GuardrailEntry | undefined {
  const name = item.kind === "map" ? textOf(item.entries.get("guardrail_name")?.node) : undefined;
  const params = item.kind === "map" ? item.entries.get("litellm_params")?.node : undefined;
  const kind = params?.kind === "map" ? textOf(params.entries.get("guardrail")?.node) : undefined;
  if (name === undefined || params?.kind !== "map" || kind === undefined) {
    issues.problem(item.at, "an entry of guardrails needs a guardrail_name and litellm_params with a guardrail");
    return undefined;
  }
  const before = taken.get(name);
  if (before) issues.problem(item.at, `the guardrail "${name}" is defined twice, first at ${before.file}:${before.line}`);
  taken.set(name, item.at);
  return { name, kind, params };
}

function isUsable({ name, kind, params }: GuardrailEntry, issues: ConfigIssues): boolean {
  const known = Object.hasOwn(GUARDRAIL_KINDS, kind) ? GUARDRAIL_KINDS[kind] : undefined;
  if (!known) {
    const kinds = Object.keys(GUARDRAIL_KINDS).join(", ");
    issues.warn(
      params.at,
      `the guardrail "${name}" is of the kind ${kind}, which is not supported; it has no effect (supported: ${kinds})`,
    );
    return false;
  }
  const missing = Object.entries(known.settings).flatMap(([param, { required }]) =>
    required && !params.entries.has(param) ? [param] : [],
  );
  for (const param of missing) issues.problem(params.at, `the guardrail "${name}" needs ${param}`);
  const types = { ...COMMON, ...OTHER_NAMES[kind], ...typesOf(known) };
  for (const [param, { keyAt, node }] of params.entries) {
    const type = types[param];
    if (type === undefined) issues.warn(keyAt, `guardrail ${name}: ${param} is not known; it has no effect`);
    else checkType(node, type, `guardrail ${name}: ${param}`, issues);
  }
  checkWords(params, { param: "mode", allowed: MODES, name }, issues);
  const mode = params.entries.get("mode")?.node;
  if (textOf(mode) === "during_call")
    issues.warn(mode?.at ?? params.at, `guardrail ${name}: during_call runs before the call, like pre_call`);
  checkWords(params, { param: "action", allowed: ACTIONS, name }, issues);
  checkWords(params, { param: "entities", allowed: PII_ENTITIES, name }, issues);
  return missing.length === 0;
}

function typesOf({ settings }: GuardrailKind): Params {
  return Object.fromEntries(Object.entries(settings).map(([param, { type }]) => [param, VALUE_TYPES[type]]));
}

function checkWords(
  params: LocatedMap,
  { param, allowed, name }: { param: string; allowed: readonly string[]; name: string },
  issues: ConfigIssues,
) {
  const node = params.entries.get(param)?.node;
  for (const item of node?.kind === "list" ? node.items : node ? [node] : []) {
    const word = textOf(item);
    if (word !== undefined && !allowed.includes(word))
      issues.problem(item.at, `guardrail ${name}: ${param} must be one of ${allowed.join(", ")}`);
  }
}

/** An invalid pattern would otherwise be found only by the first call. */
function checkPatterns({ name, params: { entries } }: GuardrailEntry, params: Record<string, unknown>, issues: ConfigIssues): void {
  const at = entries.get("patterns")?.node.at;
  if (!at || !Array.isArray(params["patterns"])) return;
  for (const given of params["patterns"] as unknown[]) {
    const pattern = typeof given === "string" ? given : (given as Record<string, unknown> | null)?.["pattern"];
    if (typeof pattern !== "string") issues.problem(at, `guardrail ${name}: an entry of patterns must be text or a map with a pattern`);
    else if (!compiles(pattern)) issues.problem(at, `guardrail ${name}: ${JSON.stringify(pattern)} is not a regular expression`);
  }
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern.replace(/^\(\?[ims]+\)/, ""));
    return true;
  } catch {
    return false;
  }
}

function textOf(node: Located | undefined): string | undefined {
  return node?.kind === "scalar" && typeof node.value === "string" && node.value !== "" ? node.value : undefined;
}
