/** What a Claude model takes, wherever it is served. */
export interface ClaudeRules {
  /** `budget`: thinking with a number of tokens; `adaptive`: the model decides, an effort steers it. */
  readonly thinking: "none" | "budget" | "adaptive";
  /** Whether the thinking comes back only when its display is asked for. */
  readonly hidesThinking: boolean;
  /** The efforts it knows, beside low, medium and high. */
  readonly efforts: readonly string[];
  /** What turns thinking down as far as it goes, where leaving it out does not. */
  readonly thinkingOff: Readonly<Record<string, unknown>>;
  /** temperature, top_p and top_k: all of them, one of temperature and top_p, or none. */
  readonly sampling: "all" | "one" | "none";
  /** Whether it has an output format of its own for a JSON schema. */
  readonly nativeSchema: boolean;
  readonly forcedToolChoice: boolean;
}

type Version = readonly [major: number, minor: number];

const plain: ClaudeRules = {
  thinking: "none",
  hidesThinking: false,
  efforts: [],
  thinkingOff: {},
  sampling: "all",
  nativeSchema: false,
  forcedToolChoice: true,
};
const budget: ClaudeRules = { ...plain, thinking: "budget" };
const budgetAndSchema: ClaudeRules = { ...budget, sampling: "one", nativeSchema: true };
const adaptive: ClaudeRules = { ...budgetAndSchema, thinking: "adaptive", efforts: ["max"] };
const current: ClaudeRules = { ...adaptive, hidesThinking: true, efforts: ["xhigh", "max"], sampling: "none" };
const disabled = { thinking: { type: "disabled" } };
const lowEffort = { output_config: { effort: "low" } };

/** By family, newest first: the first row that a model is not older than. From vendors' guides and users' measurements, autumn 2026. */
const FAMILIES: Readonly<Record<string, readonly (readonly [from: Version, rules: ClaudeRules])[]>> = {
  opus: [
    [[5, 5], { ...current, thinkingOff: lowEffort, forcedToolChoice: false }],
    [[5, 0], { ...current, thinkingOff: lowEffort }],
    [[4, 7], current],
    [[4, 6], adaptive],
    [[4, 1], budgetAndSchema],
    [[4, 0], budget],
  ],
  sonnet: [
    [[5, 5], { ...current, thinkingOff: { thinking: { type: "between_tools" } }, forcedToolChoice: false }],
    [[5, 0], { ...current, thinkingOff: disabled }],
    [[4, 6], adaptive],
    [[4, 5], budgetAndSchema],
    [[3, 7], budget],
  ],
  haiku: [
    [[5, 0], { ...current, thinkingOff: disabled }],
    [[4, 5], budgetAndSchema],
  ],
  fable: [
    [[5, 1], { ...current, thinkingOff: lowEffort, forcedToolChoice: false }],
    [[0, 0], { ...current, thinkingOff: lowEffort }],
  ],
};

/** A Claude of a family that is not in the table yet is taken for a new one; what is no Claude gets nothing special. */
export function claudeRules(modelId: string): ClaudeRules {
  const id = modelId.toLowerCase();
  if (!id.includes("claude")) return plain;
  const found = parseName(id);
  if (!found) return /claude-(v?\d|instant)/.test(id) ? plain : current;
  const rows = FAMILIES[found.family];
  if (!rows) return current;
  return rows.find(([from]) => isFrom(found.version, from))?.[1] ?? plain;
}

/** claude-opus-4-8, claude-sonnet-4-5-20250929-v1:0, claude-3-7-sonnet-latest; eight digits are a date, not a version. */
function parseName(id: string): { family: string; version: Version } | undefined {
  const newer = /claude-([a-z]{3,})-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)/.exec(id);
  if (newer && newer[1] !== "instant") return { family: newer[1] ?? "", version: [Number(newer[2]), Number(newer[3] ?? 0)] };
  const older = /claude-(\d)(?:[.-](\d))?-(opus|sonnet|haiku)/.exec(id);
  return older ? { family: older[3] ?? "", version: [Number(older[1]), Number(older[2] ?? 0)] } : undefined;
}

function isFrom(version: Version, from: Version): boolean {
  return version[0] > from[0] || (version[0] === from[0] && version[1] >= from[1]);
}
