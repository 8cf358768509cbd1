import { AppError } from "../../../common/errors.ts";
import type { Send, UpstreamFailure, UpstreamResponse } from "../providers/provider.ts";

/** Ten large images in base64 are near this size. */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/** One sender for every call: the scheme of the URL selects the transport; clients' addresses have their own. */
export function createSend(senders: Readonly<Record<string, Send>>, toClients: Send): Send {
  return (request, signal, wait) => {
    const { url } = request;
    if (request.isClientAddress) return toClients(request, signal, wait);
    // A plain URL needs no parser; unusual ones are parsed.
    const sender = senders[url.slice(0, url.indexOf(":") + 1)] ?? senders[URL.parse(url)?.protocol ?? ""];
    if (sender) return sender(request, signal, wait);
    const internal = `no sender for ${URL.parse(url)?.protocol ?? "an address that is none"}`;
    return Promise.reject(new AppError("UPSTREAM_UNAVAILABLE", "The provider cannot be reached.", { internal }));
  };
}

/** The whole body of an answer; without waiting if it has arrived. */
export function wholeBody(response: UpstreamResponse): Buffer | Promise<Buffer> {
  const arrived = response.body.arrived?.();
  return arrived ? bufferOf([arrived]) : readAll(response);
}

/** A whole answer as JSON, undefined when it is not valid; or as text. */
export function parseAnswer(body: Buffer, as: "json" | "text" = "json"): unknown {
  const text = body.toString("utf8");
  return as === "text" ? text : (parse(text) ?? undefined);
}

/** A whole answer as JSON; undefined when it is not valid. */
export async function readJsonAnswer(response: UpstreamResponse): Promise<unknown> {
  return parseAnswer(await wholeBody(response));
}

/** An upstream's error response: parsed, or as text. */
export async function readFailure(response: UpstreamResponse): Promise<UpstreamFailure> {
  const text = (await wholeBody(response)).toString("utf8");
  return { status: response.status, headers: response.headers, body: parse(text) ?? text };
}

async function readAll(response: UpstreamResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    refuseTooLarge(size);
    chunks.push(chunk);
  }
  return bufferOf(chunks);
}

function bufferOf(chunks: readonly Uint8Array[]): Buffer {
  const [first] = chunks;
  if (first) refuseTooLarge(first.length);
  return first instanceof Buffer && chunks.length === 1 ? first : Buffer.concat(chunks);
}

function refuseTooLarge(bytes: number): void {
  if (bytes > ANSWER_BYTES_MAX) throw new AppError("UPSTREAM_UNAVAILABLE", "The provider's answer is too large.");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
