import { toJson } from "../../../../common/json.ts";
import { MESSAGE_EVENTS, type ProxiedEvent } from "../../../upstream/providers/anthropic/messages.ts";
import type { Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import { asFields } from "../../../upstream/providers/shared/json-fields.ts";
import { type FinishCause, finishDetails } from "../../formats/finish-details.ts";
import type { Bill } from "../../inference/bill.ts";
import { type MessageIdentity, messageUsage, writtenEvent } from "./answer.ts";

type Part = Exclude<StreamPart, { type: "usage" }>;

/** The provider's own events in a part; undefined: it has none. */
export function proxiedEvents(part: StreamPart): readonly ProxiedEvent[] | undefined {
  return part.type === "other-delta" ? (part.fields[MESSAGE_EVENTS] as readonly ProxiedEvent[] | undefined) : undefined;
}

/** A provider's message under the gateway's id and the caller's name of the model. */
export function proxiedMessage({ id, model }: MessageIdentity, message: Fields, { usage }: Bill): Fields {
  return { ...message, id, model, usage: message["usage"] ?? messageUsage(usage) };
}

/** The provider's own events, unchanged but for the message's id and model. The end waits until the call is settled. */
export class ProxiedMessageFrames {
  readonly #identity: MessageIdentity;
  readonly #open = new Set<unknown>();
  readonly #ending: ProxiedEvent[] = [];
  #isCutShort = false;
  #cause: FinishCause | undefined;

  constructor(identity: MessageIdentity) {
    this.#identity = identity;
  }

  frames(part: Part): string {
    // Only the gateway itself ends a proxied stream with such a part.
    if (part.type === "finish") {
      this.#isCutShort = true;
      this.#cause = part.cause;
    }
    return (proxiedEvents(part) ?? []).map((event) => this.#frame(event)).join("");
  }

  last(bill: Bill): string {
    const ending = this.#isCutShort ? [] : this.#ending;
    const frames = ending.map((event) => (event.type === "message_delta" ? writtenEvent(withCost(event.fields, bill)) : frameOf(event)));
    return ending.length > 0 ? frames.join("") : this.#cutShort(bill);
  }

  #frame(event: ProxiedEvent): string {
    const { type, fields } = event;
    if (type === "message_start") return writtenEvent({ ...fields, type, message: { ...asFields(fields["message"]), ...this.#identity } });
    if (type === "message_delta" || type === "message_stop") {
      this.#ending.push(event);
      return "";
    }
    if (type === "content_block_start") this.#open.add(fields["index"]);
    if (type === "content_block_stop") this.#open.delete(fields["index"]);
    return frameOf(event);
  }

  #cutShort({ usage, cost }: Bill): string {
    const delta = { stop_reason: "max_tokens", stop_sequence: null, ...(this.#cause && { stop_details: finishDetails(this.#cause) }) };
    return [
      ...[...this.#open].map((index) => ({ type: "content_block_stop", index })),
      { type: "message_delta", delta, usage: { ...messageUsage(usage), cost_nano: cost } },
      { type: "message_stop" },
    ]
      .map(writtenEvent)
      .join("");
  }
}

/** A stream has no header for its cost. */
function withCost(fields: Fields, { cost }: Bill): Fields & { type: string } {
  return { ...fields, type: "message_delta", usage: { ...asFields(fields["usage"]), cost_nano: cost } };
}

/** The data as it arrived. */
function frameOf({ type, data }: ProxiedEvent): string {
  return `event: ${type}\ndata: ${data.includes("\n") ? toJson(JSON.parse(data)) : data}\n\n`;
}
