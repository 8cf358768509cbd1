import { type ChatSettings, chatRequest, type Message, NO_SETTINGS, type ToolForm } from "./chat-request.ts";

/** A stored call as the playground can send it again. */
export interface Replay {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly settings: ChatSettings;
}

type Fields = Readonly<Record<string, unknown>>;

interface StoredPrompt {
  readonly prompt: Fields;
  readonly promptTruncated: boolean;
}

/** What the edge stores in place of images and files. */
const LEFT_OUT = /"\[[\w.+/-]{0,100}, \d+ characters left out\]"/;

/** Why a stored prompt of the chat API cannot be sent again as it was; undefined if it can. */
export function replayProblem({ prompt, promptTruncated }: StoredPrompt): string | undefined {
  if (promptTruncated) return "The prompt is longer than what is stored, so it cannot be sent again.";
  if (!isFields(prompt["parameters"])) return "The call was stored without its parameters, so it cannot be sent again as it was.";
  if (LEFT_OUT.test(JSON.stringify(prompt))) return "Images and files are not stored, so the call cannot be sent again.";
  return undefined;
}

/**
 * Model, messages and settings of a stored call. What a form of the playground cannot show exactly is among the additional parameters, so
 * that the same request is sent.
 */
export function replayOf({ parameters, messages = [], ...others }: Fields): Replay {
  const { model, ...rest } = { ...others, ...(parameters as Fields) };
  const list = messages as readonly Message[];
  const [first] = list;
  const system = first && isPlainSystem(first) ? first.content : "";
  return { model: String(model), messages: system === "" ? list : list.slice(1), settings: { system, ...settingsOf(rest) } };
}

function settingsOf({ temperature, max_tokens: maxTokens, response_format: format, tools, ...more }: Fields): Omit<ChatSettings, "system"> {
  const forms = toolForms(tools);
  const schema = schemaText(format);
  const kept = { ...more, ...(forms ? {} : { tools }), ...(schema === undefined ? { response_format: format } : {}) };
  const isKept = Object.values(kept).some((value) => value !== undefined);
  return {
    temperature: temperature as number | undefined,
    maxTokens: maxTokens as number | undefined,
    tools: forms ?? [],
    schema: schema ?? "",
    more: isKept ? JSON.stringify(kept, null, 2) : "",
  };
}

function isPlainSystem(message: Message): message is Message & { content: string } {
  const { role, content, ...rest } = message;
  return role === "system" && typeof content === "string" && content.trim() !== "" && Object.keys(rest).length === 0;
}

/** The forms of tools, if they make exactly these tools. */
function toolForms(tools: unknown): readonly ToolForm[] | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  const forms = tools.map((tool: { function?: Fields }): ToolForm => {
    const { name, description, parameters } = tool.function ?? {};
    return { name: textOf(name), description: textOf(description), parameters: JSON.stringify(parameters ?? {}, null, 2) };
  });
  return isSame(chatRequest("", [], { ...NO_SETTINGS, tools: forms })["tools"], tools) ? forms : undefined;
}

/** The text of the schema's field, if it makes exactly this format. */
function schemaText(format: unknown): string | undefined {
  const schema = isFields(format) && isFields(format["json_schema"]) ? format["json_schema"]["schema"] : undefined;
  if (!isFields(schema)) return undefined;
  const text = JSON.stringify(schema, null, 2);
  return isSame(chatRequest("", [], { ...NO_SETTINGS, schema: text })["response_format"], format) ? text : undefined;
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
/** The order of fields matters neither here nor to providers, but it is the same if nothing else differs. */
const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  );
}
