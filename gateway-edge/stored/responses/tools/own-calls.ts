import type { DeliveredPart } from "../../../calls/inference/delivery.ts";
import type { Fields } from "../../../upstream/providers/provider.ts";
import type { GatewayTool } from "./gateway-tool.ts";

type Part = Exclude<DeliveredPart, { type: "settled" }>;

/** Leaves the gateway's tools out of a stream, and counts the caller's functions over all rounds. */
export class OwnCalls {
  readonly #tools: ReadonlyMap<string, GatewayTool>;
  readonly #before: number;
  readonly #places = new Map<number, number | undefined>();
  #next = 0;

  constructor(tools: ReadonlyMap<string, GatewayTool>, before: number) {
    this.#tools = tools;
    this.#before = before;
  }

  shown(part: Part): Part | undefined {
    if (part.type !== "other-delta" || !Array.isArray(part.fields["tool_calls"])) return part;
    const calls = (part.fields["tool_calls"] as Fields[]).flatMap((call, position) => {
      const place = this.#placeOf(typeof call["index"] === "number" ? call["index"] : position, call);
      return place === undefined ? [] : [{ ...call, index: place }];
    });
    const { tool_calls: _calls, ...rest } = part.fields;
    const fields = calls.length > 0 ? { ...rest, tool_calls: calls } : rest;
    return Object.keys(fields).length > 0 ? { ...part, fields } : undefined;
  }

  #placeOf(index: number, call: Fields): number | undefined {
    if (!this.#places.has(index)) {
      const { name } = (call["function"] ?? {}) as Fields;
      this.#places.set(index, this.#tools.has(String(name)) ? undefined : this.#before + this.#next++);
    }
    return this.#places.get(index);
  }
}
