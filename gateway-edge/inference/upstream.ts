import { AppError } from "../../common/errors.ts";
import type { Send, UpstreamFailure, UpstreamResponse } from "../providers/provider.ts";

/** Ten large images in base64 are near it. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** One way out for every call: the scheme of the address picks who carries it. */
export function createSend(senders: Readonly<Record<string, Send>>): Send {
  return async (request, signal) => {
    const { url } = request;
    // Written plainly it needs no parser; whatever is unusual goes through one.
    const sender = senders[url.slice(0, url.indexOf(":") + 1)] ?? senders[new URL(url).protocol];
    if (sender) return sender(request, signal);
    throw new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal: `no sender for ${new URL(url).protocol}` });
  };
}

/** A whole answer as JSON; undefined when it is none. */
export async function readJsonAnswer(response: UpstreamResponse): Promise<unknown> {
  return parse((await readAll(response)).toString("utf8")) ?? undefined;
}

export async function readTextAnswer(response: UpstreamResponse): Promise<string> {
  return (await readAll(response)).toString("utf8");
}

/** What an upstream said when it refused: parsed, or as text. */
export async function readFailure(response: UpstreamResponse): Promise<UpstreamFailure> {
  const text = (await readAll(response)).toString("utf8");
  return { status: response.status, headers: response.headers, body: parse(text) ?? text };
}

async function readAll(response: UpstreamResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider's answer is too large.");
    chunks.push(chunk);
  }
  const [first] = chunks;
  return first instanceof Buffer && chunks.length === 1 ? first : Buffer.concat(chunks, size);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
