import { AppError } from "../../../../common/errors.ts";
import { toJson } from "../../../../common/json.ts";
import type { Fields, StreamPart } from "../../../upstream/providers/provider.ts";
import { asFields } from "../../../upstream/providers/shared/json-fields.ts";
import type { FinishCause } from "../../formats/finish-details.ts";
import type { Bill } from "../../inference/bill.ts";
import { piecesOfPart } from "../pieces.ts";
import { type ResponseEvent, ResponseOutput } from "./output.ts";
import { itemStatus, type ResponseIdentity, responseFields, responseUsage, shownItem, shownResponse } from "./response.ts";

export interface FrameOptions {
  readonly include: readonly string[];
  readonly now: () => number;
  /** Stores the response before the client sees its end; returns it as stored. */
  readonly keep: (response: Fields) => Promise<Fields>;
}

/** A response repeats its whole text at its end and is stored with it: a longer one ends as failed. */
export const RESPONSE_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Frames of one stream: numbered without a gap, the first is `response.created`, the last has the final state. */
export class ResponseFrames {
  readonly #identity: ResponseIdentity;
  readonly #options: FrameOptions;
  readonly #output: ResponseOutput;
  #nextNumber = 0;
  #characters = 0;
  #finishReason = "stop";
  #cause: FinishCause | undefined;

  constructor(identity: ResponseIdentity, options: FrameOptions) {
    this.#identity = identity;
    this.#options = options;
    this.#output = new ResponseOutput(identity.suffix);
  }

  frames(part: Exclude<StreamPart, { type: "usage" }>): string {
    this.#characters += part.type === "finish" ? 0 : part.text.length;
    if (this.#characters > RESPONSE_CHARACTERS_MAX) throw tooLong();
    if (part.type === "finish") {
      this.#finishReason = part.reason;
      this.#cause = part.cause;
    }
    return this.#written([...this.#start(), ...piecesOfPart(part).flatMap((piece) => this.#output.take(piece))]);
  }

  async last({ usage, cost }: Bill): Promise<string> {
    const finishReason = this.#finishReason;
    const events = [...this.#start(), ...this.#output.close(itemStatus(finishReason))];
    const nowMs = this.#options.now();
    const ended = { status: "ended" as const, finishReason, cause: this.#cause };
    const state = { ...ended, output: this.#output.items(), usage: responseUsage(usage), nowMs };
    const { usage: shown, ...response } = await this.#stored(responseFields(this.#identity, state));
    // A stream has no header for its cost.
    const usageWithCost = { ...asFields(shown), cost_nano: cost };
    return this.#written([...events, endOf({ ...response, usage: usageWithCost })]);
  }

  /** Without this event a failed stream would look like success. */
  async failed(error: AppError): Promise<string> {
    const start = this.#start();
    this.#output.close("incomplete");
    const response = responseFields(this.#identity, { status: "failed", error, output: this.#output.items() });
    return this.#written([...start, endOf(await this.#stored(response))]);
  }

  async #stored(response: Fields): Promise<Fields> {
    return shownResponse(await this.#options.keep(response), this.#options.include);
  }

  #start(): readonly ResponseEvent[] {
    if (this.#nextNumber > 0) return [];
    const response = responseFields(this.#identity, { status: "in_progress" });
    return [
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ];
  }

  #written(events: readonly ResponseEvent[]): string {
    return events
      .map((event) => {
        const shown = event["item"] === undefined ? {} : { item: shownItem(asFields(event["item"]), this.#options.include) };
        return frameOf({ ...event, ...shown, sequence_number: this.#nextNumber++ });
      })
      .join("");
  }
}

export function tooLong(): AppError {
  return new AppError("UPSTREAM_UNAVAILABLE", `The response is longer than ${RESPONSE_CHARACTERS_MAX} characters.`);
}

export function frameOf(event: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${toJson(event)}\n\n`;
}

/** The last event of a stream, by the final state of its response. */
export function endOf(response: Fields): ResponseEvent {
  return { type: `response.${String(response["status"])}`, response };
}
