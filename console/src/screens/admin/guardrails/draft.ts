import type { Guardrails } from "../../../api/gateway.ts";

export type GuardrailKind = Guardrails["kinds"][number];
export type GuardrailSetting = GuardrailKind["settings"][number];
/** The settings of a form, as its fields have them: lists with an entry per line, objects as JSON. */
export type Draft = Readonly<Record<string, string | boolean | readonly string[]>>;

type Settings = Readonly<Record<string, unknown>>;

export function draftOf({ settings: fields }: GuardrailKind, settings: Settings): Draft {
  return Object.fromEntries(fields.map((field) => [field.name, fieldOf(field, settings[field.name])]));
}

function fieldOf({ type, choices }: GuardrailSetting, value: unknown): Draft[string] {
  switch (type) {
    case "flag":
      return value === true;
    case "object":
      return value === undefined ? "" : JSON.stringify(value, null, 2);
    case "texts":
    case "patterns": {
      const items = Array.isArray(value) ? value : [];
      return choices ? items.map(String) : items.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join("\n");
    }
    default:
      return value === undefined || value === null ? "" : String(value);
  }
}

/** The settings to send, without those that are left open, and what is wrong with fields that cannot be sent. */
export function settingsOf({ settings: fields }: GuardrailKind, draft: Draft): { settings: Settings; problems: Record<string, string> } {
  const settings: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    try {
      const value = sentValue(field, draft[field.name]);
      if (value !== undefined) settings[field.name] = value;
      else if (field.required) problems[field.name] = "Required";
    } catch {
      problems[field.name] = field.type === "count" ? "Must be a whole number" : "Must be JSON";
    }
  }
  return { settings, problems };
}

function sentValue({ type }: GuardrailSetting, given: Draft[string] | undefined): unknown {
  if (typeof given === "boolean") return given ? true : undefined;
  const lines = (typeof given === "string" ? given.split("\n") : [...(given ?? [])])
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const [first] = lines;
  if (first === undefined) return undefined;
  switch (type) {
    case "texts":
      return lines;
    case "patterns":
      // A pattern with a name or an action of its own is an object.
      return lines.map((line) => (line.startsWith('{"') ? (JSON.parse(line) as unknown) : line));
    case "object":
      return JSON.parse(lines.join("\n")) as unknown;
    case "count": {
      const number = Number(first);
      if (!Number.isSafeInteger(number)) throw new RangeError("not a whole number");
      return number;
    }
    default:
      return first;
  }
}
