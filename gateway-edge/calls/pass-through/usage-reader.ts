import type { ReportedUsage } from "../../upstream/providers/provider.ts";
import { Utf8Stream } from "../../upstream/providers/shared/utf8-stream.ts";
import { vocabularyCounter } from "../inference/text-counters.ts";
import { CountedText } from "../tokens/counted-text.ts";
import { encodingOf } from "../tokens/token-counter.ts";

const BODY_BYTES_MAX = 8 * 1024 * 1024;
type Json = Readonly<Record<string, unknown>>;

/** Reads an answer while it is forwarded: its usage, in any known format, and its text where it has none. */
export class UsageReader {
  readonly #isStream: boolean;
  #rest = "";
  #bytes = 0;
  #usage: Json = {};
  readonly #text: CountedText;
  readonly #decoded = new Utf8Stream();

  constructor(contentType: string | undefined, model: string) {
    this.#text = new CountedText(vocabularyCounter(encodingOf(model)));
    this.#isStream = /^text\/event-stream/i.test(contentType ?? "");
  }

  feed(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    this.#rest += this.#decoded.take(chunk);
    if (!this.#isStream) {
      if (this.#bytes > BODY_BYTES_MAX) this.#rest = "";
      return;
    }
    const lines = this.#rest.split(/\r?\n/);
    this.#rest = (lines.pop() ?? "").slice(-BODY_BYTES_MAX);
    for (const line of lines) if (line.startsWith("data:")) this.#look(parsed(line.slice(5)));
  }

  end(): { usage: ReportedUsage | undefined; text: CountedText } {
    if (!this.#isStream && this.#bytes <= BODY_BYTES_MAX) {
      const body = parsed(this.#rest);
      for (const part of Array.isArray(body) ? body : [body]) this.#look(part);
    }
    return { usage: readUsage(this.#usage), text: this.#text };
  }

  #look(value: unknown): void {
    if (!isJson(value)) return;
    const parts = [value, value["message"], value["response"]].filter(isJson);
    const reports = parts.flatMap((part) => [part["usage"], part["usageMetadata"]]).filter(isJson);
    for (const report of reports) this.#usage = { ...this.#usage, ...withoutNulls(report) };
    if (Array.isArray(value["choices"])) this.#text.add(value["choices"].filter(isJson).map(textOf).join(""));
  }
}

function textOf(choice: Json): string {
  const said = isJson(choice["delta"]) ? choice["delta"] : choice["message"];
  const text = isJson(said) ? said["content"] : choice["text"];
  return typeof text === "string" ? text : "";
}

function readUsage(usage: Json): ReportedUsage | undefined {
  const count = (...names: string[]) => names.map((name) => usage[name]).find((value) => typeof value === "number") as number | undefined;
  const detail = (outer: string, name: string) => (isJson(usage[outer]) ? numberOr(usage[outer][name], 0) : 0);
  const prompt = count("prompt_tokens", "input_tokens", "promptTokenCount");
  const thoughts = count("thoughtsTokenCount") ?? 0;
  const output = count("completion_tokens", "output_tokens", "candidatesTokenCount") ?? 0;
  if (prompt === undefined) return undefined;
  // Anthropic counts cached tokens beside the input; the others include them.
  const beside = { read: count("cache_read_input_tokens") ?? 0, write: count("cache_creation_input_tokens") ?? 0 };
  const cached =
    detail("prompt_tokens_details", "cached_tokens") +
    detail("input_tokens_details", "cached_tokens") +
    (count("cachedContentTokenCount") ?? 0);
  return {
    promptTokens: prompt + beside.read + beside.write,
    cachedTokens: cached + beside.read,
    cacheWriteTokens: beside.write,
    completionTokens: output + thoughts,
    reasoningTokens:
      thoughts + detail("completion_tokens_details", "reasoning_tokens") + detail("output_tokens_details", "reasoning_tokens"),
  };
}

function numberOr(value: unknown, other: number): number {
  return typeof value === "number" ? value : other;
}

function withoutNulls(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
