export type Content = string | readonly ({ type: "text"; text: string } | { type: "image_url"; image_url: { url: string } })[];

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: Content;
}

export interface Settings {
  readonly system: string;
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  /** Further fields of the request as JSON: tools, response_format, seed and whatever else the API takes. */
  readonly more: string;
}

export const NO_SETTINGS: Settings = { system: "", temperature: undefined, maxTokens: undefined, more: "" };

/** The body of the call, exactly as "Show code" prints it. */
export function chatRequest(model: string, messages: readonly Message[], settings: Settings): Record<string, unknown> {
  const { system, temperature, maxTokens } = settings;
  const begun: readonly Message[] = system.trim() === "" ? messages : [{ role: "system", content: system }, ...messages];
  return {
    model,
    messages: begun,
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(readMore(settings.more).fields ?? {}),
    stream: true,
    stream_options: { include_usage: true },
  };
}

/** What the last call of a talk sent: everything up to the last question. Before the first call, an example of a question. */
export function lastSent(messages: readonly Message[]): readonly Message[] {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  return asked < 0 ? [userMessage("hello river", [])] : messages.slice(0, asked + 1);
}

/** Typed JSON is read before it is sent, so that a missing comma is said here and not by a server. */
export function readMore(text: string): { fields?: Record<string, unknown>; problem?: string } {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { fields: value as Record<string, unknown> };
    return { problem: 'must be an object, such as {"seed": 7}' };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

export function userMessage(text: string, images: readonly string[]): Message {
  if (images.length === 0) return { role: "user", content: text };
  return { role: "user", content: [{ type: "text", text }, ...images.map((url) => ({ type: "image_url" as const, image_url: { url } }))] };
}
