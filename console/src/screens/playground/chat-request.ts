export type Content = string | readonly ({ type: "text"; text: string } | { type: "image_url"; image_url: { url: string } })[];

export interface Message {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
  /** Null beside calls of tools. Stored messages may have other fields too, which are sent as they are. */
  readonly content: Content | null;
  readonly tool_calls?: unknown;
}

/** A function that the model may call. The playground shows its calls and does not run them. */
export interface ToolForm {
  readonly name: string;
  readonly description: string;
  /** JSON schema of the arguments. */
  readonly parameters: string;
}

export interface ChatSettings {
  readonly system: string;
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  readonly tools: readonly ToolForm[];
  /** JSON schema of the answer, sent as response_format. */
  readonly schema: string;
  /** Additional request parameters as JSON: seed, top_p and so on. */
  readonly more: string;
}

export const NO_SETTINGS: ChatSettings = { system: "", temperature: undefined, maxTokens: undefined, tools: [], schema: "", more: "" };
export const EMPTY_TOOL: ToolForm = { name: "", description: "", parameters: '{"type": "object", "properties": {}}' };

/** The request body, exactly as it is sent and as "Show code" prints it. */
export function chatRequest(model: string, messages: readonly Message[], settings: ChatSettings): Record<string, unknown> {
  const { system, temperature, maxTokens, tools, schema } = settings;
  const begun: readonly Message[] = system.trim() === "" ? messages : [{ role: "system", content: system }, ...messages];
  const answerSchema = readObject(schema).fields;
  return {
    model,
    messages: begun,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    ...(answerSchema ? { response_format: { type: "json_schema", json_schema: { name: "answer", schema: answerSchema } } } : {}),
    ...(readObject(settings.more).fields ?? {}),
    stream: true,
    stream_options: { include_usage: true },
  };
}

function toolOf({ name, description, parameters }: ToolForm): object {
  const described = description.trim() === "" ? {} : { description };
  return { type: "function", function: { name, ...described, parameters: readObject(parameters).fields ?? {} } };
}

/** True if every JSON text parses and every tool has a name. */
export function isComplete({ more, schema, tools }: ChatSettings): boolean {
  const texts = [more, schema, ...tools.map(({ parameters }) => parameters)];
  return texts.every((text) => readObject(text).problem === undefined) && tools.every(({ name }) => toolNameProblem(name) === undefined);
}

export const toolNameProblem = (name: string): string | undefined =>
  /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? undefined : "Use 1 to 64 letters, digits, _ or -";

/** The messages of the last call: everything before the last answer. Before the first call, an example message. */
export function lastSent(messages: readonly Message[]): readonly Message[] {
  const asked = messages.findLastIndex(({ role }) => role !== "assistant" && role !== "system");
  return asked < 0 ? [userMessage("hello river", [])] : messages.slice(0, asked + 1);
}

/** Parses typed JSON before it is sent, so that a syntax error is reported in the form. */
export function readObject(text: string): { fields?: Record<string, unknown>; problem?: string } {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { fields: value as Record<string, unknown> };
    return { problem: 'Enter a JSON object, such as {"seed": 7}' };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

export function userMessage(text: string, images: readonly string[]): Message {
  if (images.length === 0) return { role: "user", content: text };
  return { role: "user", content: [{ type: "text", text }, ...images.map((url) => ({ type: "image_url" as const, image_url: { url } }))] };
}

export const textOf = (content: Content | null): string =>
  content === null || typeof content === "string"
    ? (content ?? "")
    : content.map((part) => (part.type === "text" ? part.text : "")).join("");

export const imagesOf = (content: Content | null): readonly string[] =>
  content === null || typeof content === "string" ? [] : content.flatMap((part) => (part.type === "image_url" ? [part.image_url.url] : []));
