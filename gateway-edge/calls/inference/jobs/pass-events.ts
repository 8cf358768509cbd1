import type { BytesPart, Fields, ReportedUsage, StreamPart, UpstreamEvent } from "../../../upstream/providers/provider.ts";
import { brokenOff, parseEvent } from "../../../upstream/providers/shared/json-fields.ts";
import { NOTHING_REPORTED, readMediaUsage } from "../../../upstream/providers/shared/media-usage.ts";
import { readInlineError } from "../../../upstream/providers/shared/read-upstream-error.ts";
import { readSse } from "../../../upstream/providers/shared/sse-reader.ts";

export interface PassOptions {
  /** The part of an event that counts as output when the provider reports no usage. */
  readonly textOf?: (event: Fields) => string;
  /** What an event adds to the reported usage. */
  readonly addedBy?: (event: Fields) => Pick<ReportedUsage, "amounts" | "image">;
  /** Absent: that of audio and text. */
  readonly readUsage?: typeof readMediaUsage;
}

/** Forwards OpenAI events unchanged and reads their usage. A stream that ends without its last event is an error. */
export async function* passEvents(
  body: AsyncIterable<Uint8Array>,
  { textOf, addedBy, readUsage = readMediaUsage }: PassOptions = {},
): AsyncGenerator<StreamPart | BytesPart> {
  let isEnded = false;
  for await (const upstreamEvent of readSse(body)) {
    if (upstreamEvent.data === "[DONE]") {
      isEnded = true;
      break;
    }
    const event = parseEvent(upstreamEvent.data);
    if (event["type"] === "error" || (event["error"] !== undefined && event["error"] !== null)) throw readInlineError(event);
    isEnded ||= /\.(done|completed)$/.test(String(event["type"]));
    const usage = readUsage({ usage: event["usage"] });
    const added = addedBy?.(event);
    if (usage || added?.amounts) yield { type: "usage", usage: { ...NOTHING_REPORTED, ...usage, ...added } };
    yield { type: "bytes", bytes: frameOf(upstreamEvent), text: textOf?.(event) ?? "" };
  }
  if (!isEnded) throw brokenOff();
}

function frameOf({ event, data }: UpstreamEvent): Uint8Array {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return Buffer.from(`${name}data: ${data.replaceAll("\n", "\ndata: ")}\n\n`);
}
