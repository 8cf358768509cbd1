import type { AppError } from "../../../../common/errors.ts";
import { RESPONSE_EVENTS } from "../../../upstream/providers/openai-compatible/responses.ts";
import type { Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import { asFields, asList } from "../../../upstream/providers/shared/json-fields.ts";
import type { Bill } from "../../inference/bill.ts";
import { endOf, type FrameOptions, frameOf, RESPONSE_CHARACTERS_MAX, tooLong } from "./frames.ts";
import { ItemNames, proxiedResponse } from "./proxied.ts";
import { type ResponseIdentity, responseFields, responseUsage, shownItem, shownResponse } from "./response.ts";

type Part = Exclude<StreamPart, { type: "usage" }>;

/** Whether a part holds the provider's own events. */
export function isProxied(part: Part): boolean {
  return part.type === "other-delta" && RESPONSE_EVENTS in part.fields;
}

/**
 * The provider's own events under the gateway's ids, with the provider's sequence numbers. The last event waits until the call is settled
 * and the response stored.
 */
export class ProxiedFrames {
  readonly #identity: ResponseIdentity;
  readonly #options: FrameOptions;
  readonly #names: ItemNames;
  readonly #done: Fields[] = [];
  #doneCharacters = 0;
  #lastNumber = -1;
  #ending: Fields | undefined;
  /** The gateway ended the stream before the provider did. */
  #cut: Extract<Part, { type: "finish" }> | undefined;

  constructor(identity: ResponseIdentity, options: FrameOptions) {
    this.#identity = identity;
    this.#options = options;
    this.#names = new ItemNames(identity.suffix);
  }

  frames(part: Part): string {
    if (part.type === "finish") this.#cut = part;
    const events = part.type === "other-delta" ? asList(part.fields[RESPONSE_EVENTS]).map(asFields) : [];
    return events.map((event) => this.#frame(event)).join("");
  }

  async last(bill: Bill): Promise<string> {
    const response = await this.#stored(this.#ending === undefined ? this.#cutShort(bill) : this.#whole(this.#ending, bill));
    // A stream has no header for its cost.
    const usageWithCost = { ...asFields(response["usage"]), cost_nano: bill.cost };
    const number = this.#ending === undefined ? this.#lastNumber + 1 : this.#lastNumber;
    return frameOf({ ...endOf({ ...response, usage: usageWithCost }), sequence_number: number });
  }

  #whole(event: Fields, { usage }: Bill): Fields {
    const ending = asFields(event["response"]);
    return proxiedResponse(this.#identity, { ...ending, usage: ending["usage"] ?? responseUsage(usage) }, this.#names);
  }

  /** The items that were complete; the client has the beginning of the last one in its events. */
  #cutShort({ usage }: Bill): Fields {
    const ended = { status: "ended" as const, finishReason: this.#cut?.reason ?? "length", cause: this.#cut?.cause };
    return responseFields(this.#identity, { ...ended, output: this.#done, usage: responseUsage(usage), nowMs: this.#options.now() });
  }

  async failed(error: AppError): Promise<string> {
    const response = responseFields(this.#identity, { status: "failed", error, output: this.#done });
    return frameOf({ ...endOf(await this.#stored(response)), sequence_number: this.#lastNumber + 1 });
  }

  #frame(event: Fields): string {
    const { item_id: itemId, item, response, sequence_number: number } = event;
    this.#lastNumber = typeof number === "number" ? number : this.#lastNumber + 1;
    const type = String(event["type"]);
    if (type === "response.completed" || type === "response.incomplete") {
      this.#ending = event;
      return "";
    }
    const named = item === undefined ? undefined : this.#names.item(item);
    const frame = frameOf({
      ...event,
      type,
      sequence_number: this.#lastNumber,
      ...(itemId === undefined ? {} : { item_id: this.#names.of(itemId) }),
      ...(named ? { item: shownItem(named, this.#options.include) } : {}),
      ...(response === undefined ? {} : { response: proxiedResponse(this.#identity, asFields(response), this.#names) }),
    });
    if (named && type === "response.output_item.done") this.#addDone(named, frame.length);
    return frame;
  }

  #addDone(item: Fields, characters: number): void {
    this.#doneCharacters += characters;
    if (this.#doneCharacters > RESPONSE_CHARACTERS_MAX) throw tooLong();
    this.#done.push(item);
  }

  async #stored(response: Fields): Promise<Fields> {
    return shownResponse(await this.#options.keep(response), this.#options.include);
  }
}
