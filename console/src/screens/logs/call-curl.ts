import type { UsageLog } from "../../api/types.ts";

const CHAT = { messages: [{ role: "user", content: "…" }] };
const BODIES: Readonly<Record<string, object>> = {
  embedding: { input: "…" },
  moderation: { input: "…" },
  completion: { prompt: "…" },
  image: { prompt: "…" },
  audio_speech: { input: "…", voice: "alloy" },
  rerank: { query: "…", documents: ["…"] },
};

/** The call as a curl command. The gateway does not store the content, so it is a placeholder. */
export function callCurl({ endpoint, model, stream, type }: UsageLog, origin: string): string {
  const path = endpoint.startsWith("/v1/") || endpoint.startsWith("/api/") ? endpoint : `/v1${endpoint}`;
  const fields = BODIES[type] ?? CHAT;
  const body = JSON.stringify({ model, ...fields, ...(stream ? { stream: true } : {}) });
  return [
    `curl ${stream ? "-N " : ""}-s ${quoted(origin + path)}`,
    `-H "Authorization: Bearer $TRIBUTARY_KEY"`,
    "-H 'content-type: application/json'",
    `-d ${quoted(body)}`,
  ].join(" \\\n  ");
}

/** Quotes a text for the shell, because model names are user input. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
