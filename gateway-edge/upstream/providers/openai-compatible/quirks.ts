import type { Quirk } from "../../../../common/providers/shared/provider-kind.ts";
import type { Fields } from "../provider.ts";
import { asFields, asList, asText } from "../shared/json-fields.ts";

/** Differences in what servers with OpenAI's API take. Each gets a chat body and returns a new one. */
const QUIRKS: Readonly<Record<Quirk, (fields: Fields) => Fields>> = {
  /** Only the roles of 2023 are known. */
  "developer-as-system": (fields) =>
    withMessages(fields, (message) => (message["role"] === "developer" ? { ...message, role: "system" } : message)),
  /** A name on a message is refused. */
  "no-message-names": (fields) =>
    withMessages(fields, ({ name, ...message }) => (message["role"] === "function" ? { ...message, name } : message)),
  "no-empty-names": (fields) =>
    withMessages(fields, ({ name, ...message }) => (asText(name) === undefined ? message : { ...message, name })),
  /** DeepSeek's thinking is on or off; there are no levels. */
  "effort-as-thinking": ({ reasoning_effort: effort, ...fields }) => {
    if (effort === undefined || fields["thinking"] !== undefined) return fields;
    return { ...fields, thinking: { type: effort === "none" || effort === "minimal" ? "disabled" : "enabled" } };
  },
  /** JSON output without schemas: the schema becomes part of the instructions. */
  "schema-as-instruction": (fields) => {
    const format = asFields(fields["response_format"]);
    if (format["type"] !== "json_schema") return fields;
    const schema = JSON.stringify(asFields(format["json_schema"])["schema"] ?? {});
    const instruction = { role: "system", content: `Answer with one JSON object, and nothing else, that fits this JSON Schema: ${schema}` };
    return { ...fields, response_format: { type: "json_object" }, messages: [instruction, ...asList(fields["messages"])] };
  },
};

export function applyQuirks(fields: Fields, quirks: readonly Quirk[]): Fields {
  return quirks.reduce<Fields>((shaped, quirk) => QUIRKS[quirk](shaped), fields);
}

function withMessages(fields: Fields, change: (message: Fields) => Fields): Fields {
  return { ...fields, messages: asList(fields["messages"]).map((message) => change(asFields(message))) };
}
