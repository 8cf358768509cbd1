import { ApiError, openStream } from "../../api/client.ts";
import { type Delta, deltaTexts } from "./delta-text.ts";
import { readSse } from "./read-sse.ts";

export interface Spent {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: number;
}

export interface StreamHandlers {
  onText: (piece: string) => void;
  onSpent: (spent: Spent) => void;
}

interface ChunkUsage {
  prompt_tokens?: number;
  completion_tokens?: number;
  cost_nano?: number;
}

interface Chunk {
  choices?: { delta?: Delta }[];
  usage?: ChunkUsage | null;
  error?: { message?: string; code?: string | null; type?: string };
}

/** Streams one answer. Tool calls are shown as code, because the playground does not run tools. */
export async function streamChat(
  { secret, body, signal }: { secret: string; body: unknown; signal: AbortSignal },
  { onText, onSpent }: StreamHandlers,
): Promise<void> {
  const response = await openStream("/v1/chat/completions", { body, signal, headers: { authorization: `Bearer ${secret}` } });
  const textOf = deltaTexts();
  for await (const data of readSse(response)) {
    if (data === "[DONE]") return;
    const { choices = [], usage, error } = JSON.parse(data) as Chunk;
    if (error) throw brokenStream(error);
    const text = textOf(choices[0]?.delta);
    if (text !== "") onText(text);
    if (usage) onSpent(spentOf(usage));
  }
}

function spentOf({ prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0, cost_nano: costNano = 0 }: ChunkUsage): Spent {
  return { inputTokens, outputTokens, costNano };
}

function brokenStream({ code, type, message }: NonNullable<Chunk["error"]>): ApiError {
  return new ApiError({ status: 200, code: code ?? type ?? "STREAM_ERROR", message: message ?? "The stream was interrupted." });
}
