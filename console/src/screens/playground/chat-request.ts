export type Content = string | readonly ({ type: "text"; text: string } | { type: "image_url"; image_url: { url: string } })[];

export interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: Content;
}

export interface ChatSettings {
  readonly system: string;
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  /** Additional request parameters as JSON: tools, response_format, seed and so on. */
  readonly more: string;
}

export const NO_SETTINGS: ChatSettings = { system: "", temperature: undefined, maxTokens: undefined, more: "" };

/** The request body, exactly as "Show code" prints it. */
export function chatRequest(model: string, messages: readonly Message[], settings: ChatSettings): Record<string, unknown> {
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

/** The messages of the last call: everything up to the last user message. Before the first call, an example message. */
export function lastSent(messages: readonly Message[]): readonly Message[] {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  return asked < 0 ? [userMessage("hello river", [])] : messages.slice(0, asked + 1);
}

/** Parses the typed JSON before it is sent, so that a syntax error is reported in the form. */
export function readMore(text: string): { fields?: Record<string, unknown>; problem?: string } {
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
