import { asFields, asList } from "../../upstream/providers/shared/json-fields.ts";
import type { PricedCall } from "./price-call.ts";
import type { Upstream } from "./upstreams.ts";

export interface SentBody {
  readonly body: Buffer | string;
  /** The gateway asked for the usage of a stream, and the client did not. */
  readonly hidesUsage: boolean;
}

/**
 * A body as the gateway read it: a provider might read a field differently that is there twice. Streams are asked for their usage.
 */
export function sentBody({ fields, operation, prices, stream }: PricedCall, { row }: Pick<Upstream, "row">, body: Buffer): SentBody {
  if (!fields || operation === undefined) return { body, hidesUsage: false };
  const isAsked = prices && stream && operation !== "free" && operation.isAskedForUsage && !row.streamsUsage;
  if (!isAsked) return { body: JSON.stringify(fields), hidesUsage: false };
  const options = asFields(fields["stream_options"]);
  const asking = { ...fields, stream_options: { ...options, include_usage: true } };
  return { body: JSON.stringify(asking), hidesUsage: options["include_usage"] !== true };
}

const LINE_FEED = 10;
/** A longer line is a text, and no report. */
const LINE_BYTES_MAX = 16 * 1024;
const NOTHING = Buffer.alloc(0);

/** A stream without the event that only has its usage: clients that did not ask for it fail at an event without choices. */
export class HiddenUsage {
  #held: Buffer = NOTHING;
  #isLongLine = false;
  #isAfterUsage = false;

  /** What goes to the client: whole lines, as they arrived. */
  take(chunk: Uint8Array): Buffer {
    const bytes = this.#held.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([this.#held, chunk]);
    const shown: Buffer[] = [];
    let at = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, at)) {
      const line = bytes.subarray(at, end + 1);
      if (this.#isLongLine || !this.#isHidden(line)) shown.push(line);
      this.#isLongLine = false;
      at = end + 1;
    }
    this.#held = bytes.subarray(at);
    this.#isLongLine ||= this.#held.length > LINE_BYTES_MAX;
    if (this.#isLongLine) shown.push(this.end());
    return shown.length === 1 && shown[0] ? shown[0] : Buffer.concat(shown);
  }

  /** What is left when the stream has ended. */
  end(): Buffer {
    const held = this.#held;
    this.#held = NOTHING;
    return held;
  }

  #isHidden(line: Buffer): boolean {
    const text = line.toString("utf8").trim();
    // The blank line that ends the event goes with it.
    const isHidden = text === "" ? this.#isAfterUsage : text.startsWith("data:") && text.includes('"usage"') && isUsageOnly(text.slice(5));
    this.#isAfterUsage = isHidden && text !== "";
    return isHidden;
  }
}

function isUsageOnly(data: string): boolean {
  try {
    const { choices, usage } = asFields(JSON.parse(data));
    return Array.isArray(choices) && asList(choices).length === 0 && typeof usage === "object" && usage !== null;
  } catch {
    return false;
  }
}
